package quota

import "math"

// bucket holds tokens that come back at the rate of the limit, up to those of a
// whole window. It may be overdrawn once, and then refuses until it is made good.
type bucket struct {
	window Window
	tokens float64
	last   int64 // milliseconds; 0 at first, so that a new bucket is full
}

func (b *bucket) refill(limit float64, now int64) {
	burst := limit * float64(b.window.span()) / 1000
	b.tokens = min(burst, b.tokens+limit*float64(now-b.last)/1000)
	b.last = now
}

// take takes tokens; with fewer than none it says how many milliseconds it will
// take until there are.
func (b *bucket) take(n, limit float64, now int64) {
	b.refill(limit, now)
	b.tokens = min(b.tokens-n, limit*float64(b.window.span())/1000)
}

// wait is how many milliseconds it takes until the bucket is not overdrawn.
func (b *bucket) wait(limit float64, now int64) int64 {
	if b.refill(limit, now); b.tokens >= 0 {
		return 0
	}
	return int64(math.Round(-b.tokens / limit * 1000))
}
