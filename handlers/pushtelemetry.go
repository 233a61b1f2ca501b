package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/protocol"
	"minibroker/telemetry"
)

// PushTelemetry, version 0; answered, but not listed in ApiVersions.
//
// Metrics are checked as Kafka checks them and then dropped: nothing takes them,
// as in Kafka without a plugin.

func (a *API) pushTelemetry(_ context.Context, req *protocol.Request, body *kmsg.PushTelemetryRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrPushTelemetryResponse()
	answer.Version = body.Version
	id := logstore.UUID(body.ClientInstanceID)
	if reservedID(id) {
		answer.ErrorCode = codeInvalidRequest
		return answer, nil
	}
	err := a.telemetry.Accept(telemetryClient(req, id), id.String(), a.subscriptions(), telemetry.Push{
		SubscriptionID: body.SubscriptionID, Terminating: body.Terminating, Compression: body.CompressionType,
		Size: len(body.Metrics), MaxSize: a.config.Int("telemetry.max.bytes"),
	})
	answer.ErrorCode = telemetryCode(err)
	return answer, nil
}

// Telemetry counts what clients pushed.
func (a *API) Telemetry() telemetry.Stats { return a.telemetry.Stats() }

// reservedID says whether an id is one that stands for something else: the first
// hundred are.
func reservedID(id logstore.UUID) bool {
	for _, b := range id[:15] {
		if b != 0 {
			return false
		}
	}
	return id[15] < 100
}
