package group

import (
	"sync"
	"time"

	"minibroker/record"
)

// Kind is the protocol that a group's members speak.
type Kind int8

// The kinds.
const (
	Classic Kind = iota
	Consumer
	Share   // kept, not coordinated
	Streams // kept, not coordinated
)

// String is the kind as lists show it.
func (k Kind) String() string {
	return [...]string{"classic", "consumer", "share", "streams"}[k]
}

// Group is one group. Names of methods that need its lock end in Locked.
type Group struct {
	id string
	s  *shard

	mu      sync.Mutex
	gone    bool // no longer in the shard: look it up again
	machine machine
	offsets offsets
}

// newGroup returns an empty classic group.
func newGroup(s *shard, id string) *Group {
	g := &Group{id: id, s: s}
	g.machine = newClassic(g)
	return g
}

// machine is what the kinds of groups do differently. All methods are called
// with the group's lock held.
type machine interface {
	kind() Kind
	// stateLocked is the state's name, protocolTypeLocked what the members
	// use the group for, "" when there never were any.
	stateLocked() string
	protocolTypeLocked() string
	// emptyLocked says that the group has no members.
	emptyLocked() bool
	// subscribedLocked says that members read the topic.
	subscribedLocked(topic string) bool

	// The four requests of the classic protocol: see the methods of Coordinator
	// of the same names. joinLocked and syncLocked answer at some time unless
	// they return an error.
	joinLocked(r *JoinRequest, set *Settings, answer chan<- JoinResult) error
	syncLocked(r *SyncRequest, answer chan<- SyncResult) error
	heartbeatLocked(r *HeartbeatRequest) error
	leaveClassicLocked(members []Leaving) ([]error, error)

	// The checks say why somebody may not do something.
	checkCommitLocked(by *Committer, transactional bool) error
	// checkPartitionLocked says why a committer that passed may not commit this
	// partition.
	checkPartitionLocked(by *Committer, p *CommitPartition) error
	checkFetchLocked(memberID *string, epoch int32) error
	checkOffsetDeleteLocked() error
	checkDeleteLocked() error
	// committedLocked notes that a member has committed: a sign of life.
	committedLocked(memberID string)

	// expiryLocked returns from when on an offset ages; false when offsets do
	// not expire now.
	expiryLocked() (since func(*Offset) int64, ok bool)
	// tombstonesLocked appends the records that delete the group without its
	// offsets.
	tombstonesLocked(records []record.Record) []record.Record

	// startLocked begins to act after the records have been loaded.
	startLocked()
	// stopLocked ends the timers and answers all who wait with err.
	stopLocked(err error)
}

// Committer is who commits or fetches offsets.
type Committer struct {
	MemberID   string
	InstanceID *string
	// Generation is the generation or member epoch; negative for somebody who
	// is not a member.
	Generation int32
	// KnowsEpochs says that the client speaks a version that has member epochs
	// and knows the error of a group that does not exist.
	KnowsEpochs bool
}

// timer runs one of a group's functions later.
type timer struct {
	t   *time.Timer
	run uint64 // counts the times it was set or stopped
}

// setLocked has f run after d with the group's lock held, instead of what was
// set before.
func (t *timer) setLocked(g *Group, d time.Duration, f func()) {
	t.stopLocked()
	run := t.run
	t.t = time.AfterFunc(d, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if t.run == run && !g.gone {
			t.t = nil
			f()
		}
	})
}

// stopLocked makes sure that nothing runs.
func (t *timer) stopLocked() {
	t.run++
	if t.t != nil {
		t.t.Stop()
		t.t = nil
	}
}

func millis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }
