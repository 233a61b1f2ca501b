package meter

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// A histogram has buckets whose width grows with the value: steps to each power of two, so that a value read back is at most a
// sixteenth off.
//
//	0 .. 7         one bucket each
//	8 .. 15        eight buckets of width 1
//	16 .. 31       eight of width 2
//	...
//	2^35 .. 2^36-1 eight of width 2^32; larger values count as the largest
const (
	steps    = 8
	stepBits = 3
	maxBits  = 36
	buckets  = steps + (maxBits-stepBits)*steps
)

// windowLength is how long a value counts in the quantiles at least; at most it is twice that.
const windowLength = 5 * time.Minute

// Histogram counts values of 0 and more. The zero Histogram is empty.
type Histogram struct {
	count   atomic.Int64
	windows [2]window // the running one and the one before, by turns
}

// window is the values of one stretch of time.
type window struct {
	number atomic.Int64 // of the stretch, since the epoch
	counts [buckets]atomic.Uint32
}

// Add counts a value at a moment.
func (h *Histogram) Add(value int64, now time.Time) {
	h.count.Add(1)
	number := now.UnixNano() / int64(windowLength)
	w := &h.windows[number&1]
	if had := w.number.Load(); had != number && w.number.CompareAndSwap(had, number) {
		// A value that is added at this very moment may be lost to the quantiles, not to the count.
		for i := range w.counts {
			w.counts[i].Store(0)
		}
	}
	w.counts[bucketOf(value)].Add(1)
}

// Count is how many values there were, ever.
func (h *Histogram) Count() int64 { return h.count.Load() }

// Quantiles are values below which the given parts of the recent values lie, in the middle of their buckets; 0 without values.
func (h *Histogram) Quantiles(parts []float64, now time.Time) []float64 {
	var counts [buckets]uint64
	total := uint64(0)
	number := now.UnixNano() / int64(windowLength)
	for i := range h.windows {
		w := &h.windows[i]
		if n := w.number.Load(); n != number && n != number-1 {
			continue
		}
		for b := range w.counts {
			n := uint64(w.counts[b].Load())
			counts[b] += n
			total += n
		}
	}
	values := make([]float64, len(parts))
	for i, part := range parts {
		values[i] = quantile(&counts, total, part)
	}
	return values
}

func quantile(counts *[buckets]uint64, total uint64, part float64) float64 {
	if total == 0 {
		return 0
	}
	rank := max(uint64(part*float64(total)+0.5), 1)
	for b, n := range counts {
		if n >= rank {
			return middle(b)
		}
		rank -= n
	}
	return middle(buckets - 1)
}

// bucketOf is the bucket of a value.
func bucketOf(value int64) int {
	v := uint64(max(value, 0))
	if v < steps {
		return int(v)
	}
	v = min(v, 1<<maxBits-1)
	shift := bits.Len64(v) - stepBits - 1
	return steps + shift*steps + int(v>>shift) - steps
}

// middle is the middle of a bucket's values.
func middle(bucket int) float64 {
	if bucket < steps {
		return float64(bucket)
	}
	shift := (bucket - steps) / steps
	low := int64((bucket-steps)%steps+steps) << shift
	return float64(low) + float64(int64(1)<<shift-1)/2
}
