package server

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"
)

// requestMemory bounds the requests that are received and handled at the same time (queued.max.request.bytes). It does what
// Apache Kafka 4.4.0 was seen to do: a request takes its length when that is known, before more of it is read, and takes
// it whole as soon as anything is free, so that the bound is exceeded by less than one request. Nobody is refused: a client for
// whose request nothing is free is not read from until there is. They are served in the order in which they came.
type requestMemory struct {
	bound int64

	mu      sync.Mutex
	free    int64      // below 0 when the last request was longer than what was left
	waiting *list.List // of *memoryWait; empty while free is above 0
}

// memoryWait is a request for which nothing is free.
type memoryWait struct {
	bytes   int64
	granted chan struct{} // closed under requestMemory.mu
}

// newRequestMemory is nil without a bound: nothing is counted then.
func newRequestMemory(bound int64) *requestMemory {
	if bound <= 0 {
		return nil
	}
	return &requestMemory{bound: bound, free: bound, waiting: list.New()}
}

// take waits for room until ctx ends, or for a time when that is above 0.
func (m *requestMemory) take(ctx context.Context, bytes int64, atMost time.Duration) error {
	m.mu.Lock()
	if m.free > 0 {
		m.free -= bytes
		m.mu.Unlock()
		return nil
	}
	w := &memoryWait{bytes: bytes, granted: make(chan struct{})}
	place := m.waiting.PushBack(w)
	m.mu.Unlock()
	var over <-chan time.Time
	if atMost > 0 {
		timer := time.NewTimer(atMost)
		defer timer.Stop()
		over = timer.C
	}
	err := error(nil)
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-over:
		err = fmt.Errorf("a request of %d bytes waited %v for others to leave memory to it: together they may have %d (queued.max.request.bytes)",
			bytes, atMost, m.bound)
	}
	return m.leave(w, place, err)
}

// leave ends a wait with an error, unless its turn came at the same moment.
func (m *requestMemory) leave(w *memoryWait, place *list.Element, err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-w.granted:
		return nil
	default:
		m.waiting.Remove(place)
		return err
	}
}

// give returns what a request took.
func (m *requestMemory) give(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free += bytes
	for m.free > 0 && m.waiting.Len() > 0 {
		w := m.waiting.Remove(m.waiting.Front()).(*memoryWait)
		m.free -= w.bytes
		close(w.granted)
	}
}

// reserve takes the memory of a request that begins to arrive. A client that lets the rest of it wait keeps it as long as a
// connection may be idle; those who wait for it are a little more patient.
func (c *conn) reserve(bytes int) error {
	idle := c.server.opts.IdleTimeout
	if err := c.server.memory.take(c.ctx, int64(bytes), idle+idle/4); err != nil {
		return err
	}
	c.reserved = int64(bytes)
	return nil
}

// unreserve returns it: when the answer is out and nothing holds the request any more, or when the connection ends.
func (c *conn) unreserve() {
	if c.reserved > 0 {
		c.server.memory.give(c.reserved)
		c.reserved = 0
	}
}
