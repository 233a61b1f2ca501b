package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// CreateAcls, versions 1 to 3.
//
// There is no authorizer: nothing is created. See DescribeAcls.

func (a *API) createACLs(_ context.Context, _ *protocol.Request, body *kmsg.CreateACLsRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrCreateACLsResponse()
	answer.Version = body.Version
	for i := range body.Creations {
		c := &body.Creations[i]
		if err := checkACLKinds("CreateAcls", int8(c.ResourceType), int8(c.ResourcePatternType), int8(c.Operation), int8(c.PermissionType)); err != nil {
			return nil, err
		}
		r := kmsg.NewCreateACLsResponseResult()
		r.ErrorCode, r.ErrorMessage = errorCode(noAuthorizer()), errorMessage(noAuthorizer())
		answer.Results = append(answer.Results, r)
	}
	return answer, nil
}
