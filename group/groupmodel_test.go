package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// modelSeedsEnv says how many random histories are tried; 300 without it.
const modelSeedsEnv = "MINIBROKER_MODEL_SEEDS"

// actorOf is a client of either protocol.
type actorOf interface {
	run()
	base() *party
}

// groupModel is a group whose clients come, leave, die, hang and return, over a
// broker that restarts, a disk that fills up and topics that grow.
type groupModel struct {
	t      *testing.T
	rng    *rand.Rand
	log    *memLog
	claims *claims
	only   string // "consumer", "classic" or "" for both protocols

	living map[string]actorOf
	count  int
	calm   atomic.Bool // no answers get lost
	// divided is the topics that a leader of a classic group last divided.
	divided atomic.Pointer[topicSet]

	mu     sync.Mutex
	c      *Coordinator
	topics topicSet
}

func (m *groupModel) coordinator() *Coordinator {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.c
}

func (m *groupModel) topicSet() topicSet {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.topics
}

// lead makes a coordinator of what is in the log.
func (m *groupModel) lead() *Coordinator {
	set := testSettings()
	c := New(Options{Settings: func() Settings { return set }, ConsumerSettings: testConsumerSettings, Topics: func() Topics { return m.topicSet() }})
	c.SetPartitionCount(1)
	c.TopicCreated(m.topicSet().version) // as at the start of a broker
	c.Lead(0, m.log)
	return c
}

// TestRandomGroup tries random histories of a group with members of the consumer
// protocol, of the classic one, and of both. No partition is ever read by two
// clients, epochs do not go back, and whenever nothing has happened for a while,
// exactly the living are members, all partitions that somebody wants are read by
// one who wants them, and a restart finds the same.
func TestRandomGroup(t *testing.T) {
	seeds := 300
	if n, err := strconv.Atoi(os.Getenv(modelSeedsEnv)); err == nil {
		seeds = n
	}
	for seed := range seeds {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &groupModel{t: t, rng: rand.New(rand.NewPCG(uint64(seed), 2)), log: newMemLog(), claims: newClaims(),
					only: []string{"consumer", "", "classic"}[seed%3], living: map[string]actorOf{}, topics: newTopicSet(1, topicA(), topicB())}
				m.c = m.lead()
				defer m.end()
				for range 3 {
					for range 12 {
						m.step()
						m.inspect()
					}
					m.settle()
				}
			})
		})
	}
}

func (m *groupModel) step() {
	time.Sleep(time.Duration(m.rng.IntN(6000)) * time.Millisecond)
	switch n := m.rng.IntN(20); {
	case n < 8 || len(m.living) == 0:
		m.start()
	case n < 10:
		m.stop(m.pick(), true)
	case n < 12:
		m.stop(m.pick(), false)
	case n < 14:
		m.pick().base().hang(time.Duration(m.rng.IntN(60)) * time.Second)
	case n < 15: // the machine hangs: all clocks jump
		d := time.Duration(m.rng.IntN(60)) * time.Second
		for _, a := range m.living {
			a.base().hang(d)
		}
	case n < 17:
		m.restart()
	case n < 18:
		m.log.failWith(errDisk)
		time.Sleep(time.Second)
		m.log.failWith(nil)
	default:
		m.growTopics()
	}
}

func (m *groupModel) start() {
	if len(m.living) > 7 {
		return
	}
	m.count++
	p := &party{m: m, rng: rand.New(rand.NewPCG(uint64(m.count), m.rng.Uint64())), name: fmt.Sprint("c", m.count),
		topics: []string{"a", "b"}, gone: make(chan struct{}), finished: make(chan struct{})}
	if m.rng.IntN(3) == 0 {
		p.topics = []string{"a"}
	}
	if m.rng.IntN(3) == 0 {
		p.instance = m.freeInstance()
	}
	var a actorOf = &oldtimer{party: p}
	if m.only == "consumer" || m.only == "" && m.rng.IntN(2) == 0 {
		if m.rng.IntN(4) == 0 {
			p.topics, p.regex = []string{}, []string{"a.*", "[ab]"}[m.rng.IntN(2)]
		}
		a = &newcomer{party: p, id: p.name}
	} else if p.instance != nil {
		// A classic group does not notice when a static member comes back and
		// wants other topics.
		p.topics = []string{"a", "b"}
	}
	m.living[p.name] = a
	go a.run()
}

// freeInstance is an instance id that none of the living has: two of one would
// fence each other for ever. nil when all are taken.
func (m *groupModel) freeInstance() *string {
	for i := range 3 {
		id := fmt.Sprint("i", i)
		if !slices.ContainsFunc(slices.Collect(maps.Values(m.living)), func(a actorOf) bool { return equalStrings(a.base().instance, &id) }) {
			return &id
		}
	}
	return nil
}

