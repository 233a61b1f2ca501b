package telemetry

import (
	"container/list"
	"errors"
	"sync"
	"time"
)

// What a client's request is refused for.
var (
	// ErrThrottled: it came before the interval was over.
	ErrThrottled = errors.New("the interval between two requests is not over")
	// ErrTerminated: the client said before that it goes away.
	ErrTerminated = errors.New("the client has announced its end before")
	// ErrUnknownSubscription: the metrics answer to another subscription.
	ErrUnknownSubscription = errors.New("unknown subscription id")
	// ErrUnsupportedCompression: no such codec.
	ErrUnsupportedCompression = errors.New("unsupported compression type")
	// ErrTooLarge: the metrics are larger than allowed.
	ErrTooLarge = errors.New("the metrics are too large")
)

// Bounds of what is remembered of clients.
const (
	maxInstances = 16384
	leastExpiry  = time.Minute
)

// Compressions are the codecs that clients may send with, the preferred ones
// first: zstd, lz4, gzip, snappy. 0, for none, is always accepted.
func Compressions() []int8 { return []int8{4, 3, 1, 2} }

// Registry remembers the clients that asked for subscriptions.
type Registry struct {
	mu     sync.Mutex
	byID   map[[16]byte]*list.Element
	recent list.List // of *instance, the one used last in front
	counts Stats
}

// Stats counts what clients sent since the start.
type Stats struct {
	Clients         int   // that are remembered now
	Accepted, Bytes int64 // pushes that were accepted, and how large their metrics were, compressed
	Refused         int64
}

// Stats returns the counts.
func (r *Registry) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.counts
	s.Clients = len(r.byID)
	return s
}

// instance is one client.
type instance struct {
	client     Client
	assignment Assignment
	generation uint32 // of the subscriptions that the assignment was made from

	used, lastGet, lastPush time.Time
	lastError               error
	terminating             bool
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry {
	return &Registry{byID: make(map[[16]byte]*list.Element)}
}

// Subscribe answers a client that asks for its subscription. instanceText is its
// instance id in letters, for the subscriptions that match by it.
func (r *Registry) Subscribe(c Client, instanceText string, subscriptions []Subscription) (Assignment, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	i := r.instanceLocked(c, instanceText, subscriptions, now)
	early := now.Sub(i.lastGet) < i.interval() || now.Sub(i.lastPush) < i.interval()
	if !early {
		i.lastGet = now
	} else if i.lastError != ErrUnknownSubscription && i.lastError != ErrUnsupportedCompression {
		return Assignment{}, ErrThrottled
	}
	i.lastError = nil
	return i.assignment, nil
}

// Push is metrics that a client sends.
type Push struct {
	SubscriptionID int32
	Terminating    bool // the client goes away
	Compression    int8
	Size, MaxSize  int // of the metrics, in bytes
}

// Accept checks metrics that a client sends.
func (r *Registry) Accept(c Client, instanceText string, subscriptions []Subscription, p Push) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	i := r.instanceLocked(c, instanceText, subscriptions, now)
	i.lastError = i.check(p, now)
	i.terminating = p.Terminating
	if i.lastError != nil {
		r.counts.Refused++
	} else {
		r.counts.Accepted++
		r.counts.Bytes += int64(p.Size)
	}
	return i.lastError
}

func (i *instance) check(p Push, now time.Time) error {
	if i.terminating {
		return ErrTerminated
	}
	// The first one after a question comes when the client likes: it waits for a
	// part of the interval by chance.
	inTime := i.lastGet.After(i.lastPush) || now.Sub(i.lastPush) >= i.interval()
	if inTime {
		i.lastPush = now
	}
	switch {
	case !inTime && !p.Terminating:
		return ErrThrottled
	case p.SubscriptionID != i.assignment.ID:
		return ErrUnknownSubscription
	case p.Compression < 0 || p.Compression > 4:
		return ErrUnsupportedCompression
	case p.Size > p.MaxSize:
		return ErrTooLarge
	}
	return nil
}

func (i *instance) interval() time.Duration {
	return time.Duration(i.assignment.Interval) * time.Millisecond
}

// instanceLocked finds a client or takes it in. One whose subscriptions changed
// begins anew, so that it may ask at once.
func (r *Registry) instanceLocked(c Client, text string, subscriptions []Subscription, now time.Time) *instance {
	r.forgetLocked(now)
	current := generation(subscriptions)
	if e, ok := r.byID[c.InstanceID]; ok {
		i := e.Value.(*instance)
		if i.generation != current {
			*i = instance{client: i.client, generation: current, assignment: assign(&i.client, text, subscriptions)}
		}
		i.used = now
		r.recent.MoveToFront(e)
		return i
	}
	i := &instance{client: c, generation: current, assignment: assign(&c, text, subscriptions), used: now}
	r.byID[c.InstanceID] = r.recent.PushFront(i)
	return i
}

// forgetLocked drops the clients that were not heard of for long, and makes room
// for one more.
func (r *Registry) forgetLocked(now time.Time) {
	for e := r.recent.Back(); e != nil; e = r.recent.Back() {
		i := e.Value.(*instance)
		if now.Sub(i.used) < max(leastExpiry, 3*i.interval()) && len(r.byID) < maxInstances {
			return
		}
		delete(r.byID, i.client.InstanceID)
		r.recent.Remove(e)
	}
}
