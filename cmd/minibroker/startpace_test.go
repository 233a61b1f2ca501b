package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestStartPace: while the broker starts the limit follows what is live, and nothing of it is left afterwards.
func TestStartPace(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(-1)
	defer func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) }()

	p := paceStart()
	if got := debug.SetMemoryLimit(-1); got < startMemory {
		t.Errorf("the limit begins at %d bytes", got)
	}
	live := make([]byte, 2*startMemory)
	for patience := time.Now().Add(time.Minute); debug.SetMemoryLimit(-1) < int64(len(live))*3/2; {
		if time.Now().After(patience) {
			t.Fatalf("with %d bytes live the limit is still %d", len(live), debug.SetMemoryLimit(-1))
		}
		runtime.GC()
		runtime.Gosched() // to the finalizers
	}
	runtime.KeepAlive(live)
	p.end()
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("after the start the limit is %d", got)
	}
	if got := debug.SetGCPercent(collectAt); got != collectAt {
		t.Errorf("after the start the pace is %d", got)
	}
	if p.collected() || debug.SetMemoryLimit(-1) != math.MaxInt64 {
		t.Error("a cycle after the start sets a limit")
	}
}

// TestStartPaceOfTheEnvironment: what the environment says of the collector holds.
func TestStartPaceOfTheEnvironment(t *testing.T) {
	t.Setenv("GOGC", "77")
	percent, limit := debug.SetGCPercent(77), debug.SetMemoryLimit(-1)
	defer debug.SetGCPercent(percent)
	p := paceStart()
	p.end()
	if got := debug.SetGCPercent(77); got != 77 || debug.SetMemoryLimit(-1) != limit {
		t.Errorf("the pace is %d, the limit %d", got, debug.SetMemoryLimit(-1))
	}
}
