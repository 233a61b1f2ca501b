package handlers

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/group"
	"minibroker/protocol"
)

// DescribeGroups, versions 0 to 6.
//
// Classic groups only. A group that is not there, or of another kind, is dead;
// from version 6 on that is an error with a sentence.

func (a *API) describeGroups(_ context.Context, _ *protocol.Request, body *kmsg.DescribeGroupsRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrDescribeGroupsResponse()
	answer.Version = body.Version
	for _, id := range body.Groups {
		g := a.describeGroup(body.Version, id)
		if body.IncludeAuthorizedOperations && g.ErrorCode == codeNone {
			g.AuthorizedOperations = groupOperations
		}
		answer.Groups = append(answer.Groups, g)
	}
	return answer, nil
}

func (a *API) describeGroup(version int16, id string) kmsg.DescribeGroupsResponseGroup {
	g := kmsg.NewDescribeGroupsResponseGroup()
	g.Group = id
	d, err := a.groups.Describe(id)
	switch {
	case errors.Is(err, group.ErrGroupNotFound) && version < 6:
		g.State = "Dead"
		return g
	case errors.Is(err, group.ErrGroupNotFound):
		g.State = "Dead"
		fallthrough
	case err != nil:
		g.ErrorCode, g.ErrorMessage = errorCode(err), errorMessage(err)
		return g
	}
	g.State, g.ProtocolType, g.Protocol = d.State, d.ProtocolType, d.Protocol
	for i := range d.Members {
		from := &d.Members[i]
		m := kmsg.NewDescribeGroupsResponseGroupMember()
		m.MemberID, m.InstanceID, m.ClientID, m.ClientHost = from.ID, from.InstanceID, from.ClientID, from.ClientHost
		m.ProtocolMetadata, m.MemberAssignment = from.Metadata, from.Assignment
		g.Members = append(g.Members, m)
	}
	return g
}
