package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/group"
	"minibroker/protocol"
)

// Heartbeat, versions 0 to 4.

func (a *API) heartbeat(_ context.Context, _ *protocol.Request, body *kmsg.HeartbeatRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrHeartbeatResponse()
	answer.Version = body.Version
	answer.ErrorCode = errorCode(a.groups.Heartbeat(&group.HeartbeatRequest{
		GroupID: body.Group, Generation: body.Generation, MemberID: body.MemberID, InstanceID: body.InstanceID,
	}))
	return answer, nil
}
