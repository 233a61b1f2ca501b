package protocol

import "github.com/twmb/franz-go/pkg/kmsg"

// Request is one decoded request and what is known about its sender.
//
// Byte slices inside Body point into the frame, which goes back to a pool once
// the answer has been written: a handler that keeps bytes beyond its return
// must copy them. Strings are copies and may be kept.
type Request struct {
	// Key and Version are as sent; Version is one that the Versions table serves.
	Key, Version int16
	// CorrelationID is repeated in the answer.
	CorrelationID int32
	// ClientID is nil when the client sent null.
	ClientID *string
	// Body has its version set.
	Body kmsg.Request
	// Listener is the name of the listener that accepted the connection.
	Listener string
	// RemoteAddr and LocalAddr are host:port of the two ends.
	RemoteAddr, LocalAddr string
	// Unsupported marks an ApiVersions request in a version that is not known,
	// which is answered with UnsupportedVersion in version 0 and never reaches
	// a handler. Body is nil then.
	Unsupported bool
}

// ParseRequest decodes one frame without its size. Body slices point into frame.
// Errors are *FrameError for a broken header and *DecodeError for an unknown
// key, an unserved version or a broken body; each means that the connection
// has to be closed without an answer.
func ParseRequest(frame []byte, versions *Versions) (*Request, error) {
	return nil, &FrameError{Reason: "not yet"}
}
