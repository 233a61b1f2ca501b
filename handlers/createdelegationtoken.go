package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// CreateDelegationToken, versions 1 to 3.
//
// Tokens are for connections that authenticated by other means. Listeners are
// PLAINTEXT, so that none did: the request is not allowed.

// The principal of all connections while nobody authenticates.
const (
	anonymousType = "User"
	anonymousName = "ANONYMOUS"
)

func (a *API) createDelegationToken(_ context.Context, _ *protocol.Request, body *kmsg.CreateDelegationTokenRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrCreateDelegationTokenResponse()
	answer.Version = body.Version
	answer.ErrorCode = codeDelegationTokenRequestNotAllowed
	answer.PrincipalType, answer.PrincipalName = anonymousType, anonymousName
	answer.TokenRequesterPrincipalType, answer.TokenRequesterPrincipalName = anonymousType, anonymousName
	answer.IssueTimestamp, answer.ExpiryTimestamp, answer.MaxTimestamp = -1, -1, -1
	return answer, nil
}
