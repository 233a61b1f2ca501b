package txn

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	a0 = Partition{"a", 0}
	b1 = Partition{"b", 1}
)

func TestCommitOfBothVersions(t *testing.T) {
	for _, v := range []Version{Version0, Version2} {
		m := newMemory()
		c := m.open(t)
		p := begin(t, c, "x")
		for round := range 3 {
			add(t, c, "x", p, v, a0)
			add(t, c, "x", p, v, b1, a0)
			next, err := c.End("x", p, round != 1, v)
			if err != nil {
				t.Fatalf("version %d, round %d: %v", v, round, err)
			}
			want := p
			if v.bumps() {
				want.Epoch++
			}
			if next != want {
				t.Errorf("version %d: goes on with %v, want %v", v, next, want)
			}
			for _, k := range m.markers {
				if k.ProducerEpoch != want.Epoch || k.Commit != (round != 1) || k.CoordinatorEpoch != 4 || k.Version != v {
					t.Errorf("version %d, round %d: marker %+v", v, round, k)
				}
			}
			if len(m.markers) != 2 {
				t.Errorf("markers: %s", m.took())
			}
			m.took()
			p = next
		}
	}
}

func TestWrongEnds(t *testing.T) {
	m := newMemory()
	c := m.open(t)
	p := begin(t, c, "x")
	old := Producer{p.ID, p.Epoch}
	check := func(what string, p Producer, commit bool, v Version, want error) {
		t.Helper()
		if _, err := c.End("x", p, commit, v); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	check("commit of nothing", p, true, Version0, ErrInvalidState)
	check("abort of nothing", p, false, Version0, ErrInvalidState)
	check("commit of nothing, version 2", p, true, Version2, ErrInvalidState)
	check("other producer", Producer{p.ID + 1, 0}, true, Version2, ErrProducerIDMapping)
	check("other epoch", Producer{p.ID, 5}, true, Version0, ErrProducerFenced)
	check("other epoch, version 2", Producer{p.ID, 5}, true, Version2, ErrProducerFenced)
	add(t, c, "x", p, Version2, a0)
	check("commit", p, true, Version2, nil)
	check("commit again", old, true, Version2, nil)
	check("abort after commit", old, false, Version2, ErrInvalidState)
	p.Epoch++
	check("commit of nothing after a commit", p, true, Version2, ErrInvalidState)
	check("abort of nothing after a commit", p, false, Version2, nil)
	check("two epochs back", old, true, Version2, ErrProducerFenced)
	if _, err := c.End("", p, true, Version2); !errors.Is(err, ErrInvalidRequest) {
		t.Errorf("empty id: %v", err)
	}
	if _, err := c.End("y", p, true, Version2); !errors.Is(err, ErrProducerIDMapping) {
		t.Errorf("unknown id: %v", err)
	}
	if got := m.took(); got != "commit a-0 p1000/1" {
		t.Errorf("markers: %s", got)
	}
}

func TestRepeatedEndVersion0(t *testing.T) {
	c := newMemory().open(t)
	p := begin(t, c, "x")
	add(t, c, "x", p, Version0, a0)
	for i, want := range []error{nil, nil, ErrInvalidState} {
		if _, err := c.End("x", p, i < 2, Version0); !errors.Is(err, want) {
			t.Errorf("end %d: %v, want %v", i, err, want)
		}
	}
}

func TestInitProducerID(t *testing.T) {
	m := newMemory()
	c := m.open(t)
	for _, r := range []struct {
		r    InitRequest
		want error
	}{
		{InitRequest{ID: "", TimeoutMs: 1}, ErrInvalidRequest},
		{InitRequest{ID: "x", TimeoutMs: 0}, ErrInvalidTimeout},
		{InitRequest{ID: "x", TimeoutMs: 900_001}, ErrInvalidTimeout},
		{InitRequest{ID: "x", TimeoutMs: 1, TwoPhaseCommit: true}, ErrTwoPhaseCommit},
	} {
		if _, err := c.InitProducerID(r.r); !errors.Is(err, r.want) {
			t.Errorf("%+v: %v, want %v", r.r, err, r.want)
		}
	}
	p := begin(t, c, "x")
	ask := func(e Producer) (Producer, error) {
		return c.InitProducerID(InitRequest{ID: "x", TimeoutMs: 1000, Expected: &e})
	}
	next, err := ask(p)
	if err != nil || next != (Producer{p.ID, 1}) {
		t.Fatalf("bump: %v %v", next, err)
	}
	if again, err := ask(p); err != nil || again != next {
		t.Errorf("repeated bump: %v %v", again, err)
	}
	if _, err := ask(Producer{p.ID, 7}); !errors.Is(err, ErrProducerFenced) {
		t.Errorf("foreign epoch: %v", err)
	}
	if _, err := ask(Producer{p.ID + 5, 0}); !errors.Is(err, ErrProducerFenced) {
		t.Errorf("foreign id: %v", err)
	}
	add(t, c, "x", next, Version0, a0)
	if _, err := ask(next); !errors.Is(err, ErrConcurrent) {
		t.Errorf("over an open transaction: %v", err)
	}
	if got := m.took(); got != "abort a-0 p1000/2" {
		t.Errorf("markers: %s", got)
	}
	if got := begin(t, c, "x"); got != (Producer{p.ID, 3}) {
		t.Errorf("after the abort: %v", got)
	}
}

func TestEpochsUsedUp(t *testing.T) {
	m := newMemory()
	c := m.open(t)
	p := begin(t, c, "x")
	c.txns["x"].epoch = lastEpoch
	p.Epoch = lastEpoch
	add(t, c, "x", p, Version2, a0)
	next, err := c.End("x", p, true, Version2)
	if err != nil || next != (Producer{p.ID + 1, 0}) {
		t.Fatalf("end: %v %v", next, err)
	}
	if got := m.took(); got != "commit a-0 p1000/32767" {
		t.Errorf("markers: %s", got)
	}
	if again, err := c.End("x", p, true, Version2); err != nil || again != next {
		t.Errorf("repeated: %v %v", again, err)
	}
	c.txns["x"].epoch = lastEpoch
	if got := begin(t, c, "x"); got != (Producer{p.ID + 2, 0}) {
		t.Errorf("init: %v", got)
	}
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		c := m.open(t)
		p := begin(t, c, "x")
		time.Sleep(time.Hour) // a producer without a transaction has all the time
		add(t, c, "x", p, Version0, a0)
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if got := m.took(); got != "" {
			t.Errorf("before the timeout: %s", got)
		}
		time.Sleep(12 * time.Second)
		synctest.Wait()
		if got := m.took(); got != "abort a-0 p1000/1" {
			t.Errorf("after the timeout: %s", got)
		}
		if _, err := c.End("x", p, true, Version0); !errors.Is(err, ErrProducerFenced) {
			t.Errorf("the old producer: %v", err)
		}
		if c.check != nil {
			t.Error("a timer runs and no transaction is open")
		}
		c.Close()
	})
}

func TestMarkersAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		c := m.open(t)
		p := begin(t, c, "x")
		add(t, c, "x", p, Version2, a0, b1, Partition{"gone", 0}, Partition{"stale", 0})
		broken := errors.New("disk")
		m.mark = func(k Marker) error {
			return map[string]error{"a": broken, "gone": ErrNoPartition, "stale": ErrStale}[k.Topic]
		}
		next, err := c.End("x", p, true, Version2)
		if err != nil || next.Epoch != 1 {
			t.Fatal(next, err)
		}
		if got := m.took(); got != "commit b-1 p1000/1" {
			t.Errorf("markers: %s", got)
		}
		if err := c.AddPartitions("x", next, []Partition{a0}, Version2); !errors.Is(err, ErrConcurrent) {
			t.Errorf("next transaction: %v", err)
		}
		if _, err := c.End("x", p, true, Version2); !errors.Is(err, ErrConcurrent) {
			t.Errorf("repeated end: %v", err)
		}
		if _, err := c.InitProducerID(InitRequest{ID: "x", TimeoutMs: 1}); !errors.Is(err, ErrConcurrent) {
			t.Errorf("init: %v", err)
		}
		time.Sleep(time.Minute)
		m.mu.Lock()
		m.mark = nil
		m.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := m.took(); got != "commit a-0 p1000/1" {
			t.Errorf("markers: %s", got)
		}
		if got := state(t, c, "x"); got != "CompleteCommit p1000/1 []" {
			t.Error(got)
		}
		c.Close()
	})
}

