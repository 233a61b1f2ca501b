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

// headerTimeout bounds how long a client may take to say what it wants.
const headerTimeout = 10 * time.Second

// Server serves a handler on one address.
type Server struct {
	http   http.Server
	socket net.Listener
	done   sync.WaitGroup
}

// Listen binds an address and serves until Close. The logger is told what goes wrong; nil discards that.
func Listen(addr string, h http.Handler, log *slog.Logger) (*Server, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	socket, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for HTTP on %s: %w; stop what uses the port, or choose another", addr, err)
	}
	s := &Server{socket: socket, http: http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}}
	s.done.Go(func() {
		if err := s.http.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
			log.Error("HTTP on " + socket.Addr().String() + ": " + err.Error())
		}
	})
	return s, nil
}

// Addr is the bound address; with port 0 it holds the port that the system chose.
func (s *Server) Addr() net.Addr { return s.socket.Addr() }

// Close stops serving. Answers that are being sent may finish until ctx ends; then they are cut off.
func (s *Server) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	s.done.Wait()
	return err
}
