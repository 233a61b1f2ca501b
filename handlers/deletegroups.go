package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// DeleteGroups, versions 0 to 3.
//
// A group is deleted with its offsets. One that is named twice is answered once.

func (a *API) deleteGroups(_ context.Context, _ *protocol.Request, body *kmsg.DeleteGroupsRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrDeleteGroupsResponse()
	answer.Version = body.Version
	var groups firstSeen[string]
	for _, id := range body.Groups {
		groups.add(id)
	}
	for i, err := range a.groups.Delete(groups.keys) {
		g := kmsg.NewDeleteGroupsResponseGroup()
		g.Group, g.ErrorCode = groups.keys[i], errorCode(err)
		answer.Groups = append(answer.Groups, g)
	}
	return answer, nil
}