func TestExpiry(t *testing.T) {
	m := newMemory()
	c := m.open(t)
	p := begin(t, c, "open")
	add(t, c, "open", p, Version2, a0)
	begin(t, c, "idle")
	if err := c.RemoveExpired(time.Now().Add(6 * 24 * time.Hour)); err != nil || state(t, c, "idle")[:5] != "Empty" {
		t.Fatal(err)
	}
	if err := c.RemoveExpired(time.Now().Add(8 * 24 * time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Coordinator{c, m.open(t)} {
		if got := state(t, c, "idle"); got != ErrNotFound.Error() {
			t.Errorf("idle: %s", got)
		}
		if got := state(t, c, "open"); got != "Ongoing p1000/0 [{a 0}]" {
			t.Errorf("open: %s", got)
		}
	}
	if got := begin(t, c, "idle"); got.Epoch != 0 || got.ID == 1001 {
		t.Errorf("after expiry: %v", got)
	}
}

// TestCrash stops the log after each of its records and starts anew: what was
// decided is completed on every partition, what was not goes on.
func TestCrash(t *testing.T) {
	down := errors.New("down")
	for after := range 4 {
		for marked := range 3 {
			m := newMemory()
			c := m.open(t)
			p := begin(t, c, "x")
			m.appended = 0
			m.fail = func(m *memory) error {
				if m.appended >= after {
					return down
				}
				return nil
			}
			m.mark = func(Marker) error {
				if len(m.markers) >= marked {
					return down
				}
				return nil
			}
			added := c.AddPartitions("x", p, []Partition{a0, b1}, Version2)
			_, ended := c.End("x", p, true, Version2)
			c.Close()
			if (added == nil) != (after >= 1) || (ended == nil) != (after >= 2) {
				t.Fatalf("%d records: add %v, end %v", after, added, ended)
			}
			m.took()
			m.fail, m.mark = nil, nil
			c = m.open(t)
			got, markers := state(t, c, "x"), m.took()
			want, wantMarkers := "CompleteCommit p1000/1 []", "commit a-0 p1000/1, commit b-1 p1000/1"
			switch {
			case after == 0:
				want, wantMarkers = "Empty p1000/0 []", ""
			case after == 1:
				want, wantMarkers = "Ongoing p1000/0 [{a 0} {b 1}]", ""
			case after == 3 && marked == 2:
				wantMarkers = "" // all was done
			}
			if got != want || markers != wantMarkers {
				t.Errorf("%d records, %d markers: %s; %s", after, marked, got, markers)
			}
		}
	}
}

func TestHoldKeepsTheEndWaiting(t *testing.T) {
	m := newMemory()
	c := m.open(t)
	var released atomic.Bool
	m.mark = func(Marker) error {
		if !released.Load() {
			t.Error("marker while the transaction is held")
		}
		return nil
	}
	p := begin(t, c, "x")
	h, err := c.Hold("x", p)
	if err != nil {
		t.Fatal(err)
	}
	if h.Has(a0) {
		t.Error("partition is there before it was added")
	}
	if err := h.Add([]Partition{a0}, Version2); err != nil || !h.Has(a0) {
		t.Error("partition is not there", err)
	}
	ended := make(chan error)
	go func() {
		_, err := c.End("x", p, true, Version2)
		ended <- err
	}()
	released.Store(true)
	h.Release()
	if err := <-ended; err != nil || m.took() == "" {
		t.Error("no end after the release", err)
	}
}

func TestForgetAndClose(t *testing.T) {
	m := newMemory()
	c := m.open(t)
	p := begin(t, c, "x")
	c.Forget()
	if _, err := c.Hold("x", p); !errors.Is(err, ErrNotCoordinator) {
		t.Errorf("after Forget: %v", err)
	}
	clear(m.batches) // the topic is made anew
	for n := range m.count {
		c.Lead(n)
	}
	if _, err := c.Hold("x", p); !errors.Is(err, ErrProducerIDMapping) {
		t.Errorf("in the new topic: %v", err)
	}
	m.count = 0
	if _, err := c.Describe("x"); !errors.Is(err, ErrNotCoordinator) {
		t.Errorf("without a topic: %v", err)
	}
	c.Close()
	c.Close()
	if _, err := c.InitProducerID(InitRequest{ID: "x", TimeoutMs: 1}); !errors.Is(err, ErrNotAvailable) {
		t.Errorf("closed: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m.count = 1
	if err := c.Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("load without a context: %v", err)
	}
}

// TestPartitionLedLater has one partition of the log without a leader, and one
// that cannot be read: only their ids are refused. With a leader, what was
// decided there is completed.
func TestPartitionLedLater(t *testing.T) {
	m := newMemory()
	c := m.open(t)
	for _, id := range []string{"x", "y", "z"} { // one to each partition
		add(t, c, id, begin(t, c, id), Version2, a0)
	}
	down := errors.New("down")
	m.mark = func(Marker) error { return down }
	if _, err := c.End("y", Producer{c.txns["y"].producerID, 0}, true, Version2); err != nil {
		t.Fatal(err)
	}
	c.Close()
	m.mark = nil
	m.unreadable = map[int32]error{PartitionFor("y", 3): ErrNoPartition, PartitionFor("z", 3): down}
	c = m.open(t)
	if got := state(t, c, "x"); got != "Ongoing p1000/0 [{a 0}]" {
		t.Error(got)
	}
	for _, id := range []string{"y", "z"} {
		if _, err := c.InitProducerID(InitRequest{ID: id, TimeoutMs: 1}); !errors.Is(err, ErrNotCoordinator) {
			t.Errorf("%s: %v", id, err)
		}
	}
	if got := m.took(); got != "" {
		t.Errorf("markers: %s", got)
	}
	m.unreadable = nil
	c.Lead(PartitionFor("y", 3))
	if got := state(t, c, "y"); got != "CompleteCommit p1001/1 []" {
		t.Error(got)
	}
	if got := m.took(); got != "commit a-0 p1001/1" {
		t.Errorf("markers: %s", got)
	}
}

// TestResign: the ids of one partition of the log are let go, and are as they were when it comes back.
func TestResign(t *testing.T) {
	m := newMemory()
	c := m.open(t)
	p := begin(t, c, "x")
	home, err := c.home("x")
	if err != nil {
		t.Fatal(err)
	}
	other := "y"
	for at := home; at == home; other += "y" {
		if at, err = c.home(other + "y"); err != nil {
			t.Fatal(err)
		}
	}
	q := begin(t, c, other)
	c.Resign(home)
	if _, err := c.Hold("x", p); !errors.Is(err, ErrNotCoordinator) {
		t.Errorf("after Resign: %v", err)
	}
	h, err := c.Hold(other, q)
	if err != nil {
		t.Fatalf("of another partition: %v", err)
	}
	h.Release()
	c.Lead(home)
	if h, err = c.Hold("x", p); err != nil {
		t.Fatalf("after Lead: %v", err)
	}
	h.Release()
}
