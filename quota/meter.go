package quota

import (
	"runtime"
	"time"
)

// Meter measures how long a request keeps a thread busy. Its goroutine keeps
// its thread while the meter runs.
type Meter struct {
	running bool
	began   time.Duration
	spent   time.Duration
}

// Run starts the meter, or starts it again after a Pause.
func (m *Meter) Run() {
	runtime.LockOSThread()
	m.running, m.began = true, threadTime()
}

// Pause stops it, as before a wait, and reports whether it ran.
func (m *Meter) Pause() bool {
	if !m.running {
		return false
	}
	m.spent += threadTime() - m.began
	m.running = false
	runtime.UnlockOSThread()
	return true
}

// Percent is the time so far as Kafka counts it: in hundredths of a second of
// one thread, so that per second it is a percentage.
func (m *Meter) Percent() float64 {
	spent := m.spent
	if m.running {
		spent += threadTime() - m.began
	}
	return spent.Seconds() * 100
}
