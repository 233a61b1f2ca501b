package main

import (
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// collectAtStart is the pace while logs are loaded: much is made then that stays, and little of it is garbage. Recovering 1 GiB in
// 1,000 logs took 0.88 s with 400 and 1.12 s without; the peak of a start with 10,000 topics is 0.85 of that with 400, in the same time.
const collectAtStart = 200

// startMemory is up to where that pace holds, in bytes of the Go runtime's memory: beyond it there may be half again as much garbage
// as live memory, so that a start on very many partitions does not take far more memory than they do afterwards.
const startMemory = 40 << 20

// startPace is the collector's pace while the broker starts.
type startPace struct {
	mu    sync.Mutex
	ended bool
}

// paceStart sets the pace of a start, unless the environment sets one.
func paceStart() *startPace {
	p := &startPace{ended: os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != ""}
	setPace(collectAtStart)
	if !p.ended {
		debug.SetMemoryLimit(startMemory)
		eachCycle(p.collected)
	}
	return p
}

// collected raises the limit with what is live, and reports whether it wants to hear of the next cycle.
func (p *startPace) collected() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		live, other := liveMemory()
		debug.SetMemoryLimit(max(startMemory, live+live*collectAt/100+other))
	}
	return !p.ended
}

// liveMemory is what the last cycle found in use, and what the runtime has beside its heap, in bytes.
func liveMemory() (live, other int64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	other = int64(samples[1].Value.Uint64())
	for _, part := range samples[2:] {
		other -= int64(part.Value.Uint64())
	}
	return int64(samples[0].Value.Uint64()), other
}

// end sets the pace for what follows.
func (p *startPace) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		debug.SetMemoryLimit(math.MaxInt64)
	}
	p.ended = true
	setPace(collectAt)
}
