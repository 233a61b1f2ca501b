package group

import (
	"time"

	"minibroker/record"
)

// consumer is a consumer group: its members say what they want to read, and the
// group divides the partitions among them. A division is made for an epoch of
// the group, its target; each member then moves towards its part of it at its
// own pace, and a partition changes hands when the one who had it has given it
// up:
//
//	subscriptions --> group epoch --> target assignment --> member by member
//	change             + 1             of that epoch          to that epoch
type consumer struct {
	g *Group

	epoch         int32
	hash          int64 // of the metadata of the topics, as of the epoch
	targetEpoch   int32
	targetMs      int64 // when the target was made; 0 never
	raisedMs      int64 // when the epoch was last raised in this run
	changedMs     int64 // when anything last changed in this run
	members       map[string]*consumerMember
	static        map[string]string       // member ids by instance id
	targets       map[string]partitionSet // by member id
	regexes       map[string]*regexChange // what the expressions match
	owners        map[topicID]map[int32]string
	names         map[string]int // members that subscribe to a topic by name
	oldPartitions bool           // a record of type 4 is there

	checked    int64 // version of the topics that the hash was last compared with; -1 none
	resolving  bool  // the regular expressions are about to be resolved
	regexTimer timer
	timers     map[string]*memberTimers
}

// memberTimers are the times that a member has for things.
type memberTimers struct {
	session   session
	rebalance timer // to give up partitions
	join      timer // classic protocol: to join again
	sync      timer // classic protocol: to sync after a join
}

// newConsumer returns a group without members. Its first record is still to be
// written; that raises the epoch.
func newConsumer(g *Group) *consumer {
	return &consumer{
		g: g, epoch: 1, targetEpoch: 1, checked: -1, members: map[string]*consumerMember{}, static: map[string]string{},
		targets: map[string]partitionSet{}, regexes: map[string]*regexChange{}, owners: map[topicID]map[int32]string{},
		names: map[string]int{}, timers: map[string]*memberTimers{},
	}
}

func (c *consumer) kind() Kind                 { return Consumer }
func (c *consumer) protocolTypeLocked() string { return consumerProtocolType }
func (c *consumer) emptyLocked() bool          { return len(c.members) == 0 }

// The states of a consumer group.
const (
	consumerEmpty       = "Empty"
	consumerAssigning   = "Assigning"   // the target is older than the group's epoch
	consumerReconciling = "Reconciling" // some members have not reached it
	consumerStable      = "Stable"
)

func (c *consumer) stateLocked() string {
	if len(c.members) == 0 {
		return consumerEmpty
	}
	if c.epoch > c.targetEpoch {
		return consumerAssigning
	}
	for _, m := range c.members {
		if !m.reconciledTo(c.targetEpoch) {
			return consumerReconciling
		}
	}
	return consumerStable
}

func (c *consumer) subscribedLocked(topic string) bool {
	if c.names[topic] > 0 {
		return true
	}
	for _, r := range c.regexes {
		if r.matches(topic) {
			return true
		}
	}
	return false
}

// setLocked puts a member in, in the place of what it was.
func (c *consumer) setLocked(m *consumerMember) {
	if old := c.members[m.id]; old != nil {
		c.takeOutLocked(old)
	}
	c.members[m.id] = m
	if m.instanceID != nil {
		c.static[*m.instanceID] = m.id
	}
	for _, name := range m.topics {
		c.names[name]++
	}
	c.ownLocked(m, m.assigned)
	c.ownLocked(m, m.revoking)
}

// dropLocked takes a member out.
func (c *consumer) dropLocked(id string) {
	m := c.members[id]
	if m == nil {
		return
	}
	c.takeOutLocked(m)
	delete(c.members, id)
	c.stopTimersLocked(id)
}

// takeOutLocked undoes what setLocked did beside.
func (c *consumer) takeOutLocked(m *consumerMember) {
	if m.instanceID != nil && c.static[*m.instanceID] == m.id {
		delete(c.static, *m.instanceID)
	}
	for _, name := range m.topics {
		if c.names[name]--; c.names[name] <= 0 {
			delete(c.names, name)
		}
	}
	c.disownLocked(m, m.assigned)
	c.disownLocked(m, m.revoking)
}

