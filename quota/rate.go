package quota

import (
	"math"
	"time"
)

// Window is the time over which a rate is taken: Samples pieces of Size each,
// the last of which is still being filled.
type Window struct {
	Samples int // quota.window.num
	Size    time.Duration
}

// span is the whole window in milliseconds.
func (w Window) span() int64 { return int64(w.Samples) * w.Size.Milliseconds() }

// sample is what came in during one piece of the window.
type sample struct {
	start, last int64 // milliseconds: of the piece, and of what came last
	sum         float64
}

// Rate is the amount per second that came in lately. It is not safe for
// concurrent use.
type Rate struct {
	window  Window
	samples []sample // a ring of at most Samples+1
	current int
}

// NewRate returns a rate at which nothing has come in.
func NewRate(w Window) *Rate { return &Rate{window: w} }

// Add counts an amount at a time in milliseconds. An amount below 0 takes back
// what was counted.
func (r *Rate) Add(amount float64, now int64) {
	if len(r.samples) == 0 {
		r.samples = append(make([]sample, 0, 2), sample{start: now, last: now})
	}
	if now-r.samples[r.current].start >= r.window.Size.Milliseconds() {
		r.advance(now)
	}
	s := &r.samples[r.current]
	s.sum += amount
	s.last = now
}

// advance begins the next piece.
func (r *Rate) advance(now int64) {
	r.current = (r.current + 1) % (r.window.Samples + 1)
	fresh := sample{start: now, last: now}
	if r.current >= len(r.samples) {
		r.samples = append(r.samples, fresh)
		return
	}
	r.samples[r.current] = fresh
}

// Measure returns the rate per second, and the time in milliseconds over which
// it was taken. That time is never below the window's whole pieces, so that a
// rate that has just begun is not overrated.
func (r *Rate) Measure(now int64) (perSecond float64, over int64) {
	oldest, sum := now, 0.0
	for i := range r.samples {
		s := &r.samples[i]
		if now-s.last >= r.window.span() {
			*s = sample{start: now, last: now}
		}
		sum += s.sum
		oldest = min(oldest, s.start)
	}
	over = now - oldest
	if whole, least := over/r.window.Size.Milliseconds(), int64(r.window.Samples-1); whole < least {
		over += (least - whole) * r.window.Size.Milliseconds()
	}
	over = max(over, 1)
	return sum / (float64(over) / 1000), over
}

// Throttle is how long a client has to wait, in milliseconds, so that its rate
// comes down to the limit: 0 when it is not above it.
func (r *Rate) Throttle(limit float64, now int64) int64 {
	rate, over := r.Measure(now)
	if rate <= limit {
		return 0
	}
	return int64(math.Round(min((rate-limit)/limit*float64(over), math.MaxInt32)))
}

// Idle reports whether nothing is left of what came in: a new rate is the same.
func (r *Rate) Idle(now int64) bool {
	return len(r.samples) == 0 || now-r.samples[r.current].last >= r.window.span()
}
