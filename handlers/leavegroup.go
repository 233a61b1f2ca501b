package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/group"
	"minibroker/protocol"
)

// LeaveGroup, versions 0 to 5.
//
// Up to version 2 one member leaves and has its error at the top of the answer;
// from version 3 on there may be many, also static ones that an administrator
// takes out by instance id.

func (a *API) leaveGroup(_ context.Context, _ *protocol.Request, body *kmsg.LeaveGroupRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrLeaveGroupResponse()
	answer.Version = body.Version
	members := make([]group.Leaving, len(body.Members))
	for i := range body.Members {
		m := &body.Members[i]
		members[i] = group.Leaving{MemberID: m.MemberID, InstanceID: m.InstanceID, Reason: deref(m.Reason)}
	}
	if body.Version < 3 {
		members = []group.Leaving{{MemberID: body.MemberID}}
	}
	errs, err := a.groups.Leave(body.Group, members)
	switch {
	case err != nil:
		answer.ErrorCode = errorCode(err)
	case body.Version < 3:
		answer.ErrorCode = errorCode(errs[0])
	default:
		for i := range members {
			m := kmsg.NewLeaveGroupResponseMember()
			m.MemberID, m.InstanceID, m.ErrorCode = members[i].MemberID, members[i].InstanceID, errorCode(errs[i])
			answer.Members = append(answer.Members, m)
		}
	}
	return answer, nil
}
