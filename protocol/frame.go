package protocol

import (
	"bufio"
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
	// idleBufferBytes is what a silent connection holds for reading.
	idleBufferBytes = 1 << 10
	// firstChunkBytes is taken on the word of a client that has not sent
	// anything yet; more only as bytes arrive, or when the connection has
	// sent frames of that size before.
	firstChunkBytes = 64 << 10
)

// FrameReader reads the frames of one connection into pooled buffers.
type FrameReader struct {
	r        *bufio.Reader
	addr     string
	maxBytes int
	buffers  *Buffers
	// proven is the length of the longest frame that came in whole, up to the
	// largest pooled size: that much is taken at once, so that a steady
	// producer's frames are never copied.
	proven int
}

// NewFrameReader reads from r, which addr has sent. Frames above maxBytes are
// refused before memory is taken for them.
func NewFrameReader(r io.Reader, addr string, maxBytes int, buffers *Buffers) *FrameReader {
	return &FrameReader{
		r:        bufio.NewReaderSize(r, idleBufferBytes),
		addr:     addr,
		maxBytes: maxBytes,
		buffers:  buffers,
	}
}

// Next reads one frame without its size. The caller gives the buffer back. The
// error is io.EOF when the connection ended between two frames, a *FrameError
// for an impossible size, and otherwise that of the connection
// (io.ErrUnexpectedEOF inside a frame).
func (f *FrameReader) Next() (*Buffer, error) {
	head, err := f.r.Peek(sizeBytes)
	if err != nil {
		return nil, f.endOf(err, len(head), sizeBytes)
	}
	size := int(int32(binary.BigEndian.Uint32(head)))
	if size <= 0 || size > f.maxBytes {
		return nil, f.badSize(size, head)
	}
	if _, err := f.r.Discard(sizeBytes); err != nil {
		return nil, err
	}
	b := f.buffers.Get(min(size, max(firstChunkBytes, f.proven)))
	for len(b.B) < size {
		if len(b.B) == cap(b.B) {
			b = f.buffers.Grow(b, min(3*cap(b.B), size-len(b.B)))
		}
		have := len(b.B)
		b.B = b.B[:min(size, cap(b.B))]
		n, err := io.ReadFull(f.r, b.B[have:])
		if err != nil {
			f.buffers.Put(b)
			return nil, f.endOf(err, sizeBytes+have+n, sizeBytes+size)
		}
	}
	if size > f.proven {
		f.proven = min(size, bufferClasses[len(bufferClasses)-1])
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
