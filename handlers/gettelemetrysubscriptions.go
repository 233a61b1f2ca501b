package handlers

import (
	"context"
	"errors"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/protocol"
	"minibroker/telemetry"
)

// GetTelemetrySubscriptions, version 0; answered, but not listed in ApiVersions,
// as in Kafka without a plugin that takes metrics.
//
// A client that has no instance id yet gets one. It is asked for what the client
// metrics resources say that match it, and must not ask again before its interval
// is over.

func (a *API) getTelemetrySubscriptions(_ context.Context, req *protocol.Request, body *kmsg.GetTelemetrySubscriptionsRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrGetTelemetrySubscriptionsResponse()
	answer.Version = body.Version
	id := logstore.UUID(body.ClientInstanceID)
	if id.IsZero() {
		id = logstore.NewUUID()
	}
	assignment, err := a.telemetry.Subscribe(telemetryClient(req, id), id.String(), a.subscriptions())
	if err != nil {
		answer.ErrorCode = telemetryCode(err)
		return answer, nil
	}
	answer.ClientInstanceID, answer.SubscriptionID = id, assignment.ID
	answer.AcceptedCompressionTypes = telemetry.Compressions()
	answer.PushIntervalMillis, answer.RequestedMetrics = assignment.Interval, assignment.Metrics
	answer.TelemetryMaxBytes = int32(a.config.Int("telemetry.max.bytes"))
	answer.DeltaTemporality = true
	return answer, nil
}

// subscriptions reads the client metrics resources.
func (a *API) subscriptions() []telemetry.Subscription {
	var all []telemetry.Subscription
	for r, settings := range a.meta.Image().Configs() {
		if r.Kind == metadata.ResourceClientMetrics {
			all = append(all, telemetry.ParseSubscription(r.Name, settings))
		}
	}
	return all
}

func telemetryClient(req *protocol.Request, id logstore.UUID) telemetry.Client {
	c := telemetry.Client{InstanceID: id, SoftwareName: req.SoftwareName, SoftwareVersion: req.SoftwareVersion}
	if req.ClientID != nil {
		c.ID = *req.ClientID
	}
	if host, port, err := net.SplitHostPort(req.RemoteAddr); err == nil {
		c.Address, c.Port = host, port
	}
	return c
}

// telemetryCode is the code of a refusal of the telemetry package.
func telemetryCode(err error) int16 {
	switch {
	case err == nil:
		return codeNone
	case errors.Is(err, telemetry.ErrThrottled):
		return codeThrottlingQuotaExceeded
	case errors.Is(err, telemetry.ErrUnknownSubscription):
		return codeUnknownSubscriptionID
	case errors.Is(err, telemetry.ErrUnsupportedCompression):
		return codeUnsupportedCompressionType
	case errors.Is(err, telemetry.ErrTooLarge):
		return codeTelemetryTooLarge
	}
	return codeInvalidRequest
}
