package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"syscall"
	"time"
)

const (
	// firstRest is how long after the start memory is given back first: clients that waited for the broker, which need what
	// the start needed, have their first answers by then. After a start that took longer it is as long as that: there is more to
	// answer about.
	firstRest = 50 * time.Millisecond
	// restAfter is how long there must be next to nothing to do before the broker counts as at rest.
	restAfter = time.Second
	// restLoad is the part of a processor that next to nothing takes.
	restLoad = 0.01
	// restEvery is the least time between two rests that are used so, each of which costs some milliseconds and a few page faults after it.
	restEvery = 5 * time.Second
)

// rest gives memory back to the system once work has ended: what the start needed, then what a load needed. Garbage is what
// work leaves behind, so the collector's cycles tell of it; without them nothing runs, and no timer is set.
type rest struct {
	giveBack     func() // collects
	after, every time.Duration
	used         func() time.Duration // of the processor, so far

	mu     sync.Mutex
	timer  *time.Timer
	set    bool          // the timer is
	begin  time.Duration // used when it was set
	given  time.Time     // last, but for the first time; zero before
	cycles uint64        // of the collector, up to the last that was due to giving back
	ended  bool
}

// giveBackAtRest gives back first after a first time, then after each rest. Nothing is given back after stop, and what is being given back then is waited for.
func giveBackAtRest(first, after, every time.Duration, used func() time.Duration, giveBack func()) *rest {
	r := &rest{giveBack: giveBack, after: after, every: every, used: used, set: true, begin: math.MaxInt64}
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
	if !r.ended && !r.set && collections() > r.cycles {
		r.awaitLocked()
	}
	return !r.ended
}

// awaitLocked looks again after a while, of which the last part tells whether the broker is at rest.
func (r *rest) awaitLocked() {
	r.set, r.begin = true, r.used()
	r.timer.Reset(r.after)
}

func (r *rest) run() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	if busy := r.used() - r.begin; float64(busy) > restLoad*float64(r.after) || time.Until(r.given.Add(r.every)) > 0 {
		r.awaitLocked()
		return
	}
	r.giveBack()
	if r.cycles > 0 {
		r.given = time.Now()
	}
	r.cycles, r.set = collections(), false
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

// processorTime is what the process has used, 0 where the system does not tell.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// giveMemoryBack empties pools, which takes two cycles, and returns what is free, and the program's own pages.
func giveMemoryBack() {
	runtime.GC()
	debug.FreeOSMemory()
	dropStartPages()
}
