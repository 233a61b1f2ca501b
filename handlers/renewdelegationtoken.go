package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// RenewDelegationToken, versions 1 and 2.
//
// Not allowed on PLAINTEXT listeners; see CreateDelegationToken.

func (a *API) renewDelegationToken(_ context.Context, _ *protocol.Request, body *kmsg.RenewDelegationTokenRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrRenewDelegationTokenResponse()
	answer.Version = body.Version
	answer.ErrorCode, answer.ExpiryTimestamp = codeDelegationTokenRequestNotAllowed, -1
	return answer, nil
}
