package server

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// watchAfter is how long a request runs at least before its client is watched; at most it is twice that. Most
// requests, and the usual waits of consumers, are over before.
const watchAfter = time.Second

// watch notices that the client has gone while its request waits, such as a
// fetch or a join, and ends the request's context. It looks at the socket
// without taking anything out of it. A client that only closes its sending side
// looks the same: its request returns early and is answered.
//
// Setting a timer and stopping it again would cost each request more than the
// rest of this: a timer that is set stays so, finds other requests when it runs
// out, and is set again until it finds none.
type watch struct {
	mu      sync.Mutex
	timer   *time.Timer // runs tick; created by the first request
	set     bool        // the timer will run out
	request uint64      // number of the last request
	since   uint64      // request when the timer was set
	active  bool        // the last request is being handled
	looking bool        // at the socket, on behalf of it
	ended   chan struct{}
}

// start watches over one request.
func (w *watch) start(c *conn) {
	if c.raw == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.request++
	w.active = true
	switch {
	case w.set:
		return
	case w.timer == nil:
		w.ended = make(chan struct{}, 1)
		w.timer = time.AfterFunc(watchAfter, func() { w.tick(c) })
	default:
		w.timer.Reset(watchAfter)
	}
	w.set, w.since = true, w.request
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

// close stops the timer of a connection that has ended.
func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
}

// tick is run by the timer.
func (w *watch) tick(c *conn) {
	w.mu.Lock()
	w.looking = w.active && w.request == w.since
	w.set = w.active && !w.looking
	if w.set {
		w.since = w.request
		w.timer.Reset(watchAfter)
	}
	looking := w.looking
	w.mu.Unlock()
	if looking {
		w.look(c)
	}
}

func (w *watch) look(c *conn) {
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
	w.ended <- struct{}{}
}
