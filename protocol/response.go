package protocol

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Response is what a handler answers: one of Body, Parts or None.
type Response struct {
	// Body is encoded whole, in the version of the request.
	Body kmsg.Response
	// Parts is a body that the handler encoded itself, in pieces that are sent
	// one after another. The response header is not part of it.
	Parts []Part
	// None sends nothing and keeps the connection, as acks=0 asks for.
	None bool
	// Throttle is for how long the connection is not read from afterwards, which
	// is how a client is held to its quota; the answer itself is sent at once.
	Throttle time.Duration
	// Done, when set, is called once when the answer has been written or given
	// up, after all sources were released: the place to give back buffers.
	Done func()
}

// Part is one piece of a body: Bytes, then Source when there is one.
type Part struct {
	Bytes  []byte
	Source Source
}

// Source is a range of bytes that is sent without being held in memory.
// *logstore.Range is one.
type Source interface {
	// Len is the number of bytes, which never changes.
	Len() int64
	// ReadAt reads relative to the start of the range.
	ReadAt(p []byte, off int64) (int, error)
	// File gives the descriptor and the offset in the file where the range
	// starts; ok is false when there is no real file.
	File() (fd uintptr, off int64, ok bool)
	// Release is called exactly once, after the last use.
	Release()
}

// Release releases all sources and calls Done. Whoever holds the response last
// calls it, exactly once.
func (r *Response) Release() {
	for i := range r.Parts {
		if s := r.Parts[i].Source; s != nil {
			s.Release()
		}
	}
	if r.Done != nil {
		r.Done()
	}
}