// pick chooses one of the living.
func (m *groupModel) pick() actorOf {
	names := slices.Sorted(maps.Keys(m.living))
	return m.living[names[m.rng.IntN(len(names))]]
}

// stop ends a client, with or without saying goodbye.
func (m *groupModel) stop(a actorOf, goodbye bool) {
	p := a.base()
	delete(m.living, p.name)
	p.goodbye = goodbye
	close(p.gone)
}

func (m *groupModel) restart() {
	m.coordinator().Close()
	c := m.lead()
	m.mu.Lock()
	m.c = c
	m.mu.Unlock()
}

// growTopics adds a partition to a, or makes a topic that expressions match.
func (m *groupModel) growTopics() {
	m.mu.Lock()
	all := slices.Collect(maps.Values(m.topics.byName))
	version := m.topics.version + 1
	if m.rng.IntN(3) == 0 && len(all) < 4 {
		all = append(all, Topic{ID: [16]byte{15: byte(1 + len(all))}, Name: fmt.Sprint("a", len(all)), Partitions: 2})
	} else {
		i := slices.IndexFunc(all, func(t Topic) bool { return t.Name == "a" })
		all[i].Partitions++
	}
	m.topics = newTopicSet(version, all...)
	c := m.c
	m.mu.Unlock()
	c.TopicCreated(version)
}

// inspect looks into the group, whatever goes on in it.
func (m *groupModel) inspect() {
	m.t.Helper()
	synctest.Wait()
	if g := m.coordinator().shards[0].find("g"); g != nil {
		if c, ok := g.machine.(*consumer); ok {
			m.inspectLocked(c)
		}
		g.mu.Unlock()
	}
	m.inspectLog()
	if wrong := m.claims.mistakes(); len(wrong) > 0 {
		m.t.Fatalf("%q", wrong[:1])
	}
}

// inspectLog checks that epochs and generations do not go back in the log unless
// the group had no members.
func (m *groupModel) inspectLog() {
	m.t.Helper()
	last, members := int32(0), map[string]bool{}
	follow := func(epoch int32) {
		if epoch < last && len(members) > 0 {
			m.t.Errorf("epoch %d after %d with members %v", epoch, last, members)
		}
		last = epoch
	}
	for _, r := range m.log.records(m.t, 0) {
		kind, _ := recordType(r.Key)
		switch {
		case kind == typeGroupMetadata && r.Value == nil:
			if len(members) == 0 {
				last = 0
			}
			clear(members) // those that go on in a consumer group follow
		case kind == typeGroupMetadata:
			v, err := decodeClassic(r.Value)
			if err != nil {
				m.t.Fatal(err)
			}
			follow(v.Generation)
			clear(members)
			for i := range v.Members {
				members[v.Members[i].MemberID] = true
			}
		case kind == typeConsumerMember:
			_, id, err := decodeConsumerKey(r.Key)
			if err != nil {
				m.t.Fatal(err)
			}
			if members[id] = true; r.Value == nil {
				delete(members, id)
			}
		case kind == typeConsumerGroup && r.Value != nil:
			change, err := decodeConsumerValue(kind, "", r.Value)
			if err != nil {
				m.t.Fatal(err)
			}
			follow(change.(epochChange).epoch)
		}
	}
}

// inspectLocked checks what must be so at any time.
func (m *groupModel) inspectLocked(c *consumer) {
	m.t.Helper()
	if c.targetEpoch > c.epoch {
		m.t.Errorf("target of epoch %d, the group's is %d", c.targetEpoch, c.epoch)
	}
	owners, targets := map[slot]string{}, map[slot]string{}
	for id, member := range c.members {
		if member.epoch > c.targetEpoch {
			m.t.Errorf("member %s is at epoch %d, the target is of %d", id, member.epoch, c.targetEpoch)
		}
		for _, s := range slotsOf(listOf(member.assigned.merge(member.revoking).partitions())) {
			if owners[s] != "" {
				m.t.Errorf("%x-%d belongs to %s and %s", s.topic[15], s.p, owners[s], id)
			}
			owners[s] = id
			if c.owners[s.topic][s.p] != id {
				m.t.Errorf("%x-%d belongs to %s, noted is %q", s.topic[15], s.p, id, c.owners[s.topic][s.p])
			}
		}
	}
	for id, part := range c.targets {
		for _, s := range slotsOf(listOf(part)) {
			if targets[s] != "" {
				m.t.Errorf("%x-%d is meant for %s and %s", s.topic[15], s.p, targets[s], id)
			}
			targets[s] = id
		}
	}
	noted := 0
	for _, partitions := range c.owners {
		noted += len(partitions)
	}
	if noted != len(owners) {
		m.t.Errorf("%d owners are noted, %d partitions have one", noted, len(owners))
	}
}

