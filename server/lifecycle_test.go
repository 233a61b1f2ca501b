package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
	"minibroker/quota"
)

func TestShutdownLetsRequestsFinish(t *testing.T) {
	running := make(chan struct{})
	f := start(t, Options{Handler: listing(func(ctx context.Context, _ *protocol.Request) (protocol.Response, error) {
		close(running)
		<-ctx.Done() // a long poll: ends at shutdown and is answered
		return protocol.Response{Body: kmsg.NewPtrMetadataResponse()}, nil
	})})
	idle, half, busy := f.dial(t), f.dial(t), f.dial(t)
	idle.works()
	half.works()
	io.WriteString(half, "\x00\x00\x00\x20\x00")
	busy.send(&kmsg.MetadataRequest{}, 3)
	<-running
	if err := f.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id, _ := busy.receive(); id != 3 {
		t.Errorf("correlation id %d", id)
	}
	for _, c := range []*client{idle, half, busy} {
		c.closed()
	}
	if _, err := net.Dial("tcp", f.addr); err == nil {
		t.Error("still listening")
	}
	if err := f.Shutdown(t.Context()); err != nil {
		t.Errorf("second Shutdown: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("Close after Shutdown: %v", err)
	}
}

// TestShutdownGivesUpAtItsDeadline: an answer that a client does not take.
func TestShutdownGivesUpAtItsDeadline(t *testing.T) {
	body := make([]byte, 64<<20)
	f := start(t, Options{Handler: listing(func(context.Context, *protocol.Request) (protocol.Response, error) {
		return protocol.Response{Parts: []protocol.Part{{Bytes: body}}}, nil
	})})
	c := f.dial(t)
	c.send(&kmsg.MetadataRequest{}, 1)
	if _, err := io.ReadFull(c, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := f.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestServeAfterClose(t *testing.T) {
	s := New(Options{})
	s.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(Listener{Name: "X", Listener: l}); err != ErrClosed {
		t.Errorf("Serve: %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is still open: %v", err)
	}
}

func TestManyConnectionsComeAndGo(t *testing.T) {
	f := start(t, Options{Handler: listing(nil), Limits: Limits{MaxConnectionsPerIP: 1000}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				c := f.dial(t)
				c.works()
				c.Close()
			}
		})
	}
	wg.Wait()
	f.Close()
	if len(f.conns) != 0 || len(f.quotas.openOf) != 0 {
		t.Errorf("%d connections and %d addresses are still counted", len(f.conns), len(f.quotas.openOf))
	}
}

func TestConnectionsPerIP(t *testing.T) {
	f := start(t, Options{Handler: listing(nil), Limits: Limits{MaxConnectionsPerIP: 5, PerIPOverrides: map[string]int{"127.0.0.1": 2}}})
	one, two := f.dial(t), f.dial(t)
	one.works()
	two.works()
	three := f.dial(t)
	three.closed()
	if !strings.Contains(f.log.String(), "max.connections.per.ip") {
		t.Errorf("log: %s", f.log)
	}
	one.works()
}

func TestKafkasLargestLimitIsNone(t *testing.T) {
	f := start(t, Options{Handler: listing(nil), Limits: Limits{MaxConnections: math.MaxInt32, MaxConnectionsPerIP: math.MaxInt32}})
	f.dial(t).works()
	if excess := f.quotas.set(Limits{MaxConnections: math.MaxInt32, CreationRate: math.MaxInt32}); excess != 0 {
		t.Errorf("%d connections are too many for no limit", excess)
	}
}

func TestMaxConnectionsWaits(t *testing.T) {
	f := start(t, Options{Handler: listing(nil), Limits: Limits{MaxConnections: 1}})
	one := f.dial(t)
	one.works()
	two := f.dial(t)
	two.send(&kmsg.ApiVersionsRequest{}, 1)
	one.works() // the second is not served, nor does it disturb
	one.Close()
	if id, _ := two.receive(); id != 1 {
		t.Errorf("correlation id %d", id)
	}
}

func TestCloseWhileWaitingForSlot(t *testing.T) {
	f := start(t, Options{Handler: listing(nil), Limits: Limits{MaxConnections: 1}})
	one := f.dial(t)
	one.works()
	two := f.dial(t)
	f.Close()
	two.closed()
}

// TestWriteToSilentClientEnds: the idle timeout bounds how long a client may
// leave an answer untouched, and with it a segment pinned.
func TestWriteToSilentClientEnds(t *testing.T) {
	body := make([]byte, 64<<20)
	done := make(chan struct{})
	f := start(t, Options{IdleTimeout: 100 * time.Millisecond, Handler: listing(func(context.Context, *protocol.Request) (protocol.Response, error) {
		return protocol.Response{Parts: []protocol.Part{{Bytes: body}}, Done: func() { close(done) }}, nil
	})})
	c := f.dial(t)
	c.send(&kmsg.MetadataRequest{}, 1)
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("the answer is still on its way")
	}
}

