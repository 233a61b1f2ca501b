package protocol

import (
	"math/bits"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// largeUnused is how long a large buffer, or the part of it that smaller frames leave alone, stays at least, and about twice as
// long at most, when nobody uses it.
const largeUnused = 500 * time.Millisecond

// largeBuffers hands out buffers that are larger than all classes, for frames of which each is a good part of the memory that
// the process has. They are mappings of their own and not the collector's: a mapping costs memory only for the bytes that have
// come in, so that it is made in full size at once and nothing is copied from smaller ones; it does not raise the size up to which the
// collector lets garbage grow, and it is given back to the system at once. What was in use a moment ago is kept for the next
// frame, and no more. The zero value is ready.
//
// Whoever does not give such a buffer back has it for ever.
type largeBuffers struct {
	provide func(bytes int) ([]byte, error) // nil: by the system

	mu    sync.Mutex
	free  []*Buffer
	timer *time.Timer // runs sweep while there are free buffers
	set   bool        // the timer will run out
}

// mapping is what a large buffer has beside its bytes.
type mapping struct {
	bytes    []byte    // all of it; nil when the buffer is none
	resident int       // how many of its bytes may have memory, from the front
	used     int       // the same, of what was used since trimmed
	trimmed  time.Time // when memory was last given back
	idle     bool      // free, and not taken since the last sweep; guarded by largeBuffers.mu
}

// get returns a buffer for n bytes, the smallest free one if there is one; nil when the system gives none.
func (l *largeBuffers) get(n int) *Buffer {
	if b := l.take(n); b != nil {
		return b
	}
	provide := l.provide
	if provide == nil {
		provide = mapMemory
	}
	bytes, err := provide(1 << bits.Len(uint(n-1)))
	if err != nil {
		return nil // the limit of address space or of mappings
	}
	return &Buffer{B: bytes[:0], whole: bytes[:0], large: mapping{bytes: bytes, trimmed: time.Now()}}
}

func mapMemory(bytes int) ([]byte, error) {
	return unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

func (l *largeBuffers) take(n int) *Buffer {
	l.mu.Lock()
	defer l.mu.Unlock()
	best := -1
	for i, b := range l.free {
		if c := cap(b.B); c >= n && (best < 0 || c < cap(l.free[best].B)) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	return l.removeLocked(best)
}

func (l *largeBuffers) removeLocked(i int) *Buffer {
	b, last := l.free[i], len(l.free)-1
	l.free[i], l.free[last] = l.free[last], nil
	l.free = l.free[:last]
	return b
}

// put takes a buffer back whose first bytes were used.
func (l *largeBuffers) put(b *Buffer, used int) {
	b.B = b.whole
	b.large.trim(used, time.Now())
	b.large.idle = false
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, b)
	if l.set {
		return
	}
	l.set = true
	if l.timer == nil {
		l.timer = time.AfterFunc(largeUnused, l.sweep)
	} else {
		l.timer.Reset(largeUnused)
	}
}

// trim notes how much was used, and gives back the memory of what was not used for a while.
func (m *mapping) trim(used int, now time.Time) {
	m.resident, m.used = max(m.resident, used), max(m.used, used)
	if now.Sub(m.trimmed) < largeUnused {
		return
	}
	page := os.Getpagesize()
	keep := min((m.used+page-1)/page*page, len(m.bytes))
	// An error would mean that the memory stays for as long as the mapping, which is no worse.
	if m.resident > keep && unix.Madvise(m.bytes[keep:], unix.MADV_DONTNEED) == nil {
		m.resident = keep
	}
	m.used, m.trimmed = 0, now
}

// sweep gives back what nobody took since the last time, and ends when nothing is left.
func (l *largeBuffers) sweep() {
	var idle []*Buffer
	l.mu.Lock()
	for i := len(l.free) - 1; i >= 0; i-- {
		if l.free[i].large.idle {
			idle = append(idle, l.removeLocked(i))
		} else {
			l.free[i].large.idle = true
		}
	}
	l.set = len(l.free) > 0
	if l.set {
		l.timer.Reset(largeUnused)
	}
	l.mu.Unlock()
	for _, b := range idle {
		_ = unix.Munmap(b.large.bytes) // fails for what is no mapping
		*b = Buffer{}
	}
}