// settle waits until everything must have come to rest, and checks.
func (m *groupModel) settle() {
	m.t.Helper()
	m.calm.Store(true)
	defer m.calm.Store(false)
	time.Sleep(4 * time.Minute)
	synctest.Wait()
	m.inspect()
	m.checkMembers(m.coordinator())
	m.checkClaims()
	again := m.lead()
	defer again.Close()
	m.checkMembers(again)
	if before, after := textOfGroup(m.coordinator()), textOfGroup(again); before != after {
		m.t.Errorf("after a restart:\n%s\nbefore:\n%s", after, before)
	}
}

// textOfGroup is a consumer group as it is described, a line for each member.
func textOfGroup(c *Coordinator) string {
	d, err := c.ConsumerDescribe("g")
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprint(d.State, d.Epoch, d.AssignmentEpoch, d.Assignor)
	for _, m := range d.Members {
		instance := textOf(m.InstanceID)
		m.InstanceID = nil
		text += fmt.Sprintf("\n%s %v", instance, m)
	}
	return text
}

// checkMembers expects a group at rest with exactly the living.
func (m *groupModel) checkMembers(c *Coordinator) {
	m.t.Helper()
	state, members, kind := m.look(c)
	want, newcomers := "Stable", 0
	for _, a := range m.living {
		if _, ok := a.(*newcomer); ok {
			newcomers++
		}
	}
	if len(m.living) == 0 {
		want = "Empty"
	}
	if state != want || len(members) != len(m.living) {
		m.t.Fatalf("%s with %d members %v, want %s with %d", state, len(members), slices.Collect(maps.Keys(members)), want, len(m.living))
	}
	if newcomers > 0 && kind != Consumer {
		m.t.Errorf("a classic group with %d members of the consumer protocol", newcomers)
	}
	for name, a := range m.living {
		id := name
		if old, ok := a.(*oldtimer); ok {
			id = old.id
		}
		if !members[id] {
			m.t.Errorf("%s is no member", name)
		}
	}
}

// look is the group's state and who is in it.
func (m *groupModel) look(c *Coordinator) (state string, members map[string]bool, kind Kind) {
	m.t.Helper()
	g := c.shards[0].find("g")
	if g == nil {
		return "Empty", nil, Classic
	}
	defer g.mu.Unlock()
	members = map[string]bool{}
	switch c := g.machine.(type) {
	case *consumer:
		for id := range c.members {
			members[id] = true
		}
	case *classic:
		for id := range c.members {
			members[id] = true
		}
		if c.converted && c.state == PreparingRebalance {
			return Stable.String(), members, Classic // on its way to be, when it was just loaded
		}
	}
	return g.machine.stateLocked(), members, g.machine.kind()
}

// checkClaims expects that each partition is read by one who wants it, and that
// none is forgotten.
func (m *groupModel) checkClaims() {
	m.t.Helper()
	owners := m.claims.all()
	for _, t := range m.topicSet().byName {
		wanted := false
		for _, a := range m.living {
			wanted = wanted || a.base().wants(t.Name)
		}
		for p := range t.Partitions {
			s := slot{t.ID, p}
			who := owners[s]
			delete(owners, s)
			switch {
			case who == "" && wanted && !m.unseen(t.Name, p):
				m.t.Errorf("nobody reads %s-%d", t.Name, p)
			case who != "" && m.living[who] == nil:
				m.t.Errorf("%s-%d is read by %s, who is dead", t.Name, p, who)
			case who != "" && !m.living[who].base().wants(t.Name):
				m.t.Errorf("%s-%d is read by %s, who does not want it", t.Name, p, who)
			}
		}
	}
	if len(owners) > 0 {
		m.t.Errorf("read, but not there: %v", owners)
	}
}

// unseen says that a partition is newer than the division that is in force in a
// classic group. Its leader is to notice, but the group may have none that knows
// that it is: after one came back as a static member, or with those that a consumer
// group left behind.
func (m *groupModel) unseen(topic string, p int32) bool {
	_, _, kind := m.look(m.coordinator())
	divided := m.divided.Load()
	if kind == Consumer || divided == nil {
		return kind == Classic
	}
	t, _ := divided.ByName(topic)
	return p >= t.Partitions
}

// end lets everybody leave.
func (m *groupModel) end() {
	for _, a := range m.living {
		m.stop(a, true)
		<-a.base().finished
	}
	time.Sleep(4 * time.Minute)
	synctest.Wait()
	if !m.t.Failed() {
		m.inspect()
		m.checkMembers(m.coordinator())
	}
	m.coordinator().Close()
	time.Sleep(time.Hour) // whoever still waits for something has time to end
}
