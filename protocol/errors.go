package protocol

import "fmt"

// FrameError says that the bytes of a connection are no Kafka frame.
type FrameError struct {
	Addr   string // who sent it, host:port; may be empty
	Reason string // what is wrong with it
}

// Error names the sender and the reason.
func (e *FrameError) Error() string {
	return fmt.Sprintf("bad frame from %s: %s", addrOr(e.Addr), e.Reason)
}

// DecodeError says that a well-framed request cannot be served or decoded.
type DecodeError struct {
	Addr         string // who sent it, host:port; may be empty
	Key, Version int16
	ClientID     string // empty when null
	Err          error  // ErrUnknownKey, ErrUnservedVersion, ErrTruncated, ErrNull, ErrTooManyElements
}

// Error names the sender, the API, the version and the reason.
func (e *DecodeError) Error() string {
	return fmt.Sprintf("request %s v%d (key %d) from %s, client id %.100q: %v",
		KeyName(e.Key), e.Version, e.Key, addrOr(e.Addr), e.ClientID, e.Err)
}

// Unwrap returns the reason.
func (e *DecodeError) Unwrap() error { return e.Err }

func addrOr(addr string) string {
	if addr == "" {
		return "an unknown address"
	}
	return addr
}
