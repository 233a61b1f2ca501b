package handlers

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// UnregisterBroker, version 0.
//
// Forgets the brokers of a former cluster. This node itself is refused, with
// INVALID_REQUEST: Kafka would forget the broker while it runs, and its
// partitions would be without a leader until it is started again.

func (a *API) unregisterBroker(_ context.Context, _ *protocol.Request, body *kmsg.UnregisterBrokerRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrUnregisterBrokerResponse()
	answer.Version = body.Version
	err := a.forgetBroker(body.BrokerID)
	answer.ErrorCode, answer.ErrorMessage = errorCode(err), errorMessage(err)
	return answer, nil
}

func (a *API) forgetBroker(id int32) error {
	switch _, registered := a.meta.Image().Brokers()[id]; {
	case !registered:
		return &apiError{codeBrokerIDNotRegistered, fmt.Sprintf("Broker ID %d is not currently registered", id)}
	case id == a.config.NodeID():
		return &apiError{codeInvalidRequest, fmt.Sprintf("Broker %d is this node, the only one of its cluster: it cannot be unregistered while it runs.", id)}
	}
	if err := a.meta.UnregisterBroker(id); err != nil {
		a.log.Error("broker was not unregistered", "broker", id, "error", err)
		return changeError(err)
	}
	return nil
}
