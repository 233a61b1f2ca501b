package handlers

import (
	"bytes"
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/group"
	"minibroker/protocol"
)

// JoinGroup, versions 0 to 9.
//
// From version 4 on a new member without an instance id is told its id and joins
// again with that. The answer is sent when the join phase is over. Version 0 has
// one timeout for the session and the rebalance.

func (a *API) joinGroup(ctx context.Context, req *protocol.Request, body *kmsg.JoinGroupRequest) (kmsg.Response, error) {
	r := group.JoinRequest{
		GroupID: body.Group, MemberID: body.MemberID, InstanceID: body.InstanceID,
		ClientID: clientID(req), ClientHost: clientHost(req),
		SessionTimeoutMs: body.SessionTimeoutMillis, RebalanceTimeoutMs: body.RebalanceTimeoutMillis,
		ProtocolType: body.ProtocolType, Protocols: joinProtocols(body.Protocols), Reason: deref(body.Reason),
		NeedsID: body.Version >= 4, CanSkipAssignment: body.Version >= 9,
	}
	if body.Version < 1 {
		r.RebalanceTimeoutMs = r.SessionTimeoutMs
	}
	begin := time.Now()
	result, err := a.groups.Join(ctx, &r)
	req.Waited = time.Since(begin)
	if err != nil {
		return nil, err
	}
	return joinAnswer(body.Version, &result), nil
}

// joinProtocols copies the protocols of a request, of several with the same name
// the first.
func joinProtocols(all []kmsg.JoinGroupRequestProtocol) []group.Protocol {
	var names firstSeen[string]
	protocols := make([]group.Protocol, 0, len(all))
	for i := range all {
		if _, seen := names.add(all[i].Name); !seen {
			protocols = append(protocols, group.Protocol{Name: all[i].Name, Metadata: bytes.Clone(all[i].Metadata)})
		}
	}
	return protocols
}

func joinAnswer(version int16, r *group.JoinResult) kmsg.Response {
	answer := kmsg.NewPtrJoinGroupResponse()
	answer.Version = version
	answer.MemberID = r.MemberID
	if r.Err != nil {
		answer.ErrorCode = errorCode(r.Err)
		answer.Generation = -1
		if version < 7 {
			answer.Protocol = new(string) // null only where the version has it
		}
		return answer
	}
	answer.Generation, answer.LeaderID, answer.SkipAssignment = r.Generation, r.LeaderID, r.SkipAssignment
	answer.ProtocolType, answer.Protocol = &r.ProtocolType, r.Protocol
	for i := range r.Members {
		m := kmsg.NewJoinGroupResponseMember()
		m.MemberID, m.InstanceID, m.ProtocolMetadata = r.Members[i].ID, r.Members[i].InstanceID, r.Members[i].Metadata
		answer.Members = append(answer.Members, m)
	}
	return answer
}
