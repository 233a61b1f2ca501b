package group

import (
	"encoding/binary"
	"slices"
	"time"

	"minibroker/record"
)

// State is where a classic group is on its way to a generation.
type State int8

// The states:
//
//	                    leave, expire: nobody left
//	  +---------------------------------------------------------+
//	  v                                                         |
//	Empty --join--> PreparingRebalance --all joined--> CompletingRebalance
//	                        ^    ^                              |     |
//	                        |    +------join, leave, expire-----+     |
//	                        +------join, leave, expire---- Stable <---+
//	                                                       leader's sync
const (
	Empty State = iota
	PreparingRebalance
	CompletingRebalance
	Stable
)

// String is Kafka's name of the state.
func (s State) String() string {
	return [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable"}[s]
}

// consumerProtocolType is the protocol type of groups that read topics.
const consumerProtocolType = "consumer"

// classic is a classic group: its members join, one of them - the leader -
// divides the work, and all are handed their parts when they sync.
type classic struct {
	g *Group

	state, previous State
	since           int64   // when the state began, ms; -1 not known
	protocolType    string  // "" before the first member
	protocol        *string // chosen for the generation; nil when there is none
	generation      int32
	leader          string // member id; "" none
	converted       bool   // it was loaded as what a consumer group turned into

	members  map[string]*member
	nextSeq  uint64
	table    hashTable
	static   map[string]string // member ids by instance id
	pending  map[string]*session
	unsynced map[string]bool // members that have not synced in this generation
	awaiting int             // members that wait for the end of the join phase
	support  map[string]int  // how many members support a protocol

	subscribed      map[string]bool // topics that members read
	subscribedKnown bool

	newMember bool // one joined since the initial delay was last extended
	joinTimer timer
	syncTimer timer
}

func newClassic(g *Group) *classic {
	return &classic{
		g: g, since: time.Now().UnixMilli(), members: map[string]*member{}, static: map[string]string{},
		pending: map[string]*session{}, unsynced: map[string]bool{}, support: map[string]int{},
	}
}

func (c *classic) kind() Kind                 { return Classic }
func (c *classic) stateLocked() string        { return c.state.String() }
func (c *classic) protocolTypeLocked() string { return c.protocolType }
func (c *classic) emptyLocked() bool          { return c.state == Empty }

func (c *classic) becomeLocked(s State) {
	c.previous, c.state = c.state, s
	c.since = time.Now().UnixMilli()
}

// orderedLocked lists the members in the order in which Kafka would.
func (c *classic) orderedLocked() []*member {
	list := make([]*member, 0, len(c.members))
	for _, m := range c.members {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *member) int {
		if d := c.table.slot(a.id) - c.table.slot(b.id); d != 0 {
			return d
		}
		return int(a.seq - b.seq)
	})
	return list
}

// addLocked adds a member, which waits at join for the end of the join phase
// unless that is nil.
func (c *classic) addLocked(m *member, join chan<- JoinResult) {
	c.insertLocked(m)
	if c.leader == "" {
		c.leader = m.id
	}
	c.supportLocked(m, 1)
	m.join = join
	if join != nil {
		c.awaiting++
	}
	c.forgetPendingLocked(m.id)
}

func (c *classic) insertLocked(m *member) {
	c.nextSeq++
	m.seq = c.nextSeq
	c.members[m.id] = m
	c.table.grow(len(c.members))
	if m.instanceID != nil {
		c.static[*m.instanceID] = m.id
	}
}

// removeLocked takes a member out, whether it has joined or was only given an
// id. Nobody is answered.
func (c *classic) removeLocked(id string) {
	if m := c.members[id]; m != nil {
		delete(c.members, id)
		m.session.stopLocked()
		c.supportLocked(m, -1)
		if m.join != nil {
			c.awaiting--
		}
		if m.instanceID != nil {
			delete(c.static, *m.instanceID)
		}
	}
	if c.leader == id {
		c.leader = ""
		if rest := c.orderedLocked(); len(rest) > 0 {
			c.leader = rest[0].id
		}
	}
	c.forgetPendingLocked(id)
	delete(c.unsynced, id)
}

func (c *classic) forgetPendingLocked(id string) {
	if s := c.pending[id]; s != nil {
		s.stopLocked()
		delete(c.pending, id)
	}
}

func (c *classic) supportLocked(m *member, n int) {
	for i := range m.protocols {
		c.support[m.protocols[i].Name] += n
	}
}

// updateLocked takes over what a member that joins again says of itself.
func (c *classic) updateLocked(m *member, r *JoinRequest, join chan<- JoinResult) {
	c.supportLocked(m, -1)
	m.protocols = r.Protocols
	c.supportLocked(m, 1)
	m.rebalanceTimeoutMs, m.sessionTimeoutMs = r.RebalanceTimeoutMs, r.SessionTimeoutMs
	if old := m.join; old != nil {
		c.awaiting--
		old <- JoinResult{Err: ErrRebalanceInProgress, MemberID: m.id} // asked on a connection that was given up
	}
	m.join = join
	if join != nil {
		c.awaiting++
	}
}

