package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// handlerFunc is a Handler of one function.
type handlerFunc func(ctx context.Context, req *protocol.Request) (protocol.Response, error)

func (f handlerFunc) Handle(ctx context.Context, req *protocol.Request) (protocol.Response, error) {
	return f(ctx, req)
}

// fixture is a server on a port of its own, closed when the test ends.
type fixture struct {
	*Server
	addr string
	log  *logBuffer
	done chan error // what Serve returned
}

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func start(t testing.TB, o Options) *fixture {
	t.Helper()
	log := &logBuffer{}
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	o.Versions = versions(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{Server: New(o), addr: l.Addr().String(), log: log, done: make(chan error, 1)}
	go func() { f.done <- f.Serve(Listener{Name: "PLAINTEXT", Listener: l}) }()
	t.Cleanup(func() {
		f.Close()
		if err := <-f.done; err != ErrClosed {
			t.Errorf("Serve returned %v", err)
		}
	})
	return f
}

func versions(t testing.TB) *protocol.Versions {
	t.Helper()
	v, err := protocol.NewVersions(0, 1, 3, 18)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// client is one connection; every call has a deadline, so that a fault is a
// failed test and not a hanging one.
type client struct {
	net.Conn
	t testing.TB
}

func (f *fixture) dial(t testing.TB) *client {
	t.Helper()
	nc, err := net.Dial("tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(20 * time.Second))
	return &client{Conn: nc, t: t}
}

func (c *client) send(req kmsg.Request, correlationID int32) {
	c.t.Helper()
	if _, err := c.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, correlationID)); err != nil {
		c.t.Fatal(err)
	}
}

// receive returns the correlation id and what follows it.
func (c *client) receive() (int32, []byte) {
	c.t.Helper()
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		c.t.Fatal(err)
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(c, frame); err != nil {
		c.t.Fatal(err)
	}
	return int32(binary.BigEndian.Uint32(frame)), frame[4:]
}

// closed fails unless the server has closed without sending anything.
func (c *client) closed() {
	c.t.Helper()
	if b := c.ended(); len(b) > 0 {
		c.t.Fatalf("read %x; want the end of the connection", b)
	}
}

// ended fails unless the server has closed, and returns what it sent before.
func (c *client) ended() []byte {
	c.t.Helper()
	b, err := io.ReadAll(c)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Fatalf("read %x, %v; want the end of the connection", b, err)
	}
	return b
}

// works checks that a connection is served.
func (c *client) works() {
	c.t.Helper()
	c.send(&kmsg.ApiVersionsRequest{}, 99)
	if id, _ := c.receive(); id != 99 {
		c.t.Fatalf("correlation id %d", id)
	}
}

// listing answers ApiVersions and gives all else to other.
func listing(other handlerFunc) handlerFunc {
	return func(ctx context.Context, req *protocol.Request) (protocol.Response, error) {
		if req.Key == 18 {
			return protocol.Response{Body: kmsg.NewPtrApiVersionsResponse()}, nil
		}
		return other(ctx, req)
	}
}

func TestPipelinedRequestsKeepOrder(t *testing.T) {
	f := start(t, Options{Handler: listing(func(_ context.Context, req *protocol.Request) (protocol.Response, error) {
		if req.Key == 0 {
			return protocol.Response{None: true}, nil
		}
		return protocol.Response{Body: kmsg.NewPtrMetadataResponse()}, nil
	})})
	c := f.dial(t)
	for i := range int32(100) {
		switch i % 3 {
		case 0:
			c.send(&kmsg.MetadataRequest{Version: 12}, i)
		case 1:
			c.send(&kmsg.ApiVersionsRequest{Version: 3, ClientSoftwareName: strings.Repeat("x", int(i)*300)}, i)
		case 2:
			c.send(&kmsg.ProduceRequest{Version: 9}, i) // takes no place among the answers
		}
	}
	for i := range int32(100) {
		if i%3 == 2 {
			continue
		}
		if id, _ := c.receive(); id != i {
			t.Fatalf("answer %d has correlation id %d", i, id)
		}
	}
}

func TestRequestCarriesItsSender(t *testing.T) {
	got := make(chan protocol.Request, 1)
	f := start(t, Options{Handler: handlerFunc(func(_ context.Context, req *protocol.Request) (protocol.Response, error) {
		got <- *req
		return protocol.Response{Body: kmsg.NewPtrMetadataResponse()}, nil
	})})
	c := f.dial(t)
	c.send(&kmsg.MetadataRequest{Version: 1}, 5)
	c.receive()
	req := <-got
	if req.Listener != "PLAINTEXT" || req.RemoteAddr != c.LocalAddr().String() || req.LocalAddr != f.addr || req.CorrelationID != 5 {
		t.Errorf("%+v", req)
	}
}

func TestUnknownApiVersionsIsAnswered(t *testing.T) {
	f := start(t, Options{Handler: listing(nil)})
	c := f.dial(t)
	c.Write([]byte("\x00\x00\x00\x0f\x00\x12\x00\x7f\x00\x00\x00\x07\x00\x01x\x00\xde\xad\xbe"))
	id, body := c.receive()
	if want := []byte("\x00\x23\x00\x00\x00\x01\x00\x12\x00\x00\x00\x05"); id != 7 || !bytes.Equal(body, want) {
		t.Errorf("id %d, body %x", id, body)
	}
	c.works()
}

