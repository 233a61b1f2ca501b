package protocol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// A frame, in both directions:
//
//	field  bytes  meaning
//	size   4      int32, big endian: length of what follows
//	header        see header.go
//	body          a message of the API and version that the header names
//
// A client's size must be 1 to socket.request.max.bytes; Apache Kafka 4.4.0
// closes the connection on any other without an answer.

const (
	sizeBytes = 4
	// A read takes up to smallFrameBytes, after a longer frame up to
	// mediumFrameBytes, and what remains of the frame is read in one piece. Both
	// are classes of buffers.
	smallFrameBytes  = 4 << 10
	mediumFrameBytes = 16 << 10
	// firstChunkBytes is taken on the word of a client that has not sent
	// anything yet; more only as bytes arrive, or when the connection has
	// sent frames of that size before.
	firstChunkBytes = 64 << 10
)

// ReadyReader is a reader that can wait without a buffer.
type ReadyReader interface {
	io.Reader
	// ReadReady waits until there is something to read and only then takes a
	// buffer of so many bytes, in which it returns what one read gave, at least
	// one byte, or the error that a Read would return.
	ReadReady(bytes int) (*Buffer, error)
}

// FrameReader reads the frames of one connection into pooled buffers. While it
// waits for a frame to begin it holds none, if its source allows that.
type FrameReader struct {
	r        io.Reader
	ready    ReadyReader // r, if it is one
	addr     string
	maxBytes int
	buffers  *Buffers
	reserve  func(bytes int) error // nil: nothing to ask
	// rest holds bytes behind the last frame, from at on; nil when there are none.
	rest *Buffer
	at   int
	last int // size of the last frame
	// proven is the length of the longest frame that came in whole, up to the
	// largest pooled size: that much is taken at once, so that a steady
	// producer's frames are never copied. Beyond that size a buffer for the
	// whole frame is taken, which costs memory only as bytes arrive.
	proven int
}

// NewFrameReader reads from r, which addr has sent. Frames above maxBytes are
// refused before memory is taken for them.
func NewFrameReader(r io.Reader, addr string, maxBytes int, buffers *Buffers) *FrameReader {
	f := &FrameReader{r: r, addr: addr, maxBytes: maxBytes, buffers: buffers}
	f.ready, _ = r.(ReadyReader)
	return f
}

// Reserve has reserve called with the size of each frame before memory is taken
// for it; Next returns its error. What it counts ends with the caller's use of the
// frame, or with the connection when Next fails.
func (f *FrameReader) Reserve(reserve func(bytes int) error) { f.reserve = reserve }

// Next reads one frame without its size. The caller gives the buffer back. The
// error is io.EOF when the connection ended between two frames, a *FrameError
// for an impossible size, and otherwise that of the connection
// (io.ErrUnexpectedEOF inside a frame).
func (f *FrameReader) Next() (*Buffer, error) {
	b, err := f.begin()
	if err != nil {
		return nil, err
	}
	size := int(int32(binary.BigEndian.Uint32(b.B)))
	if size <= 0 || size > f.maxBytes {
		defer f.buffers.Put(b)
		return nil, f.badSize(size, b.B[:sizeBytes])
	}
	if f.reserve != nil {
		if err := f.reserve(size); err != nil {
			f.buffers.Put(b)
			return nil, err
		}
	}
	b.B = b.B[sizeBytes:]
	if len(b.B) > size {
		b = f.split(b, size)
	}
	if b, err = f.fill(b, size); err != nil {
		return nil, err
	}
	f.last = size
	if size > f.proven {
		f.proven = min(size, largestClass)
	}
	return b, nil
}

// begin returns a buffer that begins with the size of a frame.
func (f *FrameReader) begin() (*Buffer, error) {
	b := f.rest
	if b != nil {
		b.B = b.B[f.at:]
		f.rest, f.at = nil, 0
	} else {
		var err error
		if b, err = f.read(); err != nil {
			return nil, f.endOf(err, 0, sizeBytes)
		}
	}
	if len(b.B) >= sizeBytes {
		return b, nil
	}
	return f.fillTo(b, sizeBytes, sizeBytes, 0)
}

