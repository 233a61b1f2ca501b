package group

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// actor is a client that follows the classic protocol: it joins, syncs, sends
// heartbeats and commits, and does as it is told. It may die or leave at any time.
type actor struct {
	b        *bench
	rng      *rand.Rand
	name     string
	instance *string
	dead     chan struct{}

	mu         sync.Mutex // for the model; only the actor writes
	memberID   string
	generation int32
	part       string
}

// be notes who the actor is in the group, and what it was given.
func (a *actor) be(memberID string, generation int32, part string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.memberID, a.generation, a.part = memberID, generation, part
}

func (a *actor) run() {
	for !a.gone() {
		if !a.join() {
			continue
		}
		for !a.gone() && a.beat() {
			time.Sleep(time.Duration(500+a.rng.IntN(2000)) * time.Millisecond)
		}
	}
}

func (a *actor) gone() bool {
	select {
	case <-a.dead:
		return true
	default:
		return false
	}
}

// join joins and syncs; it says whether the actor is in a generation now.
func (a *actor) join() bool {
	r := ask("g", a.memberID, needsID, func(r *JoinRequest) {
		r.ClientID, r.InstanceID = a.name, a.instance
		r.Protocols[0].Metadata = []byte(a.name)
	})
	joined, err := a.b.Join(context.Background(), r)
	if err != nil {
		a.b.t.Errorf("join: %v", err)
	}
	switch joined.Err {
	case nil:
	case ErrUnknownMember, ErrFencedInstance:
		a.be("", 0, "")
		time.Sleep(100 * time.Millisecond)
		return false
	default:
		a.be(joined.MemberID, 0, "")
		time.Sleep(100 * time.Millisecond)
		return false
	}
	a.be(joined.MemberID, joined.Generation, "")
	s := &SyncRequest{GroupID: "g", Generation: joined.Generation, MemberID: joined.MemberID, InstanceID: a.instance}
	for _, m := range joined.Members {
		if !joined.SkipAssignment {
			s.Assignments = append(s.Assignments, Assignment{m.ID, fmt.Appendf(nil, "%d/%s", joined.Generation, m.Metadata)})
		}
	}
	if a.gone() {
		return false
	}
	synced, err := a.b.Sync(context.Background(), s)
	if err != nil {
		a.b.t.Errorf("sync: %v", err)
	}
	if synced.Err != nil {
		time.Sleep(100 * time.Millisecond) // as clients do, which would else spin on a full disk
		return false
	}
	a.be(joined.MemberID, joined.Generation, string(synced.Assignment))
	return true
}

// beat shows that the actor lives; it says whether it may stay.
func (a *actor) beat() bool {
	err := a.b.Heartbeat(&HeartbeatRequest{GroupID: "g", Generation: a.generation, MemberID: a.memberID, InstanceID: a.instance})
	switch err {
	case nil:
		_, err = a.b.Commit(&CommitRequest{GroupID: "g", RetentionMs: -1,
			Committer:  Committer{MemberID: a.memberID, InstanceID: a.instance, Generation: a.generation},
			Partitions: []CommitPartition{{PartitionName: PartitionName{a.name, 0}, Offset: int64(a.generation)}}})
		return err == nil || errors.Is(err, ErrStorage)
	case ErrUnknownMember, ErrFencedInstance:
		a.be("", 0, "")
	}
	return false
}

// TestRandomMembers lets members come, leave, die and return, the broker restart
// and the disk fill up. Whenever nothing has happened for a while, the group must
// be stable with exactly the living members, each with the part that the leader
// gave it in one generation; and a restart must find the same.
func TestRandomMembers(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			m := model{t: t, rng: rand.New(rand.NewPCG(seed, 1)), b: newBench(t, func(s *Settings) {
				s.InitialRebalanceDelayMs = int32(seed%3) * 1000
			}), living: map[string]*actor{}}
			for range 20 {
				m.step()
			}
			m.settle(seed)
			for _, a := range m.living {
				close(a.dead)
			}
			time.Sleep(time.Hour)
		})
	}
}

type model struct {
	t      *testing.T
	rng    *rand.Rand
	b      *bench
	living map[string]*actor
	count  int
}

func (m *model) step() {
	time.Sleep(time.Duration(m.rng.IntN(8000)) * time.Millisecond)
	switch n := m.rng.IntN(10); {
	case n < 5 || len(m.living) == 0:
		m.start()
	case n < 7:
		m.kill(true)
	case n < 9:
		m.kill(false)
	default:
		m.b.log.failWith(errDisk)
		time.Sleep(time.Second)
		m.b.log.failWith(nil)
	}
}

func (m *model) start() {
	m.count++
	a := &actor{b: m.b, rng: rand.New(rand.NewPCG(uint64(m.count), m.rng.Uint64())), name: fmt.Sprint("a", m.count), dead: make(chan struct{})}
	if m.rng.IntN(3) == 0 {
		name := fmt.Sprint("i", m.rng.IntN(3))
		for _, other := range m.living {
			if other.instance != nil && *other.instance == name {
				return // two of one instance would fence each other for ever
			}
		}
		a.instance = &name
	}
	m.living[a.name] = a
	go a.run()
}

// kill ends a member, with or without saying goodbye.
func (m *model) kill(leave bool) {
	for _, a := range m.living {
		delete(m.living, a.name)
		close(a.dead)
		a.mu.Lock()
		id := a.memberID
		a.mu.Unlock()
		if leave && id != "" {
			m.b.Leave("g", []Leaving{{MemberID: id, InstanceID: a.instance}})
		}
		return
	}
}

// settle waits and checks.
func (m *model) settle(seed uint64) {
	m.t.Helper()
	time.Sleep(3 * time.Minute)
	synctest.Wait()
	m.check(seed, m.b)
	again := New(Options{Settings: func() Settings { return m.b.set }, ConsumerSettings: testConsumerSettings, Topics: func() Topics { return topicSet{} }})
	again.SetPartitionCount(1)
	again.Lead(0, m.b.log)
	defer again.Close()
	m.check(seed, &bench{Coordinator: again, t: m.t, log: m.b.log})
}

func (m *model) check(seed uint64, b *bench) {
	m.t.Helper()
	d, err := b.Describe("g")
	if err != nil {
		m.t.Fatalf("seed %d: %v", seed, err)
	}
	want := "Stable"
	if len(m.living) == 0 {
		want = "Empty"
	}
	if d.State != want || len(d.Members) != len(m.living) {
		m.t.Fatalf("seed %d: %s with %d members, want %s with %d", seed, d.State, len(d.Members), want, len(m.living))
	}
	for _, member := range d.Members {
		a := m.living[string(member.Metadata)]
		if a == nil {
			m.t.Fatalf("seed %d: member %s is none of the living", seed, member.ID)
		}
		a.mu.Lock()
		if a.memberID != member.ID || a.part != string(member.Assignment) {
			m.t.Errorf("seed %d: member %s has %q; the client is %s with %q", seed, member.ID, member.Assignment, a.memberID, a.part)
		}
		if part := fmt.Sprintf("%d/%s", a.generation, a.name); a.instance == nil && a.part != part {
			m.t.Errorf("seed %d: part %q, want %q", seed, a.part, part)
		}
		a.mu.Unlock()
	}
}
