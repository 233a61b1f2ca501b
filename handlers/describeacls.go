package handlers

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// DescribeAcls, versions 1 to 3.
//
// There is no authorizer, and every request is told so. What the metadata log
// holds of access control entries is kept and not looked at. A filter with an
// element of the unknown kind (0) closes the connection, as it does in Kafka.

// checkACLKinds refuses what no client can mean: a kind of 0 stands for one that
// the client itself did not know.
func checkACLKinds(api string, kinds ...int8) error {
	for _, kind := range kinds {
		if kind == 0 {
			return fmt.Errorf("request %s: a resource type, pattern type, operation or permission of the unknown kind", api)
		}
	}
	return nil
}

func (a *API) describeACLs(_ context.Context, _ *protocol.Request, body *kmsg.DescribeACLsRequest) (kmsg.Response, error) {
	err := checkACLKinds("DescribeAcls", int8(body.ResourceType), int8(body.ResourcePatternType), int8(body.Operation), int8(body.PermissionType))
	if err != nil {
		return nil, err
	}
	answer := kmsg.NewPtrDescribeACLsResponse()
	answer.Version = body.Version
	disabled := &apiError{codeSecurityDisabled, "No Authorizer is configured on the broker"}
	answer.ErrorCode, answer.ErrorMessage = errorCode(disabled), errorMessage(disabled)
	return answer, nil
}

// noAuthorizer is what those hear who want to change access control.
func noAuthorizer() error {
	return &apiError{codeSecurityDisabled, "No Authorizer is configured."}
}
