package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// RemoveRaftVoter, version 0.
//
// The quorum is this node alone; see AddRaftVoter. Its only voter stays.

func (a *API) removeRaftVoter(_ context.Context, _ *protocol.Request, body *kmsg.RemoveRaftVoterRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrRemoveRaftVoterResponse()
	answer.Version = body.Version
	err := checkVoterChange(a.meta.Image(), body.ClusterID, "removing")
	if err == nil {
		err = &apiError{code: codeVoterNotFound}
	}
	answer.ErrorCode, answer.ErrorMessage = errorCode(err), errorMessage(err)
	return answer, nil
}
