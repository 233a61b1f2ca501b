package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// firstRest is how long after the start memory is given back first: clients that waited for the broker, which need what
	// the start needed, have their first answers by then. After a start that took longer it is as long as that: there is more to
	// answer about.
	firstRest = 50 * time.Millisecond
	// restAfter is how long nothing is collected before the broker counts as at rest.
	restAfter = 2 * time.Second
	// restEvery is the time between two rests that are used so, which costs some milliseconds and a few page faults after it.
	restEvery = time.Minute
)

// rest gives memory back to the system once work has ended: what the start needed, then what a load needed. Garbage is what
// work leaves behind, so the collector's cycles tell of it; between them nothing runs, and no timer is set.
type rest struct {
	giveBack     func() // collects
	after, every time.Duration

	mu     sync.Mutex
	timer  *time.Timer
	given  time.Time // last, but for the first time; zero before
	cycles uint64    // of the collector, up to the last that was due to giving back
	ended  bool
}

// giveBackAtRest gives back first after a first time, then after each rest. Nothing is given back after stop, and what is being given back then is waited for.
func giveBackAtRest(first, after, every time.Duration, giveBack func()) *rest {
	r := &rest{giveBack: giveBack, after: after, every: every}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer = time.AfterFunc(first, r.run)
	eachCycle(r.collected)
	return r
}

// collected sets the timer, and reports whether it wants to hear of the next cycle.
func (r *rest) collected() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended && collections() > r.cycles {
		r.timer.Reset(max(r.after, time.Until(r.given.Add(r.every))))
	}
	return !r.ended
}

func (r *rest) run() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || time.Until(r.given.Add(r.every)) > 0 {
		return // the latter when the timer was set while it ran out
	}
	r.giveBack()
	if r.cycles > 0 {
		r.given = time.Now()
	}
	r.cycles = collections()
}

func (r *rest) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.timer.Stop()
}

// collections is how many cycles of the collector there were.
func collections() uint64 {
	sample := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// giveMemoryBack empties pools, which takes two cycles, and returns what is free, and the program's own pages.
func giveMemoryBack() {
	runtime.GC()
	debug.FreeOSMemory()
	dropStartPages()
}
