package server

import (
	"time"

	"golang.org/x/sys/unix"
)

// watchAfter is how long a request runs before its client is watched. Most
// requests, and the usual waits of consumers, are over before.
const watchAfter = time.Second

// watch notices that the client has gone while its request waits, such as a
// fetch or a join, and ends the request's context. It looks at the socket
// without taking anything out of it. A client that only closes its sending side
// looks the same: its request returns early and is answered.
type watch struct {
	timer *time.Timer // runs look; created by the first request
	ended chan struct{}
}

// start arms the watch for one request.
func (w *watch) start(c *conn) {
	if c.raw == nil {
		return
	}
	if w.timer != nil {
		w.timer.Reset(watchAfter)
		return
	}
	w.ended = make(chan struct{}, 1)
	w.timer = time.AfterFunc(watchAfter, func() { w.look(c) })
}

// stop ends it before the connection is read from again.
func (w *watch) stop(c *conn) {
	if c.raw == nil || w.timer.Stop() {
		return
	}
	// look is running: make it leave its wait for the socket.
	c.nc.SetReadDeadline(time.Unix(1, 0))
	<-w.ended
	c.nc.SetReadDeadline(time.Time{})
	c.reads.set = time.Time{}
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
