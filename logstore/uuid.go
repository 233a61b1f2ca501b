package logstore

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
)

// UUID names a topic, a data directory or a cluster. Its text is URL-safe
// base64 without padding, 22 characters.
type UUID [16]byte

// NewUUID makes a random (version 4) id. Like Kafka it avoids texts that begin
// with a dash, which look like options on a command line, and the ids that are
// reserved: those whose upper half is zero.
func NewUUID() UUID {
	for {
		var u UUID
		rand.Read(u[:]) // never fails
		u[6] = u[6]&0x0f | 0x40
		u[8] = u[8]&0x3f | 0x80
		if u.String()[0] != '-' {
			return u
		}
	}
}

// ParseUUID reads the text form.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	if len(s) > 24 {
		return u, fmt.Errorf("%w: uuid %.24q… is longer than 24 characters", ErrMalformed, s)
	}
	if base64.RawURLEncoding.DecodedLen(len(s)) != len(u) {
		return u, fmt.Errorf("%w: uuid %q has not 22 characters", ErrMalformed, s)
	}
	if _, err := base64.RawURLEncoding.Decode(u[:], []byte(s)); err != nil {
		return UUID{}, fmt.Errorf("%w: uuid %q: %w", ErrMalformed, s, err)
	}
	return u, nil
}

// String is the text form.
func (u UUID) String() string { return base64.RawURLEncoding.EncodeToString(u[:]) }

// IsZero reports whether the id is the zero id, which names nothing.
func (u UUID) IsZero() bool { return u == UUID{} }

// hex is 32 hexadecimal digits, as in the names of directories set aside.
func (u UUID) hex() string { return hex.EncodeToString(u[:]) }
