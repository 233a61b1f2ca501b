package group

import (
	"encoding/binary"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// canDowngradeLocked says that without these members, or with them replaced by
// one of the classic protocol, the group had only members of the classic
// protocol, and may become a classic group.
func (c *consumer) canDowngradeLocked(without []*consumerMember) bool {
	left := len(c.members) - len(without)
	return left > 0 && c.onlyClassicLocked(without) && c.mayDowngradeLocked(left)
}

func (c *consumer) onlyClassicLocked(except []*consumerMember) bool {
	for _, m := range c.members {
		if m.classic == nil && !slices.ContainsFunc(except, func(e *consumerMember) bool { return e.id == m.id }) {
			return false
		}
	}
	// Somebody of the other protocol must go, else nothing changes.
	return slices.ContainsFunc(except, func(e *consumerMember) bool { return e.classic == nil })
}

func (c *consumer) mayDowngradeLocked(size int) bool {
	set := c.g.s.c.settings()
	if !set.Migration.Downgrade {
		c.g.s.logf(levelInfo, "Cannot downgrade consumer group %s to classic group because the online downgrade is disabled.", c.g.id)
		return false
	}
	if size > set.MaxSize {
		c.g.s.logf(levelInfo, "Cannot downgrade consumer group %s to classic group because its group size is greater than classic group max size.", c.g.id)
		return false
	}
	return true
}

// downgradeLocked turns the group into a classic one with the members that are
// left. joining, if it is not nil, is a static member of the classic protocol in
// the place of one that is gone; the changes before it put it there. rebalance
// says that the members have to join again; they also have to when one of them
// has not got yet what the target gives it, for as members of a classic group
// they take it that they have.
func (c *consumer) downgradeLocked(without []*consumerMember, joining *consumerMember, rebalance bool, before []consumerChange, reason string) error {
	name := func(id string) string {
		if joining != nil && slices.ContainsFunc(without, func(m *consumerMember) bool { return m.id == id }) {
			return joining.id
		}
		return id
	}
	next := c.asClassicLocked(without, joining)
	plan := consumerPlan{c: c, changes: before}
	records := plan.recordsLocked()
	records = c.tombstonesAsLocked(records, name)
	records = append(records, next.recordLocked(next.assignmentsLocked()))
	if _, err := c.g.s.appendLocked(records); err != nil {
		return err
	}
	c.stopLocked(nil)
	c.g.machine = next
	for _, m := range next.orderedLocked() {
		next.extendSessionLocked(m, m.sessionTimeoutMs)
	}
	c.g.s.logf(levelInfo, "[GroupId %s] Converted the consumer group to a classic group.", c.g.id)
	if rebalance || !c.reachedLocked(without) {
		next.rebalanceLocked(reason)
	}
	return nil
}

// reachedLocked says that the members but these have all that they shall have.
func (c *consumer) reachedLocked(without []*consumerMember) bool {
	for id, m := range c.members {
		if !m.reconciledTo(c.epoch) && !slices.ContainsFunc(without, func(w *consumerMember) bool { return w.id == id }) {
			return false
		}
	}
	return true
}

// asClassicLocked is the classic group that the group turns into. Each member
// has what the target gives it.
func (c *consumer) asClassicLocked(without []*consumerMember, joining *consumerMember) *classic {
	next := newClassic(c.g)
	next.state, next.protocolType, next.generation = Stable, consumerProtocolType, c.epoch
	topics := c.g.s.c.topics()
	add := func(m *consumerMember) {
		next.addLocked(&member{
			id: m.id, instanceID: m.instanceID, clientID: m.clientID, clientHost: m.clientHost,
			rebalanceTimeoutMs: m.rebalanceTimeoutMs, sessionTimeoutMs: m.classic.sessionTimeoutMs, protocols: m.classic.protocols,
			assignment: classicAssignment(c.targetOfLocked(m), topics, m.classic.version()),
		}, nil)
	}
	for _, id := range sortedNames(c.members) {
		if m := c.members[id]; !slices.ContainsFunc(without, func(w *consumerMember) bool { return w.id == id }) {
			add(m)
		}
	}
	if joining != nil {
		add(joining)
	}
	protocol := next.chooseProtocolLocked()
	next.protocol = &protocol
	next.findSubscriptionsLocked()
	return next
}

// version is that of the metadata under the member's favourite protocol, which
// its assignment is written in too.
func (p *classicPart) version() int16 {
	if len(p.protocols) == 0 || len(p.protocols[0].Metadata) < 2 {
		return 0
	}
	return int16(binary.BigEndian.Uint16(p.protocols[0].Metadata))
}

// classicAssignment is an assignment as members of the classic protocol read it.
func classicAssignment(part partitionSet, topics Topics, version int16) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	a.Version = version
	for _, id := range part.topics() {
		if t, ok := topics.ByID(id); ok {
			of := kmsg.NewConsumerMemberAssignmentTopic()
			of.Topic, of.Partitions = t.Name, part[id]
			a.Topics = append(a.Topics, of)
		}
	}
	return a.AppendTo(nil)
}
