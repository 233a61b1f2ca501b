package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"minibroker/protocol"
)

// States of a connection. Idle turns into active when a whole request has come
// in, and into closed when the server stops; whoever swaps first decides.
const (
	stateIdle int32 = iota
	stateActive
	stateClosed
)

var errNoAnswer = errors.New("the handler gave no answer")

// conn is one connection. All but state is used by its own goroutine only.
type conn struct {
	server *Server
	from   *served
	nc     net.Conn
	raw    syscall.RawConn // of a plain TCP connection, else nil
	ready  readyRead
	ctx    context.Context
	cancel context.CancelFunc
	frames *protocol.FrameReader
	req    protocol.Request
	state  atomic.Int32
	reads  deadline
	writes deadline
	watch  watch
	// requestBytes is the length of the request's frame.
	requestBytes int
	// answerBytes is the length of the last answer: the next is likely to be
	// about as long.
	answerBytes int
	// reserved is what the request takes of the memory for all requests.
	reserved int64
	// throttled is until when the client is not read from; zero when it is.
	throttled time.Time
}

func newConn(s *Server, from *served, nc net.Conn) *conn {
	c := &conn{
		server: s,
		from:   from,
		nc:     nc,
		reads:  deadline{timeout: s.opts.IdleTimeout, apply: nc.SetReadDeadline},
		writes: deadline{timeout: s.opts.IdleTimeout, apply: nc.SetWriteDeadline},
	}
	c.ctx, c.cancel = context.WithCancel(from.base)
	c.req.Listener = from.Name
	c.req.RemoteAddr, c.req.LocalAddr = nc.RemoteAddr().String(), nc.LocalAddr().String()
	if tcp, ok := nc.(*net.TCPConn); ok {
		if raw, err := tcp.SyscallConn(); err == nil {
			c.raw = raw
			c.ready.attempt = c.ready.try
		}
	}
	c.frames = protocol.NewFrameReader(c, c.req.RemoteAddr, s.opts.MaxRequestBytes, &s.buffers)
	if s.memory != nil {
		c.frames.Reserve(c.reserve)
	}
	return c
}

// Read reads from the connection, and counts as life on it.
func (c *conn) Read(p []byte) (int, error) {
	c.reads.extend()
	return c.nc.Read(p)
}

// serve reads, handles and answers requests until something ends it.
func (c *conn) serve() {
	defer c.nc.Close()
	defer c.cancel()
	defer c.unreserve()
	for {
		frame, err := c.next()
		if err == nil {
			err = c.exchange()
			c.req.Finish()
			c.server.buffers.Put(frame)
			c.unreserve()
		}
		if err != nil {
			c.end(err)
			return
		}
		if !c.throttled.IsZero() {
			c.pause()
		}
	}
}

// next waits for a request. The buffer holds what c.req points to.
func (c *conn) next() (*protocol.Buffer, error) {
	c.state.Store(stateIdle)
	if c.server.closing.Load() || c.from.closing.Load() {
		return nil, ErrClosed
	}
	frame, err := protocol.ReadRequest(c.frames, c.server.opts.Versions, &c.req)
	if err != nil {
		return nil, err
	}
	if !c.state.CompareAndSwap(stateIdle, stateActive) {
		c.server.buffers.Put(frame)
		return nil, ErrClosed
	}
	c.requestBytes = len(frame.B)
	return frame, nil
}

// closeIdle closes the connection if no request of it is being handled, and
// reports whether it did.
func (c *conn) closeIdle() bool {
	if !c.state.CompareAndSwap(stateIdle, stateClosed) {
		return false
	}
	c.nc.Close()
	c.cancel() // it may be waiting for memory
	return true
}

// exchange has c.req handled and sends the answer. A panic on the way becomes
// an error, so that it costs this connection only.
func (c *conn) exchange() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{request: c.name(), value: p, stack: debug.Stack()}
		}
	}()
	measured := c.measure()
	resp, err := c.handle()
	defer resp.Release()
	measured.answered()
	defer measured.end()
	if err != nil {
		return err
	}
	if resp.Throttle > 0 {
		c.throttled = time.Now().Add(resp.Throttle)
	}
	return c.send(&resp)
}

// pause leaves a throttled client alone: nothing is read from it, and its going
// away is not noticed. The end of the server is.
func (c *conn) pause() {
	timer := time.NewTimer(time.Until(c.throttled))
	c.throttled = time.Time{}
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
	}
}

// handle calls the handler, and watches the client meanwhile.
func (c *conn) handle() (protocol.Response, error) {
	if c.req.Unsupported {
		return protocol.Response{Body: c.server.opts.Versions.UnsupportedVersion()}, nil
	}
	if c.req.WaitsForOthers() {
		c.unreserve() // those others could not be heard for the memory of those that wait for them; nor does Kafka count it
	}
	c.watch.start(c)
	defer c.watch.stop(c)
	resp, err := c.server.opts.Handler.Handle(c.ctx, &c.req)
	if err != nil {
		err = fmt.Errorf("%s: %w", c.name(), err)
	}
	return resp, err
}

// name is the request as log lines call it.
func (c *conn) name() string {
	return fmt.Sprintf("%s v%d", protocol.KeyName(c.req.Key), c.req.Version)
}

// end writes the one line that says why a connection is closed. Clients that
// leave, and ends that the server itself decided on, are not worth attention.
func (c *conn) end(err error) {
	var panicked *panicError
	log := c.server.log.With("listener", c.req.Listener, "remote", c.req.RemoteAddr)
	switch {
	case errors.As(err, &panicked):
		log.Error("connection closed: a request could not be handled; this is a bug", "err", err, "stack", string(panicked.stack))
	case isOrdinaryEnd(err):
		log.Debug("connection closed", "err", err)
	default:
		log.Warn("connection closed", "err", err)
	}
}

func isOrdinaryEnd(err error) bool {
	for _, ordinary := range []error{
		io.EOF, io.ErrUnexpectedEOF, ErrClosed, net.ErrClosed, os.ErrDeadlineExceeded,
		syscall.ECONNRESET, syscall.EPIPE, context.Canceled,
	} {
		if errors.Is(err, ordinary) {
			return true
		}
	}
	return false
}

// panicError is what a panic in a handler becomes.
type panicError struct {
	request string
	value   any
	stack   []byte
}

// Error names the request and the value of the panic.
func (e *panicError) Error() string {
	return fmt.Sprintf("%s: panic: %v", e.request, e.value)
}

// deadline closes a connection on which nothing moves. Setting a timer costs
// more than looking at the clock, so it is moved only when an eighth of the
// timeout has passed, and is set an eighth later in return.
type deadline struct {
	timeout time.Duration // 0 is never
	apply   func(time.Time) error
	set     time.Time
}

func (d *deadline) extend() {
	if d.timeout <= 0 {
		return
	}
	now := time.Now()
	if now.Sub(d.set) < d.timeout/8 {
		return
	}
	d.set = now
	// An error here comes back from the read or write that follows.
	_ = d.apply(now.Add(d.timeout + d.timeout/8))
}
