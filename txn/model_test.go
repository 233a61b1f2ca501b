package txn

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// model is what a coordinator must know, kept beside it: the test takes random
// steps, lets the log and the partitions fail, and crashes the coordinator after
// any of its records.
type model struct {
	t    *testing.T
	rand *rand.Rand
	log  *memory
	c    *Coordinator
	ids  map[string]*modelID
	seen int // markers of the log that were looked at
	down bool
	did  map[string]int
}

// modelID is one transactional id.
type modelID struct {
	name     string
	version  Version
	producer Producer // what the client holds
	highest  Producer // of all that were given out
	state    State
	parts    []Partition
	began    time.Time
	marked   map[Partition]bool // outcome of this transaction's markers
	owner    int64              // producer id of the transaction
}

var errDown = errors.New("down")

func TestModel(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			m := &model{t: t, rand: rand.New(rand.NewPCG(seed, 1)), log: newMemory(), ids: map[string]*modelID{}, did: map[string]int{}}
			m.c = m.log.open(t)
			for n, version := range []Version{Version0, Version2, Version2, Version0} {
				name := fmt.Sprintf("id-%d", n)
				m.ids[name] = &modelID{name: name, version: version, producer: Producer{-1, -1}}
			}
			for range 300 {
				m.step()
				m.check()
				if t.Failed() {
					t.Fatalf("seed %d: %v", seed, m.did)
				}
			}
			m.recover()
			m.check()
			m.c.Close()
		})
	}
}

func (m *model) step() {
	x := m.ids[fmt.Sprintf("id-%d", m.rand.IntN(len(m.ids)))]
	switch m.rand.IntN(20) {
	case 0, 1:
		m.init(x)
	case 2, 3, 4, 5, 6:
		m.add(x)
	case 7, 8, 9, 10, 11:
		m.end(x, m.rand.IntN(3) > 0)
	case 12:
		m.failSoon()
	case 13, 14:
		m.recover()
	case 15:
		m.restart()
	case 16:
		m.passTime(time.Duration(1+m.rand.IntN(20)) * time.Second)
	case 17:
		m.passTime(3 * time.Minute)
	case 18:
		m.failMarkers()
	default:
		m.endStale(x)
	}
}

// failSoon lets the log take a few records more.
func (m *model) failSoon() {
	left := m.rand.IntN(4)
	m.log.mu.Lock()
	defer m.log.mu.Unlock()
	m.log.fail = func(*memory) error {
		if left == 0 {
			return errDown
		}
		left--
		return nil
	}
	m.down = true
}

func (m *model) failMarkers() {
	m.log.mu.Lock()
	defer m.log.mu.Unlock()
	m.log.mark = func(k Marker) error {
		if k.Topic == "b" {
			return errDown
		}
		return nil
	}
	m.down = true
}

// recover ends all failures; what was decided is completed soon.
func (m *model) recover() {
	m.log.mu.Lock()
	m.log.fail, m.log.mark = nil, nil
	m.log.mu.Unlock()
	m.down = false
	m.passTime(2 * lastRetry)
	for _, x := range m.ids {
		if x.state.prepared() {
			m.t.Errorf("%s is %s although nothing fails any more", x.name, x.state)
		}
	}
}

// restart crashes the coordinator and loads another from the log.
func (m *model) restart() {
	m.c.Close()
	m.log.mu.Lock()
	m.log.fail, m.log.mark = nil, nil
	m.log.mu.Unlock()
	m.down = false
	m.c = m.log.open(m.t)
	m.did["restart"]++
	for _, x := range m.ids {
		if x.state.prepared() { // completed at the load
			x.state += CompleteCommit - PrepareCommit
		}
	}
}

func (m *model) passTime(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	for _, x := range m.ids {
		got, err := m.c.Describe(x.name)
		if err != nil {
			continue
		}
		if x.state == Ongoing && got.State != Ongoing && time.Since(x.began) > time.Minute {
			x.state = PrepareAbort // timed out
			m.did["time-out"]++
		}
		m.settle(x, got.State)
	}
}

// settle follows what needs no request: the completion of a decided transaction.
func (m *model) settle(x *modelID, got State) {
	if x.state.prepared() && got == x.state+(CompleteCommit-PrepareCommit) {
		x.state = got
	}
}

func (m *model) init(x *modelID) {
	p, err := m.c.InitProducerID(InitRequest{ID: x.name, TimeoutMs: 60_000})
	m.did["init"]++
	switch {
	case err == nil:
		if x.state == Ongoing || x.state.prepared() {
			m.t.Errorf("%s: a producer was given out in state %s", x.name, x.state)
		}
		if p.ID == x.highest.ID && p.Epoch <= x.highest.Epoch && x.highest != (Producer{}) {
			m.t.Errorf("%s: %v was given out after %v", x.name, p, x.highest)
		}
		x.producer, x.highest, x.state, x.parts = p, p, Empty, nil
	case errors.Is(err, ErrConcurrent) && x.state == Ongoing: // fenced
		x.state = PrepareAbort
		m.settleNow(x)
	case errors.Is(err, ErrConcurrent) && x.state.prepared():
	case errors.Is(err, ErrNotAvailable) && m.down:
	default:
		m.t.Errorf("%s: init in state %s: %v", x.name, x.state, err)
	}
}

