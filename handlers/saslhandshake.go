package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// SaslHandshake, versions 0 and 1.
//
// Listeners are PLAINTEXT: whatever the mechanism, the handshake comes at the
// wrong time.

func (a *API) saslHandshake(_ context.Context, _ *protocol.Request, body *kmsg.SASLHandshakeRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrSASLHandshakeResponse()
	answer.Version = body.Version
	answer.ErrorCode = codeIllegalSASLState
	return answer, nil
}
