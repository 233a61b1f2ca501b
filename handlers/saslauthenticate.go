package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// SaslAuthenticate, versions 0 to 2.
//
// Listeners are PLAINTEXT: every connection counts as authenticated from the
// start, as ANONYMOUS.

func (a *API) saslAuthenticate(_ context.Context, _ *protocol.Request, body *kmsg.SASLAuthenticateRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrSASLAuthenticateResponse()
	answer.Version = body.Version
	err := &apiError{codeIllegalSASLState, "SaslAuthenticate request received after successful authentication"}
	answer.ErrorCode, answer.ErrorMessage = errorCode(err), errorMessage(err)
	return answer, nil
}