// read gives what comes next.
func (f *FrameReader) read() (*Buffer, error) {
	n := smallFrameBytes
	if f.last > smallFrameBytes-sizeBytes {
		n = mediumFrameBytes
	}
	if f.ready != nil {
		return f.ready.ReadReady(n)
	}
	b := f.buffers.Get(n)
	k, err := io.ReadAtLeast(f.r, b.B[:n], 1)
	if err != nil {
		f.buffers.Put(b)
		return nil, err
	}
	b.B = b.B[:k]
	return b, nil
}

// split takes a frame off the front of b, in a buffer of its own, and keeps what is behind.
func (f *FrameReader) split(b *Buffer, size int) *Buffer {
	frame := f.buffers.Get(size)
	frame.B = append(frame.B, b.B[:size]...)
	f.rest, f.at = b, size
	return frame
}

// fill reads what is missing of a frame.
func (f *FrameReader) fill(b *Buffer, size int) (*Buffer, error) {
	if size > cap(b.B) {
		first := f.first(size)
		first.B = append(first.B, b.B...)
		f.buffers.Put(b)
		b = first
	}
	for len(b.B) < size {
		if len(b.B) == cap(b.B) {
			b = f.buffers.Grow(b, min(3*cap(b.B), size-len(b.B)))
		}
		var err error
		if b, err = f.fillTo(b, min(size, cap(b.B)), size, sizeBytes); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// first takes a buffer for a frame, or for as much of it as is taken on the client's word.
func (f *FrameReader) first(size int) *Buffer {
	if size > largestClass {
		if b := f.buffers.large.get(size); b != nil {
			return b
		}
	}
	return f.buffers.Get(min(size, max(firstChunkBytes, f.proven)))
}

// fillTo reads until b has a length. Of something that wants so many bytes, that many before b have come as well.
func (f *FrameReader) fillTo(b *Buffer, length, want, before int) (*Buffer, error) {
	have := len(b.B)
	if cap(b.B) < length {
		b = f.buffers.Grow(b, length-have)
	}
	b.B = b.B[:length]
	n, err := io.ReadFull(f.r, b.B[have:])
	if err != nil {
		f.buffers.Put(b)
		return nil, f.endOf(err, before+have+n, before+want)
	}
	return b, nil
}

// endOf tells an end between frames from one inside a frame of want bytes.
func (f *FrameReader) endOf(err error, have, want int) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if have == 0 {
		return io.EOF
	}
	return fmt.Errorf("connection from %s ended after %d of %d bytes of a frame: %w",
		addrOr(f.addr), have, want, io.ErrUnexpectedEOF)
}

// badSize names the usual causes: other protocols on this port.
func (f *FrameReader) badSize(size int, head []byte) error {
	reason := fmt.Sprintf("size %d is not within 1 to %d (socket.request.max.bytes)", size, f.maxBytes)
	switch {
	case head[0] == 0x16 && head[1] == 0x03:
		reason += ": this is a TLS handshake on a listener without TLS; check the client's security.protocol"
	case isHTTPMethod(string(head)):
		reason += ": this is an HTTP request; the port speaks the Kafka protocol only"
	}
	return &FrameError{Addr: f.addr, Reason: reason}
}

func isHTTPMethod(head string) bool {
	switch head {
	case "GET ", "POST", "PUT ", "HEAD", "DELE", "OPTI", "CONN", "PATC", "PRI ":
		return true
	}
	return false
}

// ReadRequest reads one frame and decodes it into req, whose addresses and
// listener stay as they are. The buffer holds what req.Body points to; the
// caller gives it back when the answer is out. It is nil when err is not nil;
// errors are those of Next and Versions.Parse.
func ReadRequest(f *FrameReader, versions *Versions, req *Request) (*Buffer, error) {
	frame, err := f.Next()
	if err != nil {
		return nil, err
	}
	if err := versions.Parse(frame.B, req); err != nil {
		f.buffers.Put(frame)
		return nil, err
	}
	return frame, nil
}