// answerJoinLocked ends a member's wait in the join phase, if it waits.
func (c *classic) answerJoinLocked(m *member, r JoinResult) {
	if m.join != nil {
		m.join <- r
		m.join = nil
		c.awaiting--
	}
}

// answerSyncLocked ends a member's wait for its assignment, if it waits.
func (c *classic) answerSyncLocked(m *member, r SyncResult) bool {
	if m.sync == nil {
		return false
	}
	m.sync <- r
	m.sync = nil
	return true
}

// supportsLocked says whether a member with these protocols fits the group.
func (c *classic) supportsLocked(protocolType string, protocols []Protocol) bool {
	if c.state == Empty {
		return protocolType != "" && len(protocols) > 0
	}
	return protocolType == c.protocolType && slices.ContainsFunc(protocols, func(p Protocol) bool {
		return c.support[p.Name] == len(c.members)
	})
}

// chooseProtocolLocked is the protocol that most members prefer of those that
// all support. Of equals the first in the order of a Java map wins.
func (c *classic) chooseProtocolLocked() string {
	candidates := map[string]bool{}
	for name, n := range c.support {
		if n == len(c.members) {
			candidates[name] = true
		}
	}
	votes := map[string]int{}
	var names []string
	for _, m := range c.orderedLocked() {
		name := m.vote(candidates)
		if votes[name]++; votes[name] == 1 {
			names = append(names, name)
		}
	}
	var order hashTable
	order.grow(len(names))
	order.sort(names)
	best := names[0]
	for _, name := range names[1:] {
		if votes[name] > votes[best] {
			best = name
		}
	}
	return best
}

// checkMemberLocked says why a member id, with an instance id if it is not nil,
// is not in the group.
func (c *classic) checkMemberLocked(id string, instanceID *string) error {
	if instanceID != nil {
		switch owner, ok := c.static[*instanceID]; {
		case !ok:
			return ErrUnknownMember
		case owner != id:
			return ErrFencedInstance
		}
	}
	if c.members[id] == nil {
		return ErrUnknownMember
	}
	return nil
}

// rebalanceTimeoutLocked is how long the slowest member may take to join.
func (c *classic) rebalanceTimeoutLocked() time.Duration {
	var most int32
	for _, m := range c.members {
		most = max(most, m.rebalanceTimeoutMs)
	}
	return millis(most)
}

// findSubscriptionsLocked reads what topics the members of a group of consumers
// want. Members of other groups say other things.
func (c *classic) findSubscriptionsLocked() {
	c.subscribed, c.subscribedKnown = nil, false
	if c.protocolType != consumerProtocolType || (len(c.members) > 0 && c.protocol == nil) {
		return
	}
	topics := map[string]bool{}
	for _, m := range c.members {
		if !readTopics(m.metadataFor(c.protocol), topics) {
			return
		}
	}
	c.subscribed, c.subscribedKnown = topics, true
}

// readTopics adds the topics of a subscription, as far as all versions of it
// agree: i16 version, i32 number of topics, strings. It says false when this is
// none.
func readTopics(b []byte, topics map[string]bool) bool {
	if len(b) < 6 || int16(binary.BigEndian.Uint16(b)) < 0 {
		return false
	}
	n, b := int32(binary.BigEndian.Uint32(b[2:])), b[6:]
	if n < 0 {
		return false
	}
	for range n {
		if len(b) < 2 {
			return false
		}
		size := int(int16(binary.BigEndian.Uint16(b)))
		if size < 0 || len(b) < 2+size {
			return false
		}
		topics[string(b[2:2+size])] = true
		b = b[2+size:]
	}
	return true
}

func (c *classic) subscribedLocked(topic string) bool {
	if !c.subscribedKnown {
		return c.protocolType == consumerProtocolType
	}
	return c.subscribed[topic]
}

func (c *classic) expiryLocked() (func(*Offset) int64, bool) {
	sinceCommit := func(o *Offset) int64 { return o.CommitMs }
	switch {
	case c.protocolType == "": // nobody ever joined
		return sinceCommit, true
	case c.state == Empty && c.since < 0:
		return sinceCommit, true
	case c.state == Empty:
		since := c.since
		return func(*Offset) int64 { return since }, true
	case c.state == Stable && c.subscribedKnown:
		return sinceCommit, true
	}
	return nil, false
}

func (c *classic) tombstonesLocked(records []record.Record) []record.Record {
	return append(records, tombstone(classicKey(c.g.id)))
}
