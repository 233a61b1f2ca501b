package group

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// party is what the clients of the model have in common.
type party struct {
	m        *groupModel
	rng      *rand.Rand
	name     string
	instance *string
	topics   []string // what it subscribes to
	regex    string   // instead

	gone     chan struct{} // closed when it is to end
	goodbye  bool          // it leaves the group when it ends; set before gone is closed
	finished chan struct{} // closed when it has ended

	mu    sync.Mutex
	stall time.Duration // how long it shall stop for, as a process on a machine that hangs
}

func (p *party) base() *party { return p }

func (p *party) ended() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// rest waits, unless the client is to end.
func (p *party) rest(d time.Duration) {
	select {
	case <-p.gone:
	case <-time.After(d):
	}
}

func (p *party) hang(d time.Duration) {
	p.mu.Lock()
	p.stall = d
	p.mu.Unlock()
}

// stalled stops the client when the model says so. It reads nothing meanwhile,
// and has to show that it is still a member before it goes on.
func (p *party) stalled() bool {
	p.mu.Lock()
	d := p.stall
	p.stall = 0
	p.mu.Unlock()
	if d == 0 {
		return false
	}
	p.m.claims.dropAll(p.name)
	<-time.After(d)
	return true
}

// wants says whether it subscribes to a topic.
func (p *party) wants(topic string) bool {
	if p.regex != "" {
		pattern, err := compileRegex(p.regex)
		return err == nil && pattern.MatchString(topic)
	}
	return slices.Contains(p.topics, topic)
}

// newcomer is a client of the consumer protocol. It gives up partitions when it
// is told to, after a while; says then what it has; and comes back when it was
// told to.
type newcomer struct {
	*party
	id    string
	epoch int32

	owned  []slot
	next   []slot    // what it is told to have; nil nothing new
	ready  time.Time // when it has given up what is not in next
	say    bool      // owned is to be said
	full   bool      // everything is to be said: nobody knows whether the last words were heard
	silent bool      // it has not shown since it was stalled that it is a member
}

func (a *newcomer) run() {
	defer close(a.finished)
	for !a.ended() {
		if a.stalled() {
			a.silent = true
			continue
		}
		a.advance()
		a.rest(a.beat())
	}
	a.m.claims.dropAll(a.name)
	if a.goodbye && a.epoch > 0 {
		r := alive(a.id, leaveEpoch)
		if r.InstanceID = a.instance; a.instance != nil && a.rng.IntN(2) == 0 {
			r.Epoch = leaveStaticEpoch
		}
		a.m.coordinator().ConsumerHeartbeat(r) // a failure is as good as a crash
	}
}

// advance takes what it was told to have, once it has given up the rest.
func (a *newcomer) advance() {
	if a.next == nil || a.silent || time.Now().Before(a.ready) {
		return
	}
	a.m.claims.drop(a.name, a.owned)
	a.m.claims.take(a.name, a.next)
	a.owned, a.next, a.say = a.next, nil, true
}

// beat sends a heartbeat and returns when the next one is due.
func (a *newcomer) beat() time.Duration {
	r := alive(a.id, a.epoch)
	r.InstanceID = a.instance
	switch {
	case a.epoch == joinEpoch || a.full:
		r.RebalanceTimeoutMs, r.Owned, r.Topics, r.Regex = 30000, listOfSlots(a.owned), a.topics, &a.regex
	case a.say && a.next == nil:
		r.Owned = listOfSlots(a.owned)
	}
	got, err := a.m.coordinator().ConsumerHeartbeat(r)
	if err != nil {
		return a.refused(err)
	}
	if !a.m.calm.Load() && a.rng.IntN(15) == 0 { // the answer is lost
		a.full = true
		return 100 * time.Millisecond
	}
	a.heard(r, &got)
	if a.next != nil || a.say {
		return min(time.Until(a.ready), time.Duration(got.HeartbeatIntervalMs)*time.Millisecond)
	}
	return time.Duration(got.HeartbeatIntervalMs) * time.Millisecond
}

func (a *newcomer) heard(r *ConsumerHeartbeat, got *ConsumerHeartbeatResult) {
	if got.Epoch < a.epoch {
		a.m.claims.complain("%s: epoch %d after %d", a.name, got.Epoch, a.epoch)
	}
	if got.HeartbeatIntervalMs < askBackLeastMs || got.HeartbeatIntervalMs > 5000 {
		a.m.claims.complain("%s: asked back in %d ms", a.name, got.HeartbeatIntervalMs)
	}
	a.epoch, a.full = got.Epoch, false
	if r.Owned != nil && a.next == nil {
		a.say = false
	}
	if got.Assignment != nil {
		a.next, a.ready = slotsOf(*got.Assignment), time.Now()
	}
	loses := slices.ContainsFunc(a.owned, a.loses)
	switch {
	case a.silent && loses:
		// It may have had all its time for this while it was stalled and be thrown
		// out any moment: it gives up at once, and reads nothing before that was heard.
		a.owned, a.next, a.say = a.next, nil, true
	case a.silent:
		a.silent = false
		a.m.claims.take(a.name, a.owned)
	case got.Assignment != nil && loses:
		a.ready = a.ready.Add(time.Duration(a.rng.IntN(3000)) * time.Millisecond)
	}
}

// loses says whether it is told to give a partition up.
func (a *newcomer) loses(s slot) bool { return a.next != nil && !slices.Contains(a.next, s) }

// refused does what clients do after an error.
func (a *newcomer) refused(err error) time.Duration {
	switch {
	case errors.Is(err, ErrStorage), errors.Is(err, ErrNotCoordinator), errors.Is(err, ErrNotAvailable), errors.Is(err, ErrLoading):
		a.full = true
		return 200 * time.Millisecond
	case errors.Is(err, ErrUnreleasedInstance) && a.epoch == joinEpoch:
		return time.Second
	case errors.Is(err, ErrUnknownMember), errors.Is(err, ErrFencedEpoch):
	case errors.Is(err, ErrGroupNotFound) && a.epoch != joinEpoch: // it was out, and the rest went back to the classic protocol
	default:
		a.m.claims.complain("%s at epoch %d: %v", a.name, a.epoch, err)
	}
	a.m.claims.dropAll(a.name)
	a.epoch, a.owned, a.next, a.say, a.full, a.silent = joinEpoch, nil, nil, false, false, false
	return 10 * time.Millisecond
}
