package protocol

import (
	"encoding/binary"
	"errors"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Request header, versions 1 and 2 (big endian):
//
//	field           bytes  meaning
//	api key         2
//	api version     2
//	correlation id  4      repeated in the answer
//	client id       2+n    int16 length, -1 (or less) is null; never compact
//	tags            1+     version 2 only, which goes with flexible bodies: uvarint count, then
//	                       per tag uvarint key, uvarint length, bytes; unknown ones are skipped
//
// Response header, versions 0 and 1:
//
//	correlation id  4
//	tags            1      version 1 only: always empty here
//
// ApiVersions answers with version 0 even where its body is flexible, because
// the client cannot know yet what the broker understands.

const apiVersionsKey = 18

var errShortHeader = errors.New("the request header is cut short")

// Header is the start of a request.
type Header struct {
	Key, Version  int16
	CorrelationID int32
	ClientID      []byte // points into the frame; nil is null
}

// ReadHeader reads a request header up to the client id and returns what
// follows it, which for flexible requests begins with the header's tags.
func ReadHeader(frame []byte) (Header, []byte, error) {
	r := kbin.Reader{Src: frame}
	h := Header{Key: r.Int16(), Version: r.Int16(), CorrelationID: r.Int32()}
	if n := r.Int16(); n >= 0 {
		h.ClientID = r.Span(int(n))
	}
	if !r.Ok() {
		return h, nil, errShortHeader
	}
	return h, r.Src, nil
}

// AppendResponseHeader appends what stands before the body of an answer, without
// the size.
func AppendResponseHeader(dst []byte, key, version int16, correlationID int32) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if responseHeaderBytes(key, version) > 4 {
		dst = append(dst, 0)
	}
	return dst
}

// AppendResponse appends a whole frame: size, header, and the body in the
// request's version.
func AppendResponse(dst []byte, req *Request, body kmsg.Response) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = AppendResponseHeader(dst, req.Key, req.Version, req.CorrelationID)
	body.SetVersion(req.Version)
	dst = body.AppendTo(dst)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-sizeBytes))
	return dst
}

// AppendResponseStart appends size and header of an answer whose body is
// bodyBytes long and is sent by the caller.
func AppendResponseStart(dst []byte, req *Request, bodyBytes int) []byte {
	size := bodyBytes + responseHeaderBytes(req.Key, req.Version)
	dst = binary.BigEndian.AppendUint32(dst, uint32(size))
	return AppendResponseHeader(dst, req.Key, req.Version, req.CorrelationID)
}

// responseHeaderBytes is the length of a response header.
func responseHeaderBytes(key, version int16) int {
	if key == apiVersionsKey || !isFlexible(key, version) {
		return 4
	}
	return 5
}
