package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"minibroker/protocol"
)

// ErrClosed is returned by Serve after Shutdown or Close.
var ErrClosed = errors.New("server closed")

// Handler answers requests. Each connection calls it from its own goroutine,
// one request after another, and uses the same Request value again. The context
// ends at shutdown and, for requests that take longer than ten seconds, when the
// client goes away. An error closes the connection without an answer; the
// response is released in every case.
type Handler interface {
	Handle(ctx context.Context, req *protocol.Request) (protocol.Response, error)
}

// Server serves connections of any number of listeners.
//
// A connection's requests are handled one after another in its goroutine, so
// that answers keep their order and a slow client or a waiting request holds up
// nothing but its own connection.
type Server struct {
	opts    Options
	log     *slog.Logger
	buffers protocol.Buffers
	quotas  *connectionQuotas
	memory  *requestMemory // nil: without a bound
	rounds  *watchRounds
	// base is the parent of all requests' contexts; cancel ends their waits.
	base    context.Context
	cancel  context.CancelFunc
	closing atomic.Bool    // written under mu
	tasks   sync.WaitGroup // connections and accept loops; added to under mu while not closing

	mu        sync.Mutex
	listeners map[net.Listener]*served
	conns     map[*conn]struct{}
	accepted  []*accepted
}

// New makes a server that does nothing until Serve is called.
func New(o Options) *Server {
	o = o.withDefaults()
	s := &Server{
		opts:      o,
		log:       o.Logger,
		quotas:    newConnectionQuotas(o),
		memory:    newRequestMemory(o.MaxQueuedBytes),
		listeners: make(map[net.Listener]*served),
		conns:     make(map[*conn]struct{}),
	}
	s.rounds = newWatchRounds(s)
	s.base, s.cancel = context.WithCancel(context.Background())
	return s
}

// Shutdown stops accepting, closes idle connections, ends the contexts of
// running requests and lets these finish and their answers go out until ctx
// ends; then it closes the remaining connections. It returns when all
// goroutines have ended, with the context's error when connections were cut off.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	finished := make(chan struct{})
	go func() {
		s.tasks.Wait()
		close(finished)
	}()
	select {
	case <-finished:
		return nil
	case <-ctx.Done():
		s.closeConns()
		<-finished
		return ctx.Err()
	}
}

// Close closes listeners and connections at once and waits for their goroutines.
func (s *Server) Close() error {
	s.stop()
	s.closeConns()
	s.tasks.Wait()
	return nil
}

// stop keeps new work out and wakes up whatever waits for a client. Connections
// with a running request notice at its end.
func (s *Server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing.Store(true)
	s.cancel()
	s.rounds.timer.Stop()
	for l := range s.listeners {
		l.Close()
	}
	for c := range s.conns {
		c.closeIdle()
	}
}

func (s *Server) closeConns() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.nc.Close()
	}
}

// SetLimits puts other limits on connections in force. Those that are too many
// now are closed, idle ones first, as Kafka closes them.
func (s *Server) SetLimits(l Limits) {
	excess := s.quotas.set(l)
	if excess == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if excess == 0 {
			return
		}
		if c.req.Listener != l.ProtectedListener && c.closeIdle() {
			excess--
		}
	}
}

// addConn fails when the connection's listener or the server is closing.
func (s *Server) addConn(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() || c.from.closing.Load() {
		return false
	}
	s.conns[c] = struct{}{}
	s.acceptedLocked(c.req.Listener).n.Add(1)
	s.tasks.Add(1)
	return true
}

func (s *Server) removeConn(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.tasks.Done()
}
