package handlers

import (
	"bytes"
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/group"
	"minibroker/protocol"
)

// SyncGroup, versions 0 to 5.
//
// The answer is sent when the leader has divided the work. From version 5 on the
// protocol has to be named.

func (a *API) syncGroup(ctx context.Context, req *protocol.Request, body *kmsg.SyncGroupRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrSyncGroupResponse()
	answer.Version = body.Version
	answer.MemberAssignment = []byte{}
	if body.Version >= 5 && (body.ProtocolType == nil || body.Protocol == nil) {
		answer.ErrorCode = codeInconsistentGroupProtocol
		return answer, nil
	}
	r := group.SyncRequest{
		GroupID: body.Group, Generation: body.Generation, MemberID: body.MemberID, InstanceID: body.InstanceID,
		ProtocolType: body.ProtocolType, Protocol: body.Protocol,
		Assignments: make([]group.Assignment, len(body.GroupAssignment)),
	}
	for i := range body.GroupAssignment {
		part := &body.GroupAssignment[i]
		r.Assignments[i] = group.Assignment{MemberID: part.MemberID, Part: bytes.Clone(part.MemberAssignment)}
	}
	begin := time.Now()
	result, err := a.groups.Sync(ctx, &r)
	req.Waited = time.Since(begin)
	if err != nil {
		return nil, err
	}
	if result.Err != nil {
		answer.ErrorCode = errorCode(result.Err)
		return answer, nil
	}
	answer.ProtocolType, answer.Protocol = &result.ProtocolType, result.Protocol
	answer.MemberAssignment = result.Assignment
	return answer, nil
}
