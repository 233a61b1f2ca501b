package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"
)

const (
	firstAcceptPause = 5 * time.Millisecond
	lastAcceptPause  = time.Second
	// A peer that vanished without a word is noticed after about two minutes.
	keepAliveIdle     = 60 * time.Second
	keepAliveInterval = 15 * time.Second
	keepAliveCount    = 4
	// moreFiles is what helps against too few descriptors.
	moreFiles = "raise the limit of open files (ulimit -n, LimitNOFILE= of a systemd unit, --ulimit nofile= of a container)"
	// toldEvery is how often the log says that connections wait.
	toldEvery = time.Minute
)

// Serve accepts connections until Release, Shutdown or Close, then returns
// ErrClosed. Any other error is that of the listener. It closes the listener.
func (s *Server) Serve(l Listener) error {
	from, ok := s.addListener(l)
	if !ok {
		l.Close()
		return ErrClosed
	}
	defer s.removeListener(from)
	defer l.Close()
	pause := time.Duration(0)
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			s.admit(from, nc)
		case s.closing.Load() || errors.Is(err, net.ErrClosed): // nobody but this server closes it
			return ErrClosed
		case !passes(err):
			return fmt.Errorf("accept on listener %s: %w", l.Name, err)
		default:
			pause = min(max(2*pause, firstAcceptPause), lastAcceptPause)
			s.log.Warn("cannot accept connections for now; if this goes on "+moreFiles,
				"listener", l.Name, "retry_in", pause, "err", err)
			pauseIn(from.base, pause)
		}
	}
}

// passes says whether a later Accept may succeed: the machine is out of
// something, or the client was gone already.
func passes(err error) bool {
	for _, errno := range []syscall.Errno{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED,
	} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// pauseIn waits, but not beyond the end of ctx.
func pauseIn(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// admit starts the connection's goroutine, or closes what the limits refuse.
// At the total limit it waits, and with it the listener.
func (s *Server) admit(from *served, nc net.Conn) {
	if s.quotas.full() {
		from.tellFull(s)
	}
	if err := s.quotas.acquire(from.base, from.Name, nc.RemoteAddr()); err != nil {
		s.refuse(from, nc, err)
		return
	}
	s.tune(nc)
	c := newConn(s, from, nc)
	if !s.addConn(c) {
		s.quotas.release(from.Name, nc.RemoteAddr())
		c.cancel()
		nc.Close()
		return
	}
	go func() {
		defer s.removeConn(c)
		defer s.quotas.release(from.Name, nc.RemoteAddr())
		c.serve()
	}()
}

// tellFull says, now and then, that connections wait.
func (l *served) tellFull(s *Server) {
	if now := time.Now(); l.told.IsZero() || now.Sub(l.told) >= toldEvery {
		l.told = now
		s.log.Warn("new connections wait until others are closed: there are as many as the limit of open files has room for; "+moreFiles,
			"listener", l.Name, "connections", s.opts.MostConnections)
	}
}

// refuse closes a connection: one that came too soon after others only when
// it might have been answered, so that its client does not try again at once.
func (s *Server) refuse(from *served, nc net.Conn, err error) {
	var throttled *throttledError
	switch {
	case errors.As(err, &throttled):
		s.log.Debug("connection delayed and closed", "listener", from.Name, "err", err)
		s.closeAt(from, nc, throttled.until)
		return
	case from.base.Err() == nil:
		s.log.Warn("connection refused", "listener", from.Name, "remote", nc.RemoteAddr().String(), "err", err)
	}
	nc.Close()
}

// closeAt closes a connection at a time, or at the end of its listener.
func (s *Server) closeAt(from *served, nc net.Conn, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		nc.Close()
		return
	}
	s.tasks.Go(func() {
		defer nc.Close()
		pauseIn(from.base, time.Until(at))
	})
}

// tune sets the socket up. A socket that refuses an option works without it.
func (s *Server) tune(nc net.Conn) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	// An answer is one write or ends with one: waiting to fill a packet gains nothing.
	tcp.SetNoDelay(true)
	tcp.SetKeepAliveConfig(net.KeepAliveConfig{
		Enable: true, Idle: keepAliveIdle, Interval: keepAliveInterval, Count: keepAliveCount,
	})
	if n := s.opts.SendBufferBytes; n > 0 {
		tcp.SetWriteBuffer(n)
	}
	if n := s.opts.ReceiveBufferBytes; n > 0 {
		tcp.SetReadBuffer(n)
	}
}