func (c *consumer) ownLocked(m *consumerMember, o ownership) {
	for id, partitions := range o {
		if c.owners[id] == nil {
			c.owners[id] = map[int32]string{}
		}
		for p := range partitions {
			c.owners[id][p] = m.id
		}
	}
}

func (c *consumer) disownLocked(m *consumerMember, o ownership) {
	for id, partitions := range o {
		for p := range partitions {
			if c.owners[id][p] == m.id {
				delete(c.owners[id], p)
			}
		}
		if len(c.owners[id]) == 0 {
			delete(c.owners, id)
		}
	}
}

// ownedLocked says that some member has the partition.
func (c *consumer) ownedLocked(id topicID, p int32) bool {
	_, ok := c.owners[id][p]
	return ok
}

// memberLocked finds a member.
func (c *consumer) memberLocked(id string) (*consumerMember, error) {
	if m := c.members[id]; m != nil {
		return m, nil
	}
	return nil, &Refusal{ErrUnknownMember, "Member " + id + " is not a member of group " + c.g.id + "."}
}

// staticLocked is the member with an instance id; nil when there is none.
func (c *consumer) staticLocked(instanceID *string) *consumerMember {
	if instanceID == nil {
		return nil
	}
	return c.members[c.static[*instanceID]]
}

// targetOfLocked is a member's part of the target; a static member's is also
// that of who had its instance id before.
func (c *consumer) targetOfLocked(m *consumerMember) partitionSet {
	if m.instanceID == nil {
		return c.targets[m.id]
	}
	if id, ok := c.static[*m.instanceID]; ok {
		return c.targets[id]
	}
	return nil
}

// classicCountLocked is how many members speak the classic protocol.
func (c *consumer) classicCountLocked() int {
	n := 0
	for _, m := range c.members {
		if m.classic != nil {
			n++
		}
	}
	return n
}

func (c *consumer) settings() ConsumerSettings { return c.g.s.c.consumerSettings(c.g.id) }

func (c *consumer) expiryLocked() (func(*Offset) int64, bool) {
	return func(o *Offset) int64 { return o.CommitMs }, true
}

// tombstonesLocked deletes what there is, and also a record of type 4, which
// Kafka does as well.
func (c *consumer) tombstonesLocked(records []record.Record) []record.Record {
	return c.tombstonesAsLocked(records, func(id string) string { return id })
}

// tombstonesAsLocked is tombstonesLocked with other names for the members.
func (c *consumer) tombstonesAsLocked(records []record.Record, name func(id string) string) []record.Record {
	ids := sortedNames(c.members)
	add := func(change consumerChange) { records = append(records, recordOf(c.g.id, change)) }
	for _, id := range ids {
		add(currentGone{name(id)})
	}
	for _, id := range ids {
		add(partGone{name(id)})
	}
	add(targetGone{})
	for _, id := range ids {
		add(memberGone{name(id)})
	}
	for _, regex := range sortedNames(c.regexes) {
		add(regexGone{regex})
	}
	add(partitionsChange{})
	add(epochGone{})
	return records
}

// startLocked gives the members of a group that was loaded their time.
func (c *consumer) startLocked() {
	if len(c.members) > 0 {
		c.g.s.logf(levelInfo, "Loaded consumer group %s with %d members.", c.g.id, len(c.members))
	}
	for _, id := range sortedNames(c.members) {
		m := c.members[id]
		c.extendSessionLocked(m.id, c.settings().SessionTimeoutMs)
		if m.state == memberUnrevoked {
			c.armRebalanceLocked(m)
		}
	}
}

func (c *consumer) stopLocked(error) {
	c.regexTimer.stopLocked()
	for id := range c.timers {
		c.stopTimersLocked(id)
	}
}

func (c *consumer) timersLocked(id string) *memberTimers {
	t := c.timers[id]
	if t == nil {
		t = &memberTimers{}
		c.timers[id] = t
	}
	return t
}

func (c *consumer) stopTimersLocked(id string) {
	if t := c.timers[id]; t != nil {
		t.session.stopLocked()
		t.rebalance.stopLocked()
		t.join.stopLocked()
		t.sync.stopLocked()
		delete(c.timers, id)
	}
}

// nowMs is the time as records have it.
func nowMs() int64 { return time.Now().UnixMilli() }
