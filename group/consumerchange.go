package group

import (
	"minibroker/record"
)

// consumerChange is one change of a consumer group: one record. What a request
// does is a list of changes, written as one batch and then applied; at start
// the changes are read and applied.
type consumerChange interface {
	key(groupID string) []byte
	value() []byte // nil deletes
	applyLocked(c *consumer)
}

func recordOf(groupID string, change consumerChange) record.Record {
	return record.Record{Key: change.key(groupID), Value: change.value()}
}

type (
	// epochChange raises the group's epoch.
	epochChange struct {
		epoch int32
		hash  int64 // of the topics' metadata
	}
	epochGone struct{}

	// memberChange is what a member says of itself.
	memberChange struct{ m *consumerMember }
	memberGone   struct{ id string }

	// targetChange ends the making of a target assignment.
	targetChange struct {
		epoch  int32
		madeMs int64 // 0 not made by an assignor
	}
	targetGone struct{}

	// partChange is a member's part of the target assignment.
	partChange struct {
		id   string
		part partitionSet
	}
	partGone struct{ id string }

	// currentChange is what a member has of it.
	currentChange struct {
		id              string
		epoch, previous int32
		state           memberState
		assigned        ownership
		revoking        ownership
	}
	currentGone struct{ id string }

	// regexChange is what a regular expression matches.
	regexChange struct {
		regex   string
		topics  []string
		version int64 // of the metadata
		atMs    int64
	}
	regexGone struct{ regex string }

	// partitionsChange is a record of Kafka before 4.1.
	partitionsChange struct{ written bool }
)

func currentOf(m *consumerMember) currentChange {
	return currentChange{m.id, m.epoch, m.previous, m.state, m.assigned, m.revoking}
}

func (epochChange) key(g string) []byte      { return consumerKey(typeConsumerGroup, g) }
func (epochGone) key(g string) []byte        { return consumerKey(typeConsumerGroup, g) }
func (targetChange) key(g string) []byte     { return consumerKey(typeConsumerTarget, g) }
func (targetGone) key(g string) []byte       { return consumerKey(typeConsumerTarget, g) }
func (partitionsChange) key(g string) []byte { return consumerKey(typeConsumerPartitions, g) }
func (c memberChange) key(g string) []byte   { return consumerSubKey(typeConsumerMember, g, c.m.id) }
func (c memberGone) key(g string) []byte     { return consumerSubKey(typeConsumerMember, g, c.id) }
func (c partChange) key(g string) []byte     { return consumerSubKey(typeConsumerPart, g, c.id) }
func (c partGone) key(g string) []byte       { return consumerSubKey(typeConsumerPart, g, c.id) }
func (c currentChange) key(g string) []byte  { return consumerSubKey(typeConsumerCurrent, g, c.id) }
func (c currentGone) key(g string) []byte    { return consumerSubKey(typeConsumerCurrent, g, c.id) }
func (c regexChange) key(g string) []byte    { return consumerSubKey(typeConsumerRegex, g, c.regex) }
func (c regexGone) key(g string) []byte      { return consumerSubKey(typeConsumerRegex, g, c.regex) }

func (epochGone) value() []byte        { return nil }
func (memberGone) value() []byte       { return nil }
func (targetGone) value() []byte       { return nil }
func (partGone) value() []byte         { return nil }
func (currentGone) value() []byte      { return nil }
func (regexGone) value() []byte        { return nil }
func (partitionsChange) value() []byte { return nil } // never written otherwise

func (e epochChange) applyLocked(c *consumer) { c.epoch, c.hash = e.epoch, e.hash }

// epochGone ends the group: whoever reads it drops the group.
func (epochGone) applyLocked(*consumer) {}

func (t targetChange) applyLocked(c *consumer) { c.targetEpoch, c.targetMs = t.epoch, t.madeMs }
func (targetGone) applyLocked(c *consumer)     { c.targetEpoch, c.targetMs = -1, 0 }

func (p partChange) applyLocked(c *consumer) { c.targets[p.id] = p.part }
func (p partGone) applyLocked(c *consumer)   { delete(c.targets, p.id) }

func (r regexChange) applyLocked(c *consumer) { c.regexes[r.regex] = &r }
func (r regexGone) applyLocked(c *consumer)   { delete(c.regexes, r.regex) }

func (p partitionsChange) applyLocked(c *consumer) { c.oldPartitions = p.written }

func (ch memberChange) applyLocked(c *consumer) {
	m := *ch.m
	if old := c.members[m.id]; old != nil {
		m.epoch, m.previous, m.state, m.assigned, m.revoking = old.epoch, old.previous, old.state, old.assigned, old.revoking
	} else {
		m.epoch, m.previous, m.state, m.assigned, m.revoking = 0, 0, memberStable, nil, nil
	}
	c.setLocked(&m)
}

func (ch memberGone) applyLocked(c *consumer) { c.dropLocked(ch.id) }

func (ch currentChange) applyLocked(c *consumer) {
	m := c.members[ch.id]
	if m == nil {
		m = &consumerMember{id: ch.id, rebalanceTimeoutMs: -1}
	}
	n := *m
	n.epoch, n.previous, n.state, n.assigned, n.revoking = ch.epoch, ch.previous, ch.state, ch.assigned, ch.revoking
	c.setLocked(&n)
}

func (ch currentGone) applyLocked(c *consumer) {
	if m := c.members[ch.id]; m != nil {
		n := *m
		n.epoch, n.previous, n.state, n.assigned, n.revoking = leaveEpoch, leaveEpoch, memberStable, nil, nil
		c.setLocked(&n)
	}
}
