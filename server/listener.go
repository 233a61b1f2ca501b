package server

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// Listener is a named net.Listener; the name appears in each request.
type Listener struct {
	Name string
	net.Listener
}

// served is a listener that connections come from.
type served struct {
	Listener
	// base is the parent of the contexts of its requests; cancel ends their waits.
	base    context.Context
	cancel  context.CancelFunc
	closing atomic.Bool // written under Server.mu
	told    time.Time   // when connections last waited for descriptors; of the accept loop
}

// Release takes one listener out of service while the others go on: it accepts
// no more, its idle connections are closed at once, and the waits of its running
// requests end, whose answers still go out before their connections are closed.
// It does not wait for these, so that a request may release the listener by
// which it came. A listener that is not served is closed.
func (s *Server) Release(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer l.Close() // when its connections are known to end
	from := s.listeners[l]
	if from == nil {
		return
	}
	from.closing.Store(true)
	from.cancel()
	for c := range s.conns {
		if c.from == from {
			c.closeIdle()
		}
	}
}

// addListener fails when the server is closing.
func (s *Server) addListener(l Listener) (*served, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Load() {
		return nil, false
	}
	from := &served{Listener: l}
	from.base, from.cancel = context.WithCancel(s.base)
	s.listeners[l.Listener] = from
	s.acceptedLocked(l.Name)
	s.tasks.Add(1)
	return from, true
}

// removeListener forgets a listener at the end of its accept loop. One that was
// released is counted no longer, unless another has its name by now.
func (s *Server) removeListener(l *served) {
	s.mu.Lock()
	delete(s.listeners, l.Listener.Listener)
	if l.closing.Load() && !s.servesLocked(l.Name) {
		s.forgetLocked(l.Name)
		s.quotas.forget(l.Name)
	}
	s.mu.Unlock()
	s.tasks.Done()
}

// servesLocked reports whether there is a listener of that name.
func (s *Server) servesLocked(name string) bool {
	for _, l := range s.listeners {
		if l.Name == name {
			return true
		}
	}
	return false
}
