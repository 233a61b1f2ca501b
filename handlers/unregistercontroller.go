package handlers

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// UnregisterController, version 0.
//
// Forgets the controllers of a former cluster. This node is the active one, which
// cannot be unregistered.

func (a *API) unregisterController(_ context.Context, _ *protocol.Request, body *kmsg.UnregisterControllerRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrUnregisterControllerResponse()
	answer.Version = body.Version
	err := a.forgetController(body.ControllerID)
	answer.ErrorCode, answer.ErrorMessage = errorCode(err), errorMessage(err)
	return answer, nil
}

func (a *API) forgetController(id int32) error {
	if id == a.config.NodeID() {
		return &apiError{codeInvalidRequest, "Controller cannot unregister itself while it is active."}
	}
	if _, registered := a.meta.Image().Controllers()[id]; !registered {
		return &apiError{codeControllerIDNotRegistered, fmt.Sprintf("Controller ID %d is not currently registered.", id)}
	}
	if err := a.meta.Append([]metadata.Record{&metadata.UnregisterControllerRecord{ControllerID: id}}); err != nil {
		a.log.Error("controller was not unregistered", "controller", id, "error", err)
		return changeError(err)
	}
	return nil
}
