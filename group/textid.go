package group

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
)

// newTextID is a random UUID as Kafka writes its own: in base64, and not with a
// dash in front.
func newTextID() string {
	for {
		var b [16]byte
		rand.Read(b[:]) // never fails
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		if s := base64.RawURLEncoding.EncodeToString(b[:]); !strings.HasPrefix(s, "-") {
			return s
		}
	}
}
