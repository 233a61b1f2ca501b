package main

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// idle is a processor that nothing uses.
func idle() time.Duration { return 0 }

// TestRestIsAfterWork: nothing is given back, but for the first time, as long as work goes on, however seldom that collects.
func TestRestIsAfterWork(t *testing.T) {
	times := make(chan struct{}, 100)
	var used, asked atomic.Int64
	step := int64(time.Second)
	work := func() time.Duration {
		asked.Add(1)
		return time.Duration(used.Add(atomic.LoadInt64(&step)))
	}
	r := giveBackAtRest(time.Millisecond, time.Millisecond, 0, work, func() { times <- struct{}{} })
	defer r.stop()
	patience := time.Now().Add(time.Minute)
	for <-times; asked.Load() < 20; <-time.After(time.Millisecond) {
		if runtime.GC(); time.Now().After(patience) {
			t.Fatalf("whether there was work was asked %d times", asked.Load())
		}
	}
	if n := len(times); n > 0 {
		t.Errorf("memory was given back %d times in the middle of work", n)
	}
	atomic.StoreInt64(&step, 0)
	select {
	case <-times:
	case <-time.After(time.Minute):
		t.Error("nothing was given back after work")
	}
}

// TestRest: memory is given back after the start and after each stretch of work, and not because of its own collections.
func TestRest(t *testing.T) {
	times := make(chan struct{}, 100)
	r := giveBackAtRest(time.Millisecond, time.Millisecond, 0, idle, func() {
		runtime.GC()
		runtime.GC()
		times <- struct{}{}
	})
	defer r.stop()
	await := func(what string) {
		t.Helper()
		for patience := time.Now().Add(time.Minute); ; {
			select {
			case <-times:
				return
			case <-time.After(5 * time.Millisecond):
				if time.Now().After(patience) {
					t.Fatalf("nothing was given back %s", what)
				}
				runtime.GC() // one that ends while the one before is told of is not told of itself
			}
		}
	}
	await("after the start")
	for range 3 {
		await("after work")
	}
	r.mu.Lock() // what is being given back is given
	last := r.cycles
	r.mu.Unlock()
	r.collected()
	if r.timer.Stop() && collections() == last {
		t.Error("memory is to be given back because of what giving it back collected")
	}
	r.stop()
	runtime.GC()
	if r.collected() || r.timer.Stop() {
		t.Error("memory is to be given back after the end")
	}
}

// TestRestComesSeldom: under a load that collects seldom, giving back is as seldom as it is said to be, but for the first rest after the start.
func TestRestComesSeldom(t *testing.T) {
	times := make(chan struct{}, 100)
	r := giveBackAtRest(time.Millisecond, time.Millisecond, time.Hour, idle, func() {
		runtime.GC()
		times <- struct{}{}
	})
	defer r.stop()
	given := 0
	for patience := time.Now().Add(time.Minute); given < 2; {
		select {
		case <-times:
			given++
		case <-time.After(5 * time.Millisecond):
			if time.Now().After(patience) {
				t.Fatalf("given back %d times", given)
			}
			runtime.GC()
		}
	}
	for range 5 {
		runtime.GC()
	}
	r.stop()
	if n := len(times); n > 0 {
		t.Errorf("given back %d times more within an hour", n)
	}
}