// TestFaultsCloseTheirConnectionOnly covers all that ends a connection without
// an answer, and what the log says about it.
func TestFaultsCloseTheirConnectionOnly(t *testing.T) {
	f := start(t, Options{Handler: listing(func(_ context.Context, req *protocol.Request) (protocol.Response, error) {
		switch req.Version {
		case 0:
			return protocol.Response{}, errors.New("no such thing")
		case 1:
			panic("a bug in the handler")
		case 2:
			return protocol.Response{}, nil
		default:
			return protocol.Response{Body: (*kmsg.MetadataResponse)(nil)}, nil
		}
	})})
	bystander := f.dial(t)
	metadata := func(version int16) string {
		return string(kmsg.NewRequestFormatter().AppendRequest(nil, &kmsg.MetadataRequest{Version: version}, 1))
	}
	tests := []struct{ name, send, log string }{
		{"zero size", "\x00\x00\x00\x00", "size 0 is not within"},
		{"too large", "\x06\x40\x00\x01", "socket.request.max.bytes"},
		{"http", "GET / HTTP/1.1\r\n\r\n", "HTTP request"},
		{"tls", "\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03", "TLS handshake"},
		{"short header", "\x00\x00\x00\x04\x00\x03\x00\x01", "header is cut short"},
		{"unknown key", "\x00\x00\x00\x0b\x03\xe7\x00\x00\x00\x00\x00\x07\x00\x01x", "key 999"},
		{"short body", "\x00\x00\x00\x0d\x00\x03\x00\x01\x00\x00\x00\x07\x00\x01x\x00\x00", "Metadata v1"},
		{"handler error", metadata(0), "Metadata v0: no such thing"},
		{"panic", metadata(1), "a bug in the handler"},
		{"no answer", metadata(2), "gave no answer"},
		{"panic while encoding", metadata(3), "Metadata v3: panic"},
	}
	for _, test := range tests {
		c := f.dial(t)
		io.WriteString(c, test.send)
		c.closed()
		// The line is written before the socket is closed.
		if got := f.log.String(); !strings.Contains(got, test.log) || !strings.Contains(got, c.LocalAddr().String()) {
			t.Errorf("%s: the log lacks %q or the address: %s", test.name, test.log, got)
		}
		bystander.works()
	}
}

func TestLeavingIsNotLogged(t *testing.T) {
	f := start(t, Options{Handler: listing(nil)})
	c := f.dial(t)
	c.works()
	c.Close()
	half := f.dial(t)
	io.WriteString(half, "\x00\x00\x01")
	half.Close()
	f.Close()
	if got := f.log.String(); got != "" {
		t.Errorf("log: %s", got)
	}
}

// TestClientGoneEndsWait: a request that waits learns that nobody waits for it.
func TestClientGoneEndsWait(t *testing.T) {
	waiting, ended := make(chan struct{}), make(chan struct{})
	f := start(t, Options{watchEvery: 100 * time.Millisecond, Handler: listing(func(ctx context.Context, _ *protocol.Request) (protocol.Response, error) {
		close(waiting)
		<-ctx.Done()
		close(ended)
		return protocol.Response{}, ctx.Err()
	})})
	c := f.dial(t)
	c.send(&kmsg.FetchRequest{Version: 12}, 1)
	<-waiting
	c.Close()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the handler still waits")
	}
}

// watches reports whether the client of a running request is watched.
func (f *fixture) watches(req *protocol.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		if &c.req == req {
			c.watch.mu.Lock()
			defer c.watch.mu.Unlock()
			return c.watch.looking
		}
	}
	return false
}

// TestConnectionGoesOnAfterLongWait: being watched does not disturb what the
// client sends meanwhile.
func TestConnectionGoesOnAfterLongWait(t *testing.T) {
	var f *fixture
	f = start(t, Options{IdleTimeout: time.Minute, watchEvery: 100 * time.Millisecond, Handler: listing(func(ctx context.Context, req *protocol.Request) (protocol.Response, error) {
		look, patience := time.NewTicker(10*time.Millisecond), time.Now().Add(time.Minute)
		defer look.Stop()
		for ; !f.watches(req); <-look.C {
			if ctx.Err() != nil || time.Now().After(patience) {
				t.Errorf("not watched; the context: %v", ctx.Err())
				break
			}
		}
		return protocol.Response{Body: kmsg.NewPtrMetadataResponse()}, nil
	})})
	quiet, busy := f.dial(t), f.dial(t)
	quiet.send(&kmsg.MetadataRequest{}, 1)
	busy.send(&kmsg.MetadataRequest{}, 1)
	busy.send(&kmsg.MetadataRequest{}, 2)
	for _, c := range []*client{quiet, busy} {
		if id, _ := c.receive(); id != 1 {
			t.Errorf("correlation id %d", id)
		}
	}
	busy.receive()
	quiet.works()
	busy.works()
}
