package quota

import (
	"testing"
	"time"
)

func TestMostPreciseRuleCounts(t *testing.T) {
	q := New(Options{Clients: Window{11, time.Second}, Mutations: Window{11, time.Second}})
	q.Set([]Rule{{Client: Default(), Kind: Produce, Limit: 10}, {Client: Named("c"), Kind: Produce, Limit: 1000}})
	now := time.UnixMilli(1_700_000_000_000)
	if wait := q.Record(Produce, "u", "c", 1000, now); wait != 0 {
		t.Errorf("c waits %v", wait)
	}
	if wait := q.Record(Produce, "u", "d", 200, now); wait != 10*time.Second {
		t.Errorf("d waits %v", wait)
	}
}

// TestRateSlidesByWholeSamples follows one burst through the window: it counts in full over at least ten seconds, and is
// gone when eleven have passed since.
func TestRateSlidesByWholeSamples(t *testing.T) {
	r := NewRate(Window{11, time.Second})
	start := int64(1_700_000_000_000)
	r.Add(1000, start)
	for _, want := range []struct {
		after    int64
		sum      float64
		over     int64
		throttle int64 // at 50 a second
	}{
		{0, 1000, 10_000, 10_000},
		{500, 1000, 10_500, 9_500},
		{9_999, 1000, 10_999, 9_001},
		{10_500, 1000, 10_500, 9_500},
		{11_000, 0, 10_000, 0},
	} {
		rate, over := r.Measure(start + want.after)
		if rate != want.sum/(float64(want.over)/1000) || over != want.over {
			t.Errorf("after %d ms: %v a second over %d ms, want %v in all over %d", want.after, rate, over, want.sum, want.over)
		}
		if throttle := r.Throttle(50, start+want.after); throttle != want.throttle {
			t.Errorf("after %d ms: throttled for %d ms, want %d", want.after, throttle, want.throttle)
		}
	}
}

func TestBucketRefusesUntilMadeGood(t *testing.T) {
	q := New(Options{Clients: Window{11, time.Second}, Mutations: Window{11, time.Second}})
	q.Set([]Rule{{User: Default(), Kind: Mutations, Limit: 2}})
	now := time.UnixMilli(1_700_000_000_000)
	if wait, refused := q.Mutate("u", "c", 25, true, now); wait != 0 || refused {
		t.Errorf("a full bucket of 22 tokens: %v, %v", wait, refused)
	}
	if wait, refused := q.Mutate("u", "c", 1, true, now.Add(time.Second/2)); wait != time.Second || !refused {
		t.Errorf("3 too many, half a second later: %v, %v", wait, refused)
	}
	if wait, refused := q.Mutate("u", "c", 1, false, now.Add(time.Second/2)); wait != 1500*time.Millisecond || refused {
		t.Errorf("the same without being strict: %v, %v", wait, refused)
	}
	if wait, refused := q.Mutate("u", "c", 1, true, now.Add(2*time.Second)); wait != 0 || refused {
		t.Errorf("when it is made good: %v, %v", wait, refused)
	}
}

// TestIdleClientsAreForgotten: client ids that never come back do not pile up.
func TestIdleClientsAreForgotten(t *testing.T) {
	q := New(Options{Clients: Window{11, time.Second}})
	q.Set([]Rule{{Client: Default(), Kind: Produce, Limit: 10}})
	now := time.UnixMilli(1_700_000_000_000)
	for i := range 1000 {
		q.Record(Produce, "u", string(rune('a'+i)), 1, now)
	}
	q.Record(Produce, "u", "late", 1, now.Add(time.Minute))
	if n := len(q.used[Produce]); n != 1 {
		t.Errorf("%d clients are remembered", n)
	}
}
