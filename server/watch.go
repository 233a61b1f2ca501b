package server

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// watchEvery is how long a request runs at least before its client is watched; at most it is twice that. Most
// requests, and the usual waits of consumers (5 s at most), are over before.
const watchEvery = 5 * time.Second

// watchRounds looks which requests of all connections run for long. A timer for each of them would wake up a
// machine at rest as often as its waiting consumers do; one is set while there are requests, and none without.
type watchRounds struct {
	server *Server
	timer  *time.Timer
	set    atomic.Bool // the timer will run out
}

func newWatchRounds(s *Server) *watchRounds {
	r := &watchRounds{server: s}
	r.timer = time.AfterFunc(math.MaxInt64, r.run)
	r.timer.Stop()
	return r
}

// ensure sets the timer if it is not set.
func (r *watchRounds) ensure() {
	if r.set.Load() || r.server.closing.Load() {
		return
	}
	if r.set.CompareAndSwap(false, true) {
		r.timer.Reset(r.server.opts.watchEvery)
	}
}

// run is run by the timer. A request that begins meanwhile is seen here, or sees that the timer is not set.
func (r *watchRounds) run() {
	r.set.Store(false)
	requests := false
	r.server.mu.Lock()
	for c := range r.server.conns {
		requests = c.watch.round(c) || requests
	}
	r.server.mu.Unlock()
	if requests {
		r.ensure()
	}
}

// watch notices that the client has gone while its request waits, such as a
// fetch or a join, and ends the request's context. It looks at the socket
// without taking anything out of it. A client that only closes its sending side
// looks the same: its request returns early and is answered.
type watch struct {
	mu      sync.Mutex
	request uint64 // number of the last request
	seen    uint64 // request at the last round
	active  bool   // the last request is being handled
	looking bool   // at the socket, on behalf of it
	ended   chan struct{}
}

// start watches over one request.
func (w *watch) start(c *conn) {
	if c.raw == nil {
		return
	}
	w.mu.Lock()
	w.request++
	w.active = true
	w.mu.Unlock()
	c.server.rounds.ensure()
}

// stop ends it before the connection is read from again.
func (w *watch) stop(c *conn) {
	if c.raw == nil {
		return
	}
	w.mu.Lock()
	looking := w.looking
	w.active, w.looking = false, false
	w.mu.Unlock()
	if !looking {
		return
	}
	// Make look leave its wait for the socket.
	c.nc.SetReadDeadline(time.Unix(1, 0))
	<-w.ended
	c.nc.SetReadDeadline(time.Time{})
	c.reads.set = time.Time{}
}

// round begins to look at the socket if the request is that of the last round, and reports whether there was a request since then.
func (w *watch) round(c *conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.active && w.request == w.seen && !w.looking {
		w.looking, w.ended = true, make(chan struct{}, 1)
		go w.look(c, w.ended)
	}
	requests := w.active || w.request != w.seen
	w.seen = w.request
	return requests
}

func (w *watch) look(c *conn, ended chan<- struct{}) {
	gone := false
	var one [1]byte
	// The error says that stop was called or that the connection is closed.
	_ = c.raw.Read(func(fd uintptr) bool {
		n, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		if err == unix.EAGAIN || err == unix.EINTR {
			return false
		}
		gone = n <= 0
		return true
	})
	if gone {
		c.cancel()
	}
	ended <- struct{}{}
}