// pipeListener hands out connections and errors as a test says.
type pipeListener struct {
	next   chan any // net.Conn or error
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{next: make(chan any), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case next := <-l.next:
		if err, ok := next.(error); ok {
			return nil, err
		}
		return next.(net.Conn), nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func TestIdleConnectionsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Handler: listing(nil), Versions: versions(t), IdleTimeout: 10 * time.Minute})
		l := newPipeListener()
		go s.Serve(Listener{Name: "PIPE", Listener: l})
		near, far := net.Pipe()
		l.next <- far
		c := &client{Conn: near, t: t}
		for range 10 {
			c.works()
			<-time.After(9 * time.Minute) // the clock of the bubble
		}
		began := time.Now()
		c.works()
		c.closed()
		if idle := time.Since(began); idle < 10*time.Minute || idle > 12*time.Minute {
			t.Errorf("closed after %v", idle)
		}
		s.Close()
	})
}

func TestAcceptErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &logBuffer{}
		s := New(Options{Handler: listing(nil), Versions: versions(t), Logger: slog.New(slog.NewTextHandler(log, nil))})
		l := newPipeListener()
		result := make(chan error, 1)
		go func() { result <- s.Serve(Listener{Name: "PIPE", Listener: l}) }()
		began := time.Now()
		for range 10 { // 5 ms, 10 ms ... 1 s
			l.next <- &net.OpError{Op: "accept", Err: syscall.EMFILE}
		}
		near, far := net.Pipe()
		l.next <- far
		(&client{Conn: near, t: t}).works()
		if waited := time.Since(began); waited < 2*time.Second || waited > 4*time.Second {
			t.Errorf("waited %v", waited)
		}
		if !strings.Contains(log.String(), "limit of open files") {
			t.Errorf("log: %s", log)
		}
		l.next <- errors.New("the network is gone")
		if err := <-result; err == nil || !strings.Contains(err.Error(), "accept on listener PIPE: the network is gone") {
			t.Errorf("Serve: %v", err)
		}
		s.Close()
	})
}

// TestLimitsChangeWhileRunning: a higher limit lets in who waits, a lower one closes those that are too many.
func TestLimitsChangeWhileRunning(t *testing.T) {
	f := start(t, Options{Handler: listing(nil), Limits: Limits{MaxConnections: 1}})
	one := f.dial(t)
	one.works()
	two := f.dial(t)
	two.send(&kmsg.ApiVersionsRequest{}, 1)
	f.SetLimits(Limits{MaxConnections: 2})
	if id, _ := two.receive(); id != 1 {
		t.Errorf("correlation id %d", id)
	}
	gone := make(chan struct{}, 2)
	for _, c := range []*client{one, two} {
		go func() {
			io.ReadAll(c)
			gone <- struct{}{}
		}()
	}
	f.SetLimits(Limits{MaxConnections: 1})
	<-gone
	f.Close()
	<-gone
}

// TestConnectionRate: above the rate of an address connections are not served, and closed a while later.
func TestConnectionRate(t *testing.T) {
	f := start(t, Options{
		Handler: listing(nil), RateWindow: quota.Window{Samples: 2, Size: 10 * time.Second}, Limits: Limits{IPCreationRate: 1},
	})
	for range 10 {
		f.dial(t).works()
	}
	last := f.dial(t)
	last.send(&kmsg.ApiVersionsRequest{}, 1)
	f.Close() // does not wait for the time to close it
	last.closed()
}

// TestThrottledClientIsHeardLater: the answer comes at once, the next request is not read before its time.
func TestThrottledClientIsHeardLater(t *testing.T) {
	const pause = 200 * time.Millisecond
	f := start(t, Options{Handler: handlerFunc(func(context.Context, *protocol.Request) (protocol.Response, error) {
		return protocol.Response{Body: kmsg.NewPtrApiVersionsResponse(), Throttle: pause}, nil
	})})
	c := f.dial(t)
	began := time.Now()
	c.works()
	c.works()
	if waited := time.Since(began); waited < pause {
		t.Errorf("the second answer came after %v", waited)
	}
	f.Close() // does not wait for the second pause to end
}

// TestConnectionsLeaveDescriptors: beyond what there are descriptors for connections wait, whatever the limits say, and the log says why, once.
func TestConnectionsLeaveDescriptors(t *testing.T) {
	f := start(t, Options{Handler: listing(nil), MostConnections: 1, Limits: Limits{ProtectedListener: "PLAINTEXT", MaxConnections: 5}})
	one := f.dial(t)
	one.works()
	two, three := f.dial(t), f.dial(t)
	two.send(&kmsg.ApiVersionsRequest{}, 2)
	three.send(&kmsg.ApiVersionsRequest{}, 3)
	one.works()
	one.Close()
	if id, _ := two.receive(); id != 2 {
		t.Errorf("correlation id %d", id)
	}
	two.Close()
	if id, _ := three.receive(); id != 3 {
		t.Errorf("correlation id %d", id)
	}
	f.Close()
	if log := f.log.String(); strings.Count(log, "new connections wait") != 1 || !strings.Contains(log, "ulimit -n") {
		t.Errorf("log: %s", log)
	}
}
