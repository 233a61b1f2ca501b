package observe

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"
)

const (
	requestTimeout = 10 * time.Second // for a request to come in whole
	writeTimeout   = 30 * time.Second // for each piece of an answer to go out
	lingerTimeout  = time.Second      // for a client to read the end of an answer before it is cut off
	// maxRequestBytes bounds a request with its header.
	maxRequestBytes = 256 << 10
)

// exchange is one request and its answer; it is the http.ResponseWriter of the answer.
type exchange struct {
	conn    net.Conn
	log     *slog.Logger
	header  http.Header
	started bool // the header of the answer is out
	head    bool // the request is HEAD: the answer has no body
}

// serve reads one request, has it answered and closes the connection.
func (e *exchange) serve(ctx context.Context, h http.Handler) {
	defer e.conn.Close()
	defer func() {
		if p := recover(); p != nil {
			e.log.Error(fmt.Sprintf("HTTP request: panic: %v; this is a bug", p), "stack", string(debug.Stack()))
		}
	}()
	if e.conn.SetReadDeadline(time.Now().Add(requestTimeout)) != nil {
		return
	}
	// Closing does not wait for a client that says nothing.
	stop := context.AfterFunc(ctx, func() { e.conn.SetReadDeadline(time.Unix(1, 0)) })
	req, err := http.ReadRequest(bufio.NewReader(io.LimitReader(e.conn, maxRequestBytes)))
	stop()
	if err != nil {
		if err != io.EOF { // a connection that was only tried is none
			http.Error(e, "this is no request: "+err.Error(), http.StatusBadRequest)
			e.linger()
		}
		return
	}
	e.head = req.Method == http.MethodHead
	if req.Header.Get("Expect") == "100-continue" {
		if _, err := io.WriteString(e.conn, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return
		}
	}
	req.RemoteAddr = e.conn.RemoteAddr().String()
	h.ServeHTTP(e, req.WithContext(ctx))
	if !e.started {
		e.WriteHeader(http.StatusOK)
	}
	e.linger()
}

// Header is the header of the answer, to be filled in before anything is written.
func (e *exchange) Header() http.Header { return e.header }

// WriteHeader sends the header. The end of the connection is the end of the answer.
func (e *exchange) WriteHeader(status int) {
	if e.started {
		return
	}
	e.started = true
	e.header.Set("Connection", "close")
	if e.header.Get("Content-Type") == "" {
		e.header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	e.header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	w := bufio.NewWriter(timedWriter{e.conn})
	fmt.Fprintf(w, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	// What fails here is the connection: the body's Write says so.
	_ = e.header.Write(w)
	_, _ = w.WriteString("\r\n")
	_ = w.Flush()
}

// Write sends a piece of the body.
func (e *exchange) Write(p []byte) (int, error) {
	if !e.started {
		e.WriteHeader(http.StatusOK)
	}
	if e.head {
		return len(p), nil
	}
	return timedWriter{e.conn}.Write(p)
}

// linger lets the client read the answer to its end. A connection that is closed while something that came in is unread is reset,
// and what is on its way is lost.
func (e *exchange) linger() {
	if tcp, ok := e.conn.(*net.TCPConn); ok && tcp.CloseWrite() == nil && tcp.SetReadDeadline(time.Now().Add(lingerTimeout)) == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(tcp, maxRequestBytes))
	}
}

// timedWriter gives up on a client that takes nothing for long.
type timedWriter struct{ conn net.Conn }

func (w timedWriter) Write(p []byte) (int, error) {
	if err := w.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return w.conn.Write(p)
}
