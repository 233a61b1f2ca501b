package server

import (
	"errors"
	"fmt"
	"io"
	"math"

	"minibroker/protocol"
)

const (
	// Pieces up to smallBytes are gathered, so that a small answer is one
	// write; longer ones are sent from where they are.
	smallBytes = 16 << 10
	// gatherBytes is when gathered pieces are sent.
	gatherBytes = 64 << 10
	// copyBytes is the buffer for sources that cannot be sent by the kernel.
	copyBytes = 64 << 10
	// sendfileBytes bounds one call, between which the deadline moves on.
	sendfileBytes = 1 << 20
)

// send writes an answer. The caller releases it.
func (c *conn) send(resp *protocol.Response) error {
	if resp.None {
		return nil
	}
	w := answerWriter{conn: c, buf: c.server.buffers.Get(c.answerBytes)}
	defer func() { c.server.buffers.Put(w.buf) }()
	switch {
	case resp.Body != nil:
		w.buf.B = protocol.AppendResponse(w.buf.B, &c.req, resp.Body)
	case resp.Parts != nil:
		if err := w.parts(resp.Parts); err != nil {
			return fmt.Errorf("answer to %s: %w", c.name(), err)
		}
	default:
		return fmt.Errorf("%s: %w", c.name(), errNoAnswer)
	}
	c.answerBytes = min(len(w.buf.B), 4*gatherBytes)
	if err := w.flush(); err != nil {
		return fmt.Errorf("answer to %s: %w", c.name(), err)
	}
	return nil
}

// answerWriter gathers small pieces and sends large ones as they are.
type answerWriter struct {
	conn *conn
	buf  *protocol.Buffer
}

func (w *answerWriter) parts(parts []protocol.Part) error {
	total := int64(0)
	for _, p := range parts {
		total += int64(len(p.Bytes))
		if p.Source != nil {
			total += p.Source.Len()
		}
	}
	if total > math.MaxInt32-smallBytes {
		return fmt.Errorf("%d bytes do not fit into one frame", total)
	}
	w.buf.B = protocol.AppendResponseStart(w.buf.B, &w.conn.req, int(total))
	for _, p := range parts {
		if err := w.bytes(p.Bytes); err != nil {
			return err
		}
		if p.Source == nil {
			continue
		}
		if err := w.source(p.Source); err != nil {
			return err
		}
	}
	return nil
}

func (w *answerWriter) bytes(b []byte) error {
	if len(b) > smallBytes {
		if err := w.flush(); err != nil {
			return err
		}
		return w.conn.write(b)
	}
	if err := w.room(len(b)); err != nil {
		return err
	}
	w.buf.B = append(w.buf.B, b...)
	return nil
}

func (w *answerWriter) source(s protocol.Source) error {
	n := s.Len()
	if n > smallBytes {
		if err := w.flush(); err != nil {
			return err
		}
		return w.conn.sendSource(s, n)
	}
	if err := w.room(int(n)); err != nil {
		return err
	}
	have := len(w.buf.B)
	w.buf.B = w.buf.B[:have+int(n)]
	return readFull(s, w.buf.B[have:], 0)
}

// room makes space for n more bytes, sending what is there when it is enough.
func (w *answerWriter) room(n int) error {
	if len(w.buf.B)+n > gatherBytes {
		if err := w.flush(); err != nil {
			return err
		}
	}
	w.buf = w.conn.server.buffers.Grow(w.buf, n)
	return nil
}

func (w *answerWriter) flush() error {
	if len(w.buf.B) == 0 {
		return nil
	}
	err := w.conn.write(w.buf.B)
	w.buf.B = w.buf.B[:0]
	return err
}

// write sends b. A client that takes none of it for the idle timeout is given up.
func (c *conn) write(b []byte) error {
	c.writes.extend()
	_, err := c.nc.Write(b)
	return err
}

// sendSource sends a whole source: from file to socket inside the kernel where
// that is possible, else through a bounded buffer.
func (c *conn) sendSource(s protocol.Source, n int64) error {
	sent := int64(0)
	if fd, off, ok := s.File(); ok && c.raw != nil {
		var err error
		sent, err = c.sendFile(fd, off, n)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	return c.copySource(s, sent, n)
}

// sendFile returns how much it has sent.
func (c *conn) sendFile(fd uintptr, off, n int64) (int64, error) {
	sent := int64(0)
	for sent < n {
		c.writes.extend()
		k, err := sendfile(c.raw, fd, off+sent, int(min(n-sent, sendfileBytes)))
		sent += int64(k)
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

func (c *conn) copySource(s protocol.Source, from, n int64) error {
	if from >= n {
		return nil
	}
	buf := c.server.buffers.Get(copyBytes)
	defer c.server.buffers.Put(buf)
	for from < n {
		p := buf.B[:min(n-from, copyBytes)]
		if err := readFull(s, p, from); err != nil {
			return err
		}
		if err := c.write(p); err != nil {
			return err
		}
		from += int64(len(p))
	}
	return nil
}

// errShortSource is a file that has become shorter than what was promised to
// the client; the connection cannot be saved.
var errShortSource = errors.New("the file is shorter than the range that is being sent")

func readFull(s protocol.Source, p []byte, off int64) error {
	n, err := s.ReadAt(p, off)
	switch {
	case n == len(p):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return errShortSource
	}
	return err
}
