package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// DescribeDelegationToken, versions 1 to 3.
//
// Not allowed on PLAINTEXT listeners; see CreateDelegationToken.

func (a *API) describeDelegationToken(_ context.Context, _ *protocol.Request, body *kmsg.DescribeDelegationTokenRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrDescribeDelegationTokenResponse()
	answer.Version = body.Version
	answer.ErrorCode = codeDelegationTokenRequestNotAllowed
	return answer, nil
}
