package server

import (
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
)

// Serve accepts connections until Shutdown or Close, then returns ErrClosed.
// Any other error is that of the listener. It closes the listener.
func (s *Server) Serve(l Listener) error {
	if !s.addListener(l) {
		l.Close()
		return ErrClosed
	}
	defer s.removeListener(l.Listener)
	defer l.Close()
	pause := time.Duration(0)
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			pause = 0
			s.admit(l.Name, nc)
		case s.closing.Load():
			return ErrClosed
		case !passes(err):
			return fmt.Errorf("accept on listener %s: %w", l.Name, err)
		default:
			pause = min(max(2*pause, firstAcceptPause), lastAcceptPause)
			s.log.Warn("cannot accept connections for now; raise the limit of open files if this goes on",
				"listener", l.Name, "retry_in", pause, "err", err)
			s.pause(pause)
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

// pause waits, but not beyond the end of the server.
func (s *Server) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.base.Done():
	}
}

// admit starts the connection's goroutine, or closes what the limits refuse.
// At the total limit it waits, and with it the listener.
func (s *Server) admit(listener string, nc net.Conn) {
	if err := s.quotas.acquire(s.base, listener, nc.RemoteAddr()); err != nil {
		s.refuse(listener, nc, err)
		return
	}
	s.tune(nc)
	c := newConn(s, listener, nc)
	if !s.addConn(c) {
		s.quotas.release(listener, nc.RemoteAddr())
		c.cancel()
		nc.Close()
		return
	}
	go func() {
		defer s.removeConn(c)
		defer s.quotas.release(listener, nc.RemoteAddr())
		c.serve()
	}()
}

// refuse closes a connection: one that came too soon after others only when
// it might have been answered, so that its client does not try again at once.
func (s *Server) refuse(listener string, nc net.Conn, err error) {
	var throttled *throttledError
	switch {
	case errors.As(err, &throttled):
		s.log.Debug("connection delayed and closed", "listener", listener, "err", err)
		s.closeAt(nc, throttled.until)
		return
	case !s.closing.Load():
		s.log.Warn("connection refused", "listener", listener, "remote", nc.RemoteAddr().String(), "err", err)
	}
	nc.Close()
}

// closeAt closes a connection at a time, or at the end of the server.
func (s *Server) closeAt(nc net.Conn, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		nc.Close()
		return
	}
	s.tasks.Go(func() {
		defer nc.Close()
		s.pause(time.Until(at))
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
