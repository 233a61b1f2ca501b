package server

import (
	"context"
	"errors"
	"net"

	"minibroker/protocol"
)

// ErrClosed is returned by Serve after Shutdown or Close.
var ErrClosed = errors.New("server closed")

// Handler answers requests. Each connection calls it from its own goroutine,
// one request after another. The context ends at shutdown and when the client
// goes away. An error closes the connection without an answer.
type Handler interface {
	Handle(ctx context.Context, req *protocol.Request) (protocol.Response, error)
}

// Listener is a named net.Listener; the name appears in each request.
type Listener struct {
	Name string
	net.Listener
}

// Server serves connections of any number of listeners.
type Server struct {
	opts Options
}

// New makes a server that does nothing until Serve is called.
func New(o Options) *Server {
	return &Server{opts: o}
}

// Serve accepts connections until Shutdown or Close, then returns ErrClosed.
// Any other error is that of the listener.
func (s *Server) Serve(l Listener) error {
	return ErrClosed
}

// Shutdown stops accepting, closes idle connections, lets running requests
// finish and their answers go out until ctx ends, then closes the rest. It
// returns the context's error when requests were cut off.
func (s *Server) Shutdown(ctx context.Context) error { return nil }

// Close closes listeners and connections at once and waits for their goroutines.
func (s *Server) Close() error { return nil }
