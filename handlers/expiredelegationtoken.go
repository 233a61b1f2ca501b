package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// ExpireDelegationToken, versions 1 and 2.
//
// Not allowed on PLAINTEXT listeners; see CreateDelegationToken.

func (a *API) expireDelegationToken(_ context.Context, _ *protocol.Request, body *kmsg.ExpireDelegationTokenRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrExpireDelegationTokenResponse()
	answer.Version = body.Version
	answer.ErrorCode, answer.ExpiryTimestamp = codeDelegationTokenRequestNotAllowed, -1
	return answer, nil
}
