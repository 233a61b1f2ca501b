package logstore

import (
	"slices"
	"sync"
	"sync/atomic"
)

// openFiles bounds the segment files that stay open while nothing reads or
// writes them. A file is counted from the moment it is opened; beyond the
// limit a clock hand passes over the open segments, spares once those used
// since its last visit, and closes the first idle one. Using an open segment
// touches no shared state, so that busy partitions do not meet here.
type openFiles struct {
	limit int

	mu   sync.Mutex
	ring []*segment
	hand int
	open atomic.Int32 // length of ring
}

func newOpenFiles(limit int) *openFiles {
	if limit <= 0 {
		limit = 1024
	}
	return &openFiles{limit: limit}
}

// opened counts a segment whose file was just opened and closes an idle one
// when there are too many. The caller must not hold the segment's lock.
func (o *openFiles) opened(s *segment) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ring = append(o.ring, s)
	o.open.Add(1)
	// Two rounds: the first takes the marks of use away, the second finds the
	// idle ones. If all are pinned the limit is exceeded for the time being.
	for tries := 2 * len(o.ring); len(o.ring) > o.limit && tries > 0; tries-- {
		if o.hand >= len(o.ring) {
			o.hand = 0
		}
		if o.ring[o.hand].closeIfIdle() {
			o.dropLocked(o.hand)
			continue
		}
		o.hand++
	}
}

// crowded reports whether so many segments are in use that reads which can wait
// should: twice the limit, since all beyond it are pinned.
func (o *openFiles) crowded() bool { return int(o.open.Load()) >= 2*o.limit }

// over reports whether the limit is exceeded, since all were in use.
func (o *openFiles) over() bool { return int(o.open.Load()) > o.limit }

// shed closes a segment that nobody uses any more if there are too many.
func (o *openFiles) shed(s *segment) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.Index(o.ring, s)
	if i < 0 || len(o.ring) <= o.limit {
		return
	}
	s.used.Store(false)
	if s.closeIfIdle() {
		o.dropLocked(i)
	}
}

// forget uncounts a segment whose file was closed for good.
func (o *openFiles) forget(s *segment) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.Index(o.ring, s); i >= 0 {
		o.dropLocked(i)
	}
}

func (o *openFiles) dropLocked(i int) {
	last := len(o.ring) - 1
	o.ring[i] = o.ring[last]
	o.ring[last] = nil
	o.ring = o.ring[:last]
	o.open.Add(-1)
}
