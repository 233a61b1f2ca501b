package quota

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Options are the windows over which rates are taken.
type Options struct {
	Clients   Window // quota.window.num, quota.window.size.seconds
	Mutations Window // controller.quota.window.num, controller.quota.window.size.seconds
}

// Quotas are the limits of users and client ids, and what these have used. It
// is safe for concurrent use.
type Quotas struct {
	o     Options
	rules atomic.Pointer[[kinds]ruleset] // nil when there are no rules at all

	mu      sync.Mutex
	used    [kinds]map[subject]*usage
	cleared int64 // when those that came to rest were last forgotten, in milliseconds
}

// usage is what those have used who are measured together.
type usage struct {
	mu     sync.Mutex
	rate   *Rate   // all kinds but Mutations
	bucket *bucket // of Mutations
	last   int64
}

// New returns quotas without rules.
func New(o Options) *Quotas { return &Quotas{o: o} }

// Set puts rules in force instead of those before. What was used stays counted.
func (q *Quotas) Set(rules []Rule) {
	if len(rules) == 0 {
		q.rules.Store(nil)
		return
	}
	var sets [kinds]ruleset
	for _, r := range rules {
		sets[r.Kind].add(r)
	}
	q.rules.Store(&sets)
}

// Active reports whether there are any rules; it costs one load.
func (q *Quotas) Active() bool { return q.rules.Load() != nil }

// Limits reports whether there are rules of a kind.
func (q *Quotas) Limits(k Kind) bool { return q.ruleset(k) != nil }

// ruleset returns the rules of a kind, nil when there are none.
func (q *Quotas) ruleset(k Kind) *ruleset {
	sets := q.rules.Load()
	if sets == nil || sets[k].shapes == 0 {
		return nil
	}
	return &sets[k]
}

// Record counts an amount and returns how long the client has to wait. What is
// used without a limit is counted too: one may be set before it has passed.
func (q *Quotas) Record(k Kind, user, client string, amount float64, now time.Time) time.Duration {
	rules := q.ruleset(k)
	if rules == nil {
		return 0
	}
	s := rules.subjectOf(user, client)
	u, ms := q.usage(k, s, now.UnixMilli()), now.UnixMilli()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last = ms
	u.rate.Add(amount, ms)
	limit, limited := rules.limitOf(s)
	if !limited {
		return 0
	}
	wait := u.rate.Throttle(limit, ms)
	if k == Request {
		wait = min(wait, q.o.Clients.Size.Milliseconds()) // Kafka throttles requests by no more at a time
	}
	return time.Duration(wait) * time.Millisecond
}

// MostInWindow is how much fits into a window at the limit: an answer that is
// larger could never be sent. It is the largest int64 without a limit.
func (q *Quotas) MostInWindow(k Kind, user, client string) int64 {
	rules := q.ruleset(k)
	if rules == nil {
		return math.MaxInt64
	}
	limit, limited := rules.limitOf(rules.subjectOf(user, client))
	if !limited {
		return math.MaxInt64
	}
	return int64(limit * float64(q.o.Clients.Samples-1) * q.o.Clients.Size.Seconds())
}

// Mutate counts changes of n partitions. A strict quota that is overdrawn
// counts nothing and refuses; one that is not lets everything pass. The time is
// how long the client has to wait in either case, 0 when nothing is overdrawn.
func (q *Quotas) Mutate(user, client string, n int, strict bool, now time.Time) (wait time.Duration, refused bool) {
	rules := q.ruleset(Mutations)
	if rules == nil {
		return 0, false
	}
	s, ms := rules.subjectOf(user, client), now.UnixMilli()
	limit, limited := rules.limitOf(s)
	if !limited {
		return 0, false
	}
	u := q.usage(Mutations, s, ms)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last = ms
	overdrawn := u.bucket.wait(limit, ms)
	if strict && overdrawn > 0 {
		return time.Duration(overdrawn) * time.Millisecond, true
	}
	u.bucket.take(float64(n), limit, ms)
	if !strict {
		overdrawn = u.bucket.wait(limit, ms)
	}
	return time.Duration(overdrawn) * time.Millisecond, false
}

// bucketRest is how long a bucket is kept that nobody takes from; Kafka's time.
const bucketRest = time.Hour

// usage finds what s has used of a kind.
func (q *Quotas) usage(k Kind, s subject, now int64) *usage {
	q.mu.Lock()
	defer q.mu.Unlock()
	if u := q.used[k][s]; u != nil {
		return u
	}
	if now-q.cleared >= q.o.Clients.span() {
		q.forgetLocked(now)
	}
	if q.used[k] == nil {
		q.used[k] = make(map[subject]*usage)
	}
	u := &usage{last: now}
	if k == Mutations {
		u.bucket = &bucket{window: q.o.Mutations}
	} else {
		u.rate = NewRate(q.o.Clients)
	}
	q.used[k][s] = u
	return u
}

// forgetLocked drops those that came to rest, so that client ids that are
// never used again do not pile up.
func (q *Quotas) forgetLocked(now int64) {
	q.cleared = now
	for k := range q.used {
		for s, u := range q.used[k] {
			u.mu.Lock()
			rest := u.bucket != nil && now-u.last >= bucketRest.Milliseconds() ||
				u.rate != nil && u.rate.Idle(now) && now-u.last >= q.o.Clients.span()
			u.mu.Unlock()
			if rest {
				delete(q.used[k], s)
			}
		}
	}
}
