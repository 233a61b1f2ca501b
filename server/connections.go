package server

import (
	"slices"
	"sync/atomic"
)

// Connections counts the connections of one listener.
type Connections struct {
	Listener string
	Open     int
	Accepted int64 // ever, without those that limits refused
}

// accepted counts the connections of a listener.
type accepted struct {
	listener string
	n        atomic.Int64
}

// Connections lists the listeners that are served, with their connections.
func (s *Server) Connections() []Connections {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Connections, len(s.accepted))
	for i, a := range s.accepted {
		all[i] = Connections{Listener: a.listener, Accepted: a.n.Load()}
		for c := range s.conns {
			if c.req.Listener == a.listener {
				all[i].Open++
			}
		}
	}
	return all
}

// acceptedLocked is the counter of a listener, made at first use.
func (s *Server) acceptedLocked(listener string) *accepted {
	for _, a := range s.accepted {
		if a.listener == listener {
			return a
		}
	}
	a := &accepted{listener: listener}
	s.accepted = append(s.accepted, a)
	return a
}

// forgetLocked drops the counter of a listener that was released.
func (s *Server) forgetLocked(listener string) {
	s.accepted = slices.DeleteFunc(s.accepted, func(a *accepted) bool { return a.listener == listener })
}
