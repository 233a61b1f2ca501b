package server

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// produceFrame is a request with so many bytes of records.
func produceFrame(records int) []byte {
	return kmsg.NewRequestFormatter().AppendRequest(nil, &kmsg.ProduceRequest{Version: 11, Topics: []kmsg.ProduceRequestTopic{
		{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: make([]byte, records)}}}}}, 1)
}

// gate is a handler that answers Produce when the test opens it, and counts who is inside.
type gate struct {
	open chan struct{}

	mu     sync.Mutex
	inside int
	bytes  int
	most   int // bytes
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) Handle(_ context.Context, req *protocol.Request) (protocol.Response, error) {
	bytes := len(req.Body.(*kmsg.ProduceRequest).Topics[0].Partitions[0].Records)
	g.enter(1, bytes)
	defer g.enter(-1, -bytes)
	<-g.open
	return protocol.Response{Body: kmsg.NewPtrProduceResponse()}, nil
}

func (g *gate) enter(n, bytes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside += n
	g.bytes += bytes
	g.most = max(g.most, g.bytes)
}

func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inside
}

// state is what is free and how many wait.
func (m *requestMemory) state() (free int64, waiting int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.free, m.waiting.Len()
}

func await(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !reached(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never came: " + what)
		}
	}
}

func (f *fixture) awaitWaiting(t *testing.T, n int) {
	t.Helper()
	await(t, "requests that wait", func() bool { _, waiting := f.memory.state(); return waiting == n })
}

// awaitFree fails unless all memory is given back.
func (f *fixture) awaitFree(t *testing.T) {
	t.Helper()
	await(t, "all memory", func() bool { free, waiting := f.memory.state(); return free == f.memory.bound && waiting == 0 })
}

// TestRequestsStayWithinTheirMemory: the bound is exceeded by less than one request, and all are answered in the end.
func TestRequestsStayWithinTheirMemory(t *testing.T) {
	const clients, bytes, bound = 20, 400_000, 1 << 20
	g := newGate()
	f := start(t, Options{MaxQueuedBytes: bound, MaxRequestBytes: bound, Handler: listing(g.Handle)})
	frame := produceFrame(bytes)
	var wg sync.WaitGroup
	defer wg.Wait()
	for range clients {
		c := f.dial(t)
		c.SetDeadline(time.Now().Add(2 * time.Minute))
		wg.Go(func() {
			if _, err := c.Write(frame); err != nil {
				t.Error(err)
				return
			}
			if _, err := io.ReadFull(c, make([]byte, 8)); err != nil {
				t.Error(err)
			}
		})
	}
	f.awaitWaiting(t, clients-3)
	await(t, "three requests", func() bool { return g.count() == 3 })
	close(g.open)
	wg.Wait()
	f.awaitFree(t)
	if g.most < bound || g.most >= bound+len(frame) {
		t.Errorf("%d bytes of requests at once, of %d that are allowed", g.most, bound)
	}
}

// holdMemory has one client take all memory and keep it until it is closed or its request, which is returned, is sent to its end.
func (f *fixture) holdMemory(t *testing.T) (holder *client, rest []byte) {
	t.Helper()
	frame, holder := produceFrame(1<<20), f.dial(t)
	holder.Write(frame[:100_000])
	await(t, "the holder", func() bool { free, _ := f.memory.state(); return free < 0 })
	return holder, frame[100_000:]
}

// waiter is a client whose request, a short one, waits for memory.
func (f *fixture) waiter(t *testing.T) *client {
	t.Helper()
	_, before := f.memory.state()
	c := f.dial(t)
	c.send(&kmsg.ApiVersionsRequest{}, 5)
	f.awaitWaiting(t, before+1)
	return c
}

func memoryOfOne(h handlerFunc) Options {
	return Options{MaxQueuedBytes: 1 << 20, MaxRequestBytes: 2 << 20, Limits: Limits{MaxConnections: 50}, Handler: listing(h)}
}

// TestDeadClientsGiveTheirMemoryBack: one that dies in the middle of its request, one that dies while it waits, and one with a request that
// cannot be read.
func TestDeadClientsGiveTheirMemoryBack(t *testing.T) {
	g := newGate()
	close(g.open)
	f := start(t, memoryOfOne(g.Handle))
	holder, _ := f.holdMemory(t)
	dead, patient := f.waiter(t), f.waiter(t)
	dead.Close()
	holder.Close()
	if id, _ := patient.receive(); id != 5 {
		t.Errorf("correlation id %d", id)
	}
	f.awaitFree(t)
	broken := f.dial(t)
	io.WriteString(broken, "\x00\x00\x00\x04\x00\x03\x00\x01")
	broken.closed()
	f.awaitFree(t)
	holder, rest := f.holdMemory(t)
	patient.send(&kmsg.ApiVersionsRequest{}, 6)
	f.awaitWaiting(t, 1)
	holder.Write(rest)
	holder.receive()
	if id, _ := patient.receive(); id != 6 {
		t.Errorf("correlation id %d", id)
	}
	f.awaitFree(t)
}

