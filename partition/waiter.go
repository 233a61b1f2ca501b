package partition

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// A waiter is one fetch that waits, or a Rest. It hangs in the list of every partition
// that the fetch reads, by links of its own slice, and is signalled through a
// channel of one slot: no goroutine, one timer, and an append that wakes it
// allocates nothing. Waiters are pooled by their Manager.
type waiter struct {
	manager *Manager
	ready   chan struct{}
	timer   *time.Timer

	// need counts down the bytes that are still missing; at or below zero the
	// fetch is worth reading again.
	need atomic.Int64

	links []waitLink

	// What the first reading found and was asked for; see undisturbed and Rest.
	spec    FetchSpec
	missing int64
	starts  starts

	resting atomic.Bool  // between two fetches
	again   atomic.Int64 // fetches since the first
}

// mostApart are the moments at which fetches end that wait equally long.
const mostApart = 50 * time.Millisecond

// waitLink is a waiter's place in one partition's list, guarded by that
// partition's waitMu.
type waitLink struct {
	waiter     *waiter
	prev, next *waitLink

	// partition is nil once the link is out of the list: a Rest must not keep a partition that is gone.
	partition atomic.Pointer[Partition]
}

func (m *Manager) newWaiter() *waiter {
	w := &waiter{manager: m, ready: make(chan struct{}, 1), timer: time.NewTimer(math.MaxInt64)}
	w.timer.Stop()
	return w
}

// begin sets the timer of a fetch that was read and has to wait, with the starts from before it was read.
func (w *waiter) begin(spec FetchSpec, missing int64, starts starts) {
	w.spec, w.missing, w.starts = spec, missing, starts
	w.spec.Waited = nil
	w.need.Store(missing)
	w.timer.Reset(w.manager.together(spec.MaxWait))
}

// undisturbed reports whether nothing has happened to the partitions since begin, of a fetch that was unchanged then.
func (w *waiter) undisturbed() bool {
	return w.need.Load() == w.missing && w.starts.hold()
}

// dismiss takes a waiter back.
func (m *Manager) dismiss(w *waiter) {
	w.leave()
	m.waiters.Put(w)
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

// supply takes n bytes off what is missing, and signals when that is enough, which it reports.
// A signal that is already there stays: one is as good as many.
func (w *waiter) supply(n int64) bool {
	if w.need.Add(-n) > 0 {
		return false
	}
	select {
	case w.ready <- struct{}{}:
	default:
	}
	return true
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
			w.links = append(w.links, waitLink{waiter: w})
			p.enter(&w.links[len(w.links)-1])
		}
	}
}

// leave takes the waiter out of all lists. No append can touch it afterwards.
func (w *waiter) leave() {
	for i := range w.links {
		if p := w.links[i].partition.Load(); p != nil {
			p.leave(&w.links[i])
		}
	}
	clear(w.links)
	w.links = w.links[:0]
	w.again.Store(0)
	w.resting.Store(false)
	w.starts = starts{}
	w.timer.Stop()
	select {
	case <-w.ready:
	default:
	}
}

func (p *Partition) enter(l *waitLink) {
	p.waitMu.Lock()
	l.partition.Store(p)
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
	if l.partition.Load() == p { // else a wake was quicker
		p.dropLocked(l)
	}
	p.waitMu.Unlock()
}

// dropLocked takes a link out of the list, and counts the fetches that the partition was not looked at for.
func (p *Partition) dropLocked(l *waitLink) {
	if l.prev != nil {
		l.prev.next = l.next
	} else {
		p.first = l.next
	}
	if l.next != nil {
		l.next.prev = l.prev
	}
	l.partition.Store(nil)
	p.waiting.Add(-1)
	p.traffic.fetchRequests.Add(l.waiter.again.Load())
}

// wake tells the waiting fetches that n more bytes can be read. A Rest that nobody asks any more, of a client that is gone, costs
// a partition's appends nothing after the first.
func (p *Partition) wake(n int64) {
	if p.waiting.Load() == 0 {
		return
	}
	p.waitMu.Lock()
	for l := p.first; l != nil; {
		next := l.next
		if l.waiter.supply(n) && l.waiter.resting.Load() {
			p.dropLocked(l)
		}
		l = next
	}
	p.waitMu.Unlock()
}

// wakeAll ends every wait, whatever it still misses.
func (p *Partition) wakeAll() { p.wake(math.MaxInt32) }
