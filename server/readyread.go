package server

import (
	"io"
	"os"
	"syscall"

	"minibroker/protocol"
)

// readyRead is one read from a socket that takes its buffer when there is something to read: a connection at rest holds none.
type readyRead struct {
	attempt func(fd uintptr) bool // try, made into a value once
	buffers *protocol.Buffers
	bytes   int

	got *protocol.Buffer
	err error
}

// ReadReady waits for bytes from the client, see protocol.ReadyReader, and counts as life on the connection.
func (c *conn) ReadReady(bytes int) (*protocol.Buffer, error) {
	c.reads.extend()
	if c.raw == nil {
		return c.readWhole(bytes)
	}
	r := &c.ready
	r.buffers, r.bytes, r.got, r.err = &c.server.buffers, bytes, nil, nil
	if err := c.raw.Read(r.attempt); err != nil {
		return nil, err // the wait was ended
	}
	return r.got, r.err
}

// try reads once; false means that there is nothing to read yet.
func (r *readyRead) try(fd uintptr) bool {
	b := r.buffers.Get(r.bytes)
	n, err := 0, error(syscall.EINTR)
	for err == syscall.EINTR {
		n, err = syscall.Read(int(fd), b.B[:r.bytes])
	}
	if err == nil && n > 0 {
		b.B = b.B[:n]
		r.got = b
		return true
	}
	r.buffers.Put(b)
	if err == syscall.EAGAIN {
		return false
	}
	if r.err = os.NewSyscallError("read", err); err == nil {
		r.err = io.EOF
	}
	return true
}

// readWhole reads from what is no socket, into a buffer that waits with it.
func (c *conn) readWhole(bytes int) (*protocol.Buffer, error) {
	b := c.server.buffers.Get(bytes)
	n, err := io.ReadAtLeast(c.nc, b.B[:bytes], 1)
	if err != nil {
		c.server.buffers.Put(b)
		return nil, err
	}
	b.B = b.B[:n]
	return b, nil
}