// TestEndsOfWaitsForMemory: a stop ends them, and so does what closes the connection for limits.
func TestEndsOfWaitsForMemory(t *testing.T) {
	for name, end := range map[string]func(f *fixture, waiter *client){
		"shutdown": func(f *fixture, _ *client) {
			if err := f.Shutdown(context.Background()); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		},
		"close": func(f *fixture, _ *client) { f.Close() },
		"connection": func(f *fixture, waiter *client) {
			f.closeIdleOf(waiter)
			waiter.closed() // without an answer: the holder keeps its memory
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, memoryOfOne(nil))
			holder, _ := f.holdMemory(t)
			waiter := f.waiter(t)
			end(f, waiter)
			waiter.ended() // maybe with an answer: the holder's connection, whose memory it gets, may be closed before its own
			holder.Close()
			f.awaitFree(t)
			if log := f.log.String(); log != "" {
				t.Errorf("log: %s", log)
			}
		})
	}
}

// closeIdleOf does to the connection of c what limits do that close connections.
func (f *fixture) closeIdleOf(c *client) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for other := range f.conns {
		if other.req.RemoteAddr == c.LocalAddr().String() && !other.closeIdle() {
			c.t.Error("the connection is not idle")
		}
	}
}

// TestRequestsThatWaitForOthersCountNoLonger: a producer is heard while fetches wait for what it brings.
func TestRequestsThatWaitForOthersCountNoLonger(t *testing.T) {
	produced, fetching := make(chan struct{}), make(chan struct{})
	f := start(t, Options{MaxQueuedBytes: 20, Handler: listing(func(_ context.Context, req *protocol.Request) (protocol.Response, error) {
		if req.Key == 0 {
			close(produced)
			return protocol.Response{Body: kmsg.NewPtrProduceResponse()}, nil
		}
		close(fetching)
		<-produced
		return protocol.Response{Body: kmsg.NewPtrFetchResponse()}, nil
	})})
	consumer, producer := f.dial(t), f.dial(t)
	consumer.send(&kmsg.FetchRequest{Version: 12}, 1)
	<-fetching
	producer.Write(produceFrame(1000))
	producer.receive()
	consumer.receive()
	f.awaitFree(t)
}

// pipe is a client of a server in a bubble, with which it shares no socket.
func pipe(t *testing.T, l *pipeListener) *client {
	near, far := net.Pipe()
	l.next <- far
	return &client{Conn: near, t: t}
}

// TestSlowSendersLoseTheirMemory: a request that does not come on keeps memory as long as a connection may be idle; who has waited
// meanwhile has all that time again for its request. Who waits for longer than that is closed with a word on the setting.
func TestSlowSendersLoseTheirMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		close(g.open)
		o := memoryOfOne(g.Handle)
		o.Versions, o.IdleTimeout = versions(t), 10*time.Minute
		s, l := New(o), newPipeListener()
		go s.Serve(Listener{Name: "PIPE", Listener: l})
		slow, next, frame := pipe(t, l), pipe(t, l), produceFrame(1<<20)
		slow.Write(frame[:100])
		<-time.After(time.Second)
		go next.Write(frame)
		slow.closed()
		next.receive()
		synctest.Wait()
		if free, waiting := s.memory.state(); free != 1<<20 || waiting != 0 {
			t.Errorf("%d bytes are free, %d wait", free, waiting)
		}
		s.Close()
	})
	synctest.Test(t, func(t *testing.T) {
		m := newRequestMemory(10)
		if err := m.take(t.Context(), 11, time.Minute); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err := m.take(t.Context(), 7, time.Minute)
		if err == nil || !strings.Contains(err.Error(), "queued.max.request.bytes") || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		m.give(11)
		if free, waiting := m.state(); free != 10 || waiting != 0 {
			t.Errorf("%d bytes are free, %d wait", free, waiting)
		}
	})
}

// TestMemoryIsServedInTurn: who came first is served first, and one who left is passed over.
func TestMemoryIsServedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, order := newRequestMemory(10), make(chan int, 3)
		m.take(t.Context(), 10, 0)
		gone, leave := context.WithCancel(t.Context())
		for i, ctx := range []context.Context{t.Context(), gone, t.Context(), t.Context()} {
			go func() {
				if m.take(ctx, 6, 0) == nil {
					order <- i
				}
			}()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		m.give(10) // 4 left after the first, which is enough to begin with the next
		synctest.Wait()
		if a, b := <-order, <-order; a+b != 2 || len(order) != 0 {
			t.Errorf("%d and %d were served, and %d more", a, b, len(order))
		}
		m.give(6)
		if i := <-order; i != 3 {
			t.Errorf("%d was served last", i)
		}
	})
}
