package logstore

import "sync"

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

// forget uncounts a segment whose file was closed for good.
func (o *openFiles) forget(s *segment) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, have := range o.ring {
		if have == s {
			o.dropLocked(i)
			return
		}
	}
}

func (o *openFiles) dropLocked(i int) {
	last := len(o.ring) - 1
	o.ring[i] = o.ring[last]
	o.ring[last] = nil
	o.ring = o.ring[:last]
}
