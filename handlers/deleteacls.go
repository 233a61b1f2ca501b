package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// DeleteAcls, versions 1 to 3.
//
// There is no authorizer: nothing is deleted. See DescribeAcls.

func (a *API) deleteACLs(_ context.Context, _ *protocol.Request, body *kmsg.DeleteACLsRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrDeleteACLsResponse()
	answer.Version = body.Version
	for i := range body.Filters {
		f := &body.Filters[i]
		if err := checkACLKinds("DeleteAcls", int8(f.ResourceType), int8(f.ResourcePatternType), int8(f.Operation), int8(f.PermissionType)); err != nil {
			return nil, err
		}
		r := kmsg.NewDeleteACLsResponseResult()
		r.ErrorCode, r.ErrorMessage = errorCode(noAuthorizer()), errorMessage(noAuthorizer())
		answer.Results = append(answer.Results, r)
	}
	return answer, nil
}