func (m *model) settleNow(x *modelID) {
	got, err := m.c.Describe(x.name)
	if err != nil {
		m.t.Errorf("%s: %v", x.name, err)
		return
	}
	m.settle(x, got.State)
}

func (m *model) add(x *modelID) {
	parts := []Partition{{"a", int32(m.rand.IntN(2))}, {"b", int32(m.rand.IntN(2))}}[:1+m.rand.IntN(2)]
	err := m.c.AddPartitions(x.name, x.producer, parts, x.version)
	m.did["add"]++
	switch {
	case err == nil:
		if x.producer.ID < 0 || x.state.prepared() {
			m.t.Errorf("%s: partitions were added in state %s", x.name, x.state)
		}
		if x.state != Ongoing {
			x.state, x.parts, x.began, x.owner, x.marked = Ongoing, nil, time.Now(), x.producer.ID, map[Partition]bool{}
		}
		for _, p := range parts {
			if !slices.Contains(x.parts, p) {
				x.parts = append(x.parts, p)
			}
		}
	case errors.Is(err, ErrProducerIDMapping) && x.producer.ID < 0:
	case errors.Is(err, ErrProducerFenced): // by a time-out or an init
	case errors.Is(err, ErrConcurrent) && x.state.prepared():
	case errors.Is(err, ErrNotAvailable) && m.down:
	default:
		m.t.Errorf("%s: add in state %s: %v", x.name, x.state, err)
	}
}

func (m *model) end(x *modelID, commit bool) {
	next, err := m.c.End(x.name, x.producer, commit, x.version)
	m.did["end"]++
	decided := PrepareAbort
	if commit {
		decided = PrepareCommit
	}
	switch {
	case err == nil && x.state == Ongoing:
		if want := x.producer.Epoch + int16(x.version/Version2); next != (Producer{x.producer.ID, want}) {
			m.t.Errorf("%s: goes on with %v after %v", x.name, next, x.producer)
		}
		x.state = decided
		x.producer, x.highest = next, next
		m.settleNow(x)
	case err == nil && !commit && x.version.bumps(): // an abort of nothing, or a repeat
		x.producer, x.highest, x.parts = next, next, nil
		x.state = PrepareAbort
		m.settleNow(x)
	case err == nil && (x.state == CompleteCommit) == commit: // a repeat
	case err == nil:
		m.t.Errorf("%s: end (commit %v) in state %s was taken", x.name, commit, x.state)
	case errors.Is(err, ErrNotAvailable) && m.down:
	case errors.Is(err, ErrProducerFenced), errors.Is(err, ErrConcurrent), errors.Is(err, ErrInvalidState), errors.Is(err, ErrProducerIDMapping):
		if x.state == Ongoing && x.producer == x.highest && errors.Is(err, ErrInvalidState) {
			m.t.Errorf("%s: end of an open transaction: %v", x.name, err)
		}
	default:
		m.t.Errorf("%s: end in state %s: %v", x.name, x.state, err)
	}
}

// endStale ends with an epoch that was replaced long ago.
func (m *model) endStale(x *modelID) {
	old := Producer{x.producer.ID, x.producer.Epoch - 2}
	if old.Epoch < 0 {
		return
	}
	if _, err := m.c.End(x.name, old, true, x.version); err == nil {
		m.t.Errorf("%s: an end with epoch %d was taken, it is %d", x.name, old.Epoch, x.producer.Epoch)
	}
}

// check compares every id with the coordinator, and the markers with the
// decisions.
func (m *model) check() {
	m.log.mu.Lock()
	markers := slices.Clone(m.log.markers[m.seen:])
	m.seen = len(m.log.markers)
	m.log.mu.Unlock()
	for _, k := range markers {
		m.checkMarker(k)
	}
	for _, x := range m.ids {
		if x.highest == (Producer{}) {
			continue
		}
		got, err := m.c.Describe(x.name)
		if err != nil || got.State != x.state {
			m.t.Errorf("%s: %s, %v; want %s", x.name, got.State, err, x.state)
			continue
		}
		if x.state == Ongoing && !slices.Equal(sorted(got.Partitions), sorted(x.parts)) {
			m.t.Errorf("%s: partitions %v, want %v", x.name, got.Partitions, x.parts)
		}
		if x.state != CompleteCommit && x.state != CompleteAbort {
			continue
		}
		for _, p := range x.parts {
			if commit, ok := x.marked[p]; !ok || commit != (x.state == CompleteCommit) {
				m.t.Errorf("%s is %s: marker of %v: %v, commit %v", x.name, x.state, p, ok, commit)
			}
		}
	}
}

// checkMarker finds the transaction of a marker: there may be several of a
// partition, never with another outcome.
func (m *model) checkMarker(k Marker) {
	for _, x := range m.ids {
		if x.owner != k.ProducerID || x.marked == nil {
			continue
		}
		if !slices.Contains(x.parts, k.Partition) || x.state == Ongoing {
			m.t.Errorf("%s is %s with %v: marker for %v", x.name, x.state, x.parts, k.Partition)
		}
		if commit, ok := x.marked[k.Partition]; ok && commit != k.Commit {
			m.t.Errorf("%s: markers of both kinds for %v", x.name, k.Partition)
		}
		x.marked[k.Partition] = k.Commit
		return
	}
	m.t.Errorf("marker %+v is of no transaction", k)
}

func sorted(list []Partition) []Partition {
	return slices.SortedFunc(slices.Values(list), func(a, b Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
}
