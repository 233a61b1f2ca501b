package meter

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestBuckets(t *testing.T) {
	last := -1
	for v := int64(0); v < 1<<20; v++ {
		b := bucketOf(v)
		if b != last && b != last+1 {
			t.Fatalf("%d is in bucket %d, the value before in %d", v, b, last)
		}
		last = b
		if off := math.Abs(middle(b) - float64(v)); off > float64(v)/16 {
			t.Fatalf("%d is read back as %v", v, middle(b))
		}
	}
	for _, v := range []int64{1<<maxBits - 1, 1 << maxBits, math.MaxInt64} {
		if bucketOf(v) != buckets-1 {
			t.Errorf("%d is in bucket %d of %d", v, bucketOf(v), buckets)
		}
	}
	if bucketOf(-5) != 0 {
		t.Errorf("a negative value is in bucket %d", bucketOf(-5))
	}
}

// TestQuantiles: what is read back is close to what sorting gives.
func TestQuantiles(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var h Histogram
	now := time.Now()
	var values []int64
	for range 20_000 {
		v := int64(math.Exp(rnd.Float64() * 18))
		values = append(values, v)
		h.Add(v, now)
	}
	slices.Sort(values)
	parts := []float64{0, 0.5, 0.75, 0.95, 0.98, 0.99, 0.999, 1}
	for i, got := range h.Quantiles(parts, now) {
		want := float64(values[min(int(parts[i]*float64(len(values))), len(values)-1)])
		if math.Abs(got-want) > want/10+1 {
			t.Errorf("quantile %v is %v, want %v", parts[i], got, want)
		}
	}
	if h.Count() != 20_000 {
		t.Errorf("count %d", h.Count())
	}
}

// TestOldValuesFade: a value counts for one window at least and for two at most; the count keeps it.
func TestOldValuesFade(t *testing.T) {
	var h Histogram
	start := time.Unix(0, 0).Add(1000 * windowLength)
	h.Add(100, start)
	median := func(at time.Time) float64 { return h.Quantiles([]float64{0.5}, at)[0] }
	if got := median(start.Add(2*windowLength - 1)); got < 94 || got > 106 {
		t.Errorf("in the next window: %v", got)
	}
	if got := median(start.Add(2 * windowLength)); got != 0 {
		t.Errorf("two windows later: %v", got)
	}
	h.Add(7, start.Add(2*windowLength))
	if got := median(start.Add(2 * windowLength)); got != 7 || h.Count() != 2 {
		t.Errorf("after another value: %v of %d", got, h.Count())
	}
}

func TestRequests(t *testing.T) {
	var r Requests
	begin := time.Now()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 1000 {
				r.Add(Request{Key: 1, Version: int16(16 + i%2), Bytes: 50, Begin: begin, Answered: begin.Add(3 * time.Millisecond),
					End: begin.Add(4 * time.Millisecond), Waited: 2 * time.Millisecond})
			}
		})
	}
	all.Wait()
	versions := map[int16]int64{}
	a := r.API(1)
	a.Versions(func(v int16, n int64) { versions[v] = n })
	if len(versions) != 2 || versions[16] != 2000 || versions[17] != 2000 || a.TotalTime.Count() != 4000 {
		t.Errorf("versions %v, %d times", versions, a.TotalTime.Count())
	}
	for want, h := range map[float64]*Histogram{1000: &a.LocalTime, 2000: &a.RemoteTime, 1001: &a.SendTime, 4000: &a.TotalTime, 50: &a.Bytes} {
		if got := h.Quantiles([]float64{0.99}, begin)[0]; math.Abs(got-want) > want/16 {
			t.Errorf("a time is %v, want %v", got, want)
		}
	}
	if r.Busy() != 4*time.Second || r.Sending() != 4*time.Second {
		t.Errorf("busy for %v, sending for %v", r.Busy(), r.Sending())
	}
	for _, q := range []Request{{Key: -1}, {Key: 1000}, {Key: 2, Version: -1}, {Key: 2, Version: 99}} {
		r.Add(q) // left out
	}
	if r.API(2) != nil || r.API(-1) != nil || r.API(1000) != nil {
		t.Errorf("counters of requests that there were not")
	}
	if n := testing.AllocsPerRun(100, func() { r.Add(Request{Key: 1}) }); n != 0 {
		t.Errorf("%v allocations per request", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	var r Requests
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		r.Add(Request{Key: 1, Version: 17, Bytes: 100, Begin: now, Answered: now.Add(time.Millisecond), End: now.Add(2 * time.Millisecond)})
	}
}
