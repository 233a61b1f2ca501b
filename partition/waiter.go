package partition

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// A waiter is one fetch that waits. It hangs in the list of every partition
// that the fetch reads, by links of its own slice, and is signalled through a
// channel of one slot: no goroutine, one timer, and an append that wakes it
// allocates nothing. Waiters are pooled by their Manager.
type waiter struct {
	ready chan struct{}
	timer *time.Timer

	// need counts down the bytes that are still missing; at or below zero the
	// fetch is worth reading again.
	need atomic.Int64

	links []waitLink
}

// mostApart are the moments at which fetches end that wait equally long.
const mostApart = 50 * time.Millisecond

// waitLink is a waiter's place in one partition's list, guarded by that
// partition's waitMu.
type waitLink struct {
	waiter     *waiter
	partition  *Partition
	prev, next *waitLink
}

func newWaiter() *waiter {
	w := &waiter{ready: make(chan struct{}, 1), timer: time.NewTimer(math.MaxInt64)}
	w.timer.Stop()
	return w
}

// together is how long a fetch waits that may wait so long: to the next of the moments, a hundredth of its wait apart and at most
// 50 ms, at which all end that wait equally long. So consumers at rest are answered with a few wake-ups of the processor and not one
// each, and ask again as many at a time. Apache Kafka 4.4.0 answers 3 to 7 ms after a wait of 500 ms or 5 s is over.
func (m *Manager) together(wait time.Duration) time.Duration {
	apart := min(wait/100, mostApart)
	if apart <= 0 {
		return wait
	}
	end := time.Since(m.made) + wait
	return wait + (apart-end%apart)%apart
}

// supply takes n bytes off what is missing and signals when that is enough.
// A signal that is already there stays: one is as good as many.
func (w *waiter) supply(n int64) {
	if w.need.Add(-n) > 0 {
		return
	}
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// wait returns true when the fetch is worth reading again, false when its time
// is over. waited, where set, grows by the time that it took.
func (w *waiter) wait(ctx context.Context, waited *time.Duration) bool {
	if waited != nil {
		begin := time.Now()
		defer func() { *waited += time.Since(begin) }()
	}
	select {
	case <-w.ready:
		return true
	case <-w.timer.C:
	case <-ctx.Done():
	}
	return false
}

// enter hangs the waiter into every partition that is read.
func (w *waiter) enter(reads []Read) {
	if cap(w.links) < len(reads) {
		w.links = make([]waitLink, 0, len(reads))
	}
	// The list holds pointers into the slice, so it must not grow from here on.
	w.links = w.links[:0]
	for i := range reads {
		if p := reads[i].Partition; p != nil {
			w.links = append(w.links, waitLink{waiter: w, partition: p})
			p.enter(&w.links[len(w.links)-1])
		}
	}
}

// leave takes the waiter out of all lists. No append can touch it afterwards.
func (w *waiter) leave() {
	for i := range w.links {
		w.links[i].partition.leave(&w.links[i])
	}
	clear(w.links)
	w.links = w.links[:0]
	w.timer.Stop()
	select {
	case <-w.ready:
	default:
	}
}

func (p *Partition) enter(l *waitLink) {
	p.waitMu.Lock()
	l.next = p.first
	if p.first != nil {
		p.first.prev = l
	}
	p.first = l
	p.waiting.Add(1)
	p.waitMu.Unlock()
}

func (p *Partition) leave(l *waitLink) {
	p.waitMu.Lock()
	if l.prev != nil {
		l.prev.next = l.next
	} else {
		p.first = l.next
	}
	if l.next != nil {
		l.next.prev = l.prev
	}
	p.waiting.Add(-1)
	p.waitMu.Unlock()
}

// wake tells the waiting fetches that n more bytes can be read.
func (p *Partition) wake(n int64) {
	if p.waiting.Load() == 0 {
		return
	}
	p.waitMu.Lock()
	for l := p.first; l != nil; l = l.next {
		l.waiter.supply(n)
	}
	p.waitMu.Unlock()
}

// wakeAll ends every wait, whatever it still misses.
func (p *Partition) wakeAll() { p.wake(math.MaxInt32) }
