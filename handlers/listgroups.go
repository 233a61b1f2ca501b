package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// ListGroups, versions 0 to 5.
//
// States can be asked for from version 4 on, types from version 5 on; names that
// mean nothing match nothing.

func (a *API) listGroups(_ context.Context, _ *protocol.Request, body *kmsg.ListGroupsRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrListGroupsResponse()
	answer.Version = body.Version
	listed, err := a.groups.List(body.StatesFilter, body.TypesFilter)
	answer.ErrorCode = errorCode(err)
	answer.Groups = make([]kmsg.ListGroupsResponseGroup, len(listed))
	for i := range listed {
		g := &answer.Groups[i]
		g.Default()
		g.Group, g.ProtocolType = listed[i].ID, listed[i].ProtocolType
		g.GroupState, g.GroupType = listed[i].State, listed[i].Kind.String()
	}
	return answer, nil
}
