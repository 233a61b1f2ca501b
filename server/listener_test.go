package server

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
	"minibroker/quota"
	"time"
)

// second serves another listener, and returns how clients reach it, its socket and what Serve returns.
func (f *fixture) second(t *testing.T, name string) (*fixture, net.Listener) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	other := &fixture{Server: f.Server, addr: l.Addr().String(), log: f.log, done: make(chan error, 1)}
	go func() { other.done <- f.Serve(Listener{Name: name, Listener: l}) }()
	return other, l
}

// TestRelease: the connections of a released listener are closed, those with a running request after its answer; the
// other listener and its clients do not notice.
func TestRelease(t *testing.T) {
	running := make(chan struct{})
	f := start(t, Options{Handler: listing(func(ctx context.Context, _ *protocol.Request) (protocol.Response, error) {
		close(running)
		<-ctx.Done() // a long poll: ends with the listener and is answered
		return protocol.Response{Body: kmsg.NewPtrMetadataResponse()}, nil
	})})
	other, socket := f.second(t, "OTHER")
	stays := f.dial(t)
	stays.works()
	idle, half, busy := other.dial(t), other.dial(t), other.dial(t)
	idle.works()
	half.works()
	io.WriteString(half, "\x00\x00\x00\x20\x00")
	busy.send(&kmsg.MetadataRequest{}, 3)
	<-running
	f.Release(socket)
	if id, _ := busy.receive(); id != 3 {
		t.Errorf("correlation id %d", id)
	}
	for _, c := range []*client{idle, half, busy} {
		c.closed()
	}
	if err := <-other.done; err != ErrClosed {
		t.Errorf("Serve returned %v", err)
	}
	if _, err := net.Dial("tcp", other.addr); err == nil {
		t.Error("still listening")
	}
	stays.works()
	f.dial(t).works()
	for _, c := range f.Connections() {
		if c.Listener == "OTHER" {
			t.Errorf("a released listener is still counted: %+v", c)
		}
	}
	f.Release(socket) // once more is nothing
	if len(f.quotas.rates) != 1 {
		t.Errorf("rates of %d listeners are kept", len(f.quotas.rates))
	}
}

// TestReleaseByItself: a request that releases the listener by which it came is answered.
func TestReleaseByItself(t *testing.T) {
	var f, other *fixture
	var socket net.Listener
	ready := make(chan struct{})
	f = start(t, Options{Handler: listing(func(context.Context, *protocol.Request) (protocol.Response, error) {
		<-ready
		f.Release(socket)
		return protocol.Response{Body: kmsg.NewPtrMetadataResponse()}, nil
	})})
	other, socket = f.second(t, "OTHER")
	close(ready)
	c := other.dial(t)
	c.send(&kmsg.MetadataRequest{}, 5)
	if id, _ := c.receive(); id != 5 {
		t.Errorf("correlation id %d", id)
	}
	c.closed()
	if err := <-other.done; err != ErrClosed {
		t.Errorf("Serve returned %v", err)
	}
}

// TestReleaseEndsWaiting: connections that wait for a slot, or to be closed late, do not outlive their listener.
func TestReleaseEndsWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		limits Limits
		served int // connections that are not held up
	}{
		"slot": {Limits{Listeners: map[string]ListenerLimits{"OTHER": {MaxConnections: 1}}}, 1},
		"rate": {Limits{IPCreationRate: 1}, 10},
	} {
		f := start(t, Options{Handler: listing(nil), RateWindow: quota.Window{Samples: 2, Size: 10 * time.Second}, Limits: c.limits})
		other, socket := f.second(t, "OTHER")
		var first *client
		for range c.served {
			first = other.dial(t)
			first.works()
		}
		waits := other.dial(t)
		waits.send(&kmsg.ApiVersionsRequest{}, 1)
		f.Release(socket)
		first.closed()
		waits.closed()
		if err := <-other.done; err != ErrClosed {
			t.Errorf("%s: Serve returned %v", name, err)
		}
		if err := f.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
