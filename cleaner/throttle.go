package cleaner

import (
	"context"
	"sync"
	"time"
)

// throttle holds all threads together to a number of bytes per second, read and
// written. It looks at the rate every now and then and pauses whoever comes
// next for as long as the bytes were too early.
type throttle struct {
	rate func() float64 // bytes per second

	mu    sync.Mutex
	since time.Time
	bytes float64
}

const throttleInterval = 300 * time.Millisecond

// pass counts n bytes and waits if they are too many.
func (t *throttle) pass(ctx context.Context, n int) error {
	pause := t.pause(n, time.Now())
	if pause <= 0 {
		return nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

func (t *throttle) pause(n int, now time.Time) time.Duration {
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
	early := t.bytes/t.rate() - elapsed.Seconds()
	t.since, t.bytes = now, 0
	if early <= 0 {
		return 0
	}
	// Those that meet here meanwhile count from the end of the pause.
	pause := time.Duration(min(early, 3600) * float64(time.Second))
	t.since = now.Add(pause)
	return pause
}
