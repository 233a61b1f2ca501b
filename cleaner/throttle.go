package cleaner

import (
	"context"
	"sync"
	"time"
)

// throttle holds all threads together to a number of bytes per second, read and
// written. It looks every now and then whether they keep to it and pauses whoever
// comes next for as long as the bytes were too early.
type throttle struct {
	mu    sync.Mutex
	since time.Time
	bytes float64
}

// start forgets what went by: under another rate it was not too early.
func (t *throttle) start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since, t.bytes = time.Time{}, 0
}

const throttleInterval = 300 * time.Millisecond

// wait lets time pass unless ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// pause counts n bytes and tells for how long to wait when they are too many.
// rate is in bytes per second.
func (t *throttle) pause(n int, rate float64, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since.IsZero() {
		t.since = now
	}
	t.bytes += float64(n)
	elapsed := now.Sub(t.since)
	if elapsed < throttleInterval {
		return 0
	}
	early := t.bytes/rate - elapsed.Seconds()
	t.since, t.bytes = now, 0
	if early <= 0 {
		return 0
	}
	// Those that meet here meanwhile count from the end of the pause.
	pause := time.Duration(min(early, 3600) * float64(time.Second))
	t.since = now.Add(pause)
	return pause
}
