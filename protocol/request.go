package protocol

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Request is one decoded request and what is known about its sender.
//
// A connection uses one Request again and again, and byte slices inside Body
// point into a frame that goes back to a pool once the answer is out: a handler
// that keeps either beyond its return must copy. Strings are copies and may be
// kept.
type Request struct {
	// Key and Version are as sent; Version is one that the Versions table serves.
	Key, Version int16
	// CorrelationID is repeated in the answer.
	CorrelationID int32
	// ClientID is nil when the client sent null.
	ClientID *string
	// Body has its version set.
	Body kmsg.Request
	// Bytes is the length of the frame without its size.
	Bytes int
	// Listener is the name of the listener that accepted the connection.
	Listener string
	// RemoteAddr and LocalAddr are host:port of the two ends.
	RemoteAddr, LocalAddr string
	// SoftwareName and SoftwareVersion are what the client said of itself in its
	// last ApiVersions on this connection; a handler sets them.
	SoftwareName, SoftwareVersion string
	// Unsupported marks an ApiVersions request in a version that is not known.
	// Version is 0 and Body nil then; the answer is Versions.UnsupportedVersion,
	// which a server gives without asking a handler.
	Unsupported bool
	// Waited is how long the handler did nothing but wait for others; the handler
	// sets it, for measurements.
	Waited time.Duration
	// Refuse, where set, gives the code that a partition of a Fetch is answered with instead of its records, 0 for none. It is
	// nil but for requests that a test harms on purpose.
	Refuse func(topic string, partition int32) int16

	data *dataRequests // made by the first Produce or Fetch
}

// The reasons why a request is refused before its body is looked at.
var (
	// ErrUnknownKey: no such API is served.
	ErrUnknownKey = errors.New("this API is not served")
	// ErrUnservedVersion: the API is served in other versions only.
	ErrUnservedVersion = errors.New("this version is not served")
)

// ParseRequest decodes one frame without its size into a new Request; see
// Versions.Parse.
func ParseRequest(frame []byte, versions *Versions) (*Request, error) {
	req := &Request{}
	if err := versions.Parse(frame, req); err != nil {
		return nil, err
	}
	return req, nil
}

// Parse decodes one frame without its size into req, whose addresses and
// listener stay as they are. Body slices point into frame.
//
// Errors are a *FrameError for a broken header and a *DecodeError for an unknown
// key, an unserved version or a broken body. Each means that the connection has
// to be closed without an answer. The one version that is not served and yet
// answered is that of ApiVersions: see Request.Unsupported.
//
// Decoding costs at most MaxDecodedBytes and a little rounding, however the
// frame is made: it is measured before anything is allocated.
func (v *Versions) Parse(frame []byte, req *Request) error {
	h, rest, err := ReadHeader(frame)
	if err != nil {
		return &FrameError{Addr: req.RemoteAddr, Reason: err.Error()}
	}
	req.take(h)
	req.Bytes = len(frame)
	api := v.find(h.Key)
	switch {
	case api == nil:
		return req.refuse(ErrUnknownKey)
	case h.Key == apiVersionsKey && (h.Version < api.MinServed || h.Version > api.Max):
		req.Version, req.Unsupported = 0, true
		return nil
	case h.Version < api.MinServed || h.Version > api.Max:
		return req.refuse(fmt.Errorf("%w, but versions %d to %d are", ErrUnservedVersion, api.MinServed, api.Max))
	}
	flexible := h.Version >= api.flexible
	body, err := withoutTags(rest, flexible)
	if err != nil {
		return req.refuse(err)
	}
	if h.Key == int16(kmsg.Produce) || h.Key == int16(kmsg.Fetch) {
		if req.data == nil {
			req.data = &dataRequests{}
		}
		if message := req.data.decode(h.Key, h.Version, flexible, body); message != nil {
			req.Body = message
			return nil
		}
	}
	if _, err := measure(body, api.shape, h.Version, flexible); err != nil {
		return req.refuse(err)
	}
	message := kmsg.RequestForKey(h.Key)
	message.SetVersion(h.Version)
	if err := message.ReadFrom(body); err != nil {
		return req.refuse(err)
	}
	req.Body = message
	return nil
}

// Finish lets go of what points into the frame, which can then be used for another one.
func (r *Request) Finish() {
	r.Body = nil
	if r.data != nil {
		r.data.forget()
	}
}

// WaitsForOthers tells a request that may be answered only when other clients
// have done something.
func (r *Request) WaitsForOthers() bool {
	return r.Key == int16(kmsg.Fetch) || r.Key == int16(kmsg.JoinGroup) || r.Key == int16(kmsg.SyncGroup)
}

// withoutTags skips the header's tags.
func withoutTags(rest []byte, flexible bool) ([]byte, error) {
	switch {
	case !flexible:
		return rest, nil
	case len(rest) > 0 && rest[0] == 0:
		return rest[1:], nil // none, as always so far
	}
	r := kbin.Reader{Src: rest}
	kmsg.SkipTags(&r)
	if !r.Ok() {
		return nil, fmt.Errorf("the tags of the header: %w", ErrTruncated)
	}
	return r.Src, nil
}

// take fills in the header. A client id that stays the same is not copied again.
func (r *Request) take(h Header) {
	r.Key, r.Version, r.CorrelationID = h.Key, h.Version, h.CorrelationID
	r.Body, r.Unsupported = nil, false
	switch {
	case h.ClientID == nil:
		r.ClientID = nil
	case r.ClientID == nil || *r.ClientID != string(h.ClientID):
		id := string(h.ClientID)
		r.ClientID = &id
	}
}

func (r *Request) refuse(err error) error {
	e := &DecodeError{Addr: r.RemoteAddr, Key: r.Key, Version: r.Version, Err: err}
	if r.ClientID != nil {
		e.ClientID = *r.ClientID
	}
	return e
}
