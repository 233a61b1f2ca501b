package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Server serves a handler on one address: one request per connection, HTTP/1. That is all that scrapes, health checks and tests
// need; net/http's own server, with TLS and HTTP/2, would make the program 1.4 MB larger.
type Server struct {
	handler http.Handler
	log     *slog.Logger
	socket  net.Listener
	base    context.Context // of all requests
	cancel  context.CancelFunc
	tasks   sync.WaitGroup // added to under mu while not closing

	mu      sync.Mutex
	closing bool
	open    map[net.Conn]struct{}
}

// Pauses after an Accept that failed for want of something that may come back.
const acceptPause = 100 * time.Millisecond

// Listen binds an address and serves until Close. The logger is told what goes wrong; nil discards that.
func Listen(addr string, h http.Handler, log *slog.Logger) (*Server, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	socket, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for HTTP on %s: %w; stop what uses the port, or choose another", addr, err)
	}
	s := &Server{handler: h, log: log, socket: socket, open: make(map[net.Conn]struct{})}
	s.base, s.cancel = context.WithCancel(context.Background())
	s.tasks.Go(s.accept)
	return s, nil
}

// Addr is the bound address; with port 0 it holds the port that the system chose.
func (s *Server) Addr() net.Addr { return s.socket.Addr() }

// Close stops serving. Answers that are being sent may finish until ctx ends; then they are cut off.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.cancel()
	err := s.socket.Close()
	finished := make(chan struct{})
	go func() {
		s.tasks.Wait()
		close(finished)
	}()
	select {
	case <-finished:
		return err
	case <-ctx.Done():
	}
	s.mu.Lock()
	for conn := range s.open {
		conn.Close()
	}
	s.mu.Unlock()
	<-finished
	return errors.Join(err, ctx.Err())
}

func (s *Server) accept() {
	for {
		conn, err := s.socket.Accept()
		switch {
		case err == nil:
			s.start(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			s.log.Warn("HTTP on " + s.socket.Addr().String() + ": " + err.Error())
			if !s.pause() {
				return
			}
		}
	}
}

// pause waits a little; false when the server is closing.
func (s *Server) pause() bool {
	timer := time.NewTimer(acceptPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.base.Done():
		return false
	}
}

// start serves a connection in a goroutine of its own.
func (s *Server) start(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		conn.Close()
		return
	}
	s.open[conn] = struct{}{}
	s.tasks.Go(func() {
		defer func() {
			s.mu.Lock()
			delete(s.open, conn)
			s.mu.Unlock()
		}()
		e := exchange{conn: conn, log: s.log, header: make(http.Header)}
		e.serve(s.base, s.handler)
	})
}
