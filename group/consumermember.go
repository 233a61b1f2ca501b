package group

import (
	"bytes"
	"slices"
)

// memberState is how far a member is with the target assignment. The numbers
// are those in records.
type memberState int8

const (
	memberStable     memberState = 0
	memberUnrevoked  memberState = 1 // it has partitions that it is asked to give up
	memberUnreleased memberState = 2 // it waits for partitions that others still have
)

// Epochs with a meaning of their own.
const (
	joinEpoch        int32 = 0
	leaveEpoch       int32 = -1
	leaveStaticEpoch int32 = -2 // a static member leaves and will be back
)

// consumerMember is a member of a consumer group. It never changes: a member
// that does is a new one.
type consumerMember struct {
	id                 string
	instanceID         *string // nil unless static
	rackID             *string
	clientID           string
	clientHost         string
	topics             []string // sorted, each once
	regex              string   // "" none
	rebalanceTimeoutMs int32
	assignor           *string
	classic            *classicPart // nil unless it speaks the classic protocol

	epoch    int32
	previous int32 // epoch before
	state    memberState
	assigned ownership
	revoking ownership // not in assigned
}

// classicPart is what a member that speaks the classic protocol has beside.
type classicPart struct {
	sessionTimeoutMs int32
	protocols        []Protocol
}

func equalStrings(a, b *string) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// sameRole says that both say the same of themselves: what is in a record of
// type 5.
func (m *consumerMember) sameRole(o *consumerMember) bool {
	return m.id == o.id && equalStrings(m.instanceID, o.instanceID) && equalStrings(m.rackID, o.rackID) &&
		m.clientID == o.clientID && m.clientHost == o.clientHost && slices.Equal(m.topics, o.topics) && m.regex == o.regex &&
		m.rebalanceTimeoutMs == o.rebalanceTimeoutMs && equalStrings(m.assignor, o.assignor) && m.classic.equal(o.classic)
}

// sameProgress says that both are as far: what is in a record of type 8.
func (m *consumerMember) sameProgress(o *consumerMember) bool {
	return m.epoch == o.epoch && m.previous == o.previous && m.state == o.state &&
		m.assigned.equal(o.assigned) && m.revoking.equal(o.revoking)
}

func (c *classicPart) equal(o *classicPart) bool {
	if c == nil || o == nil {
		return c == o
	}
	return c.sessionTimeoutMs == o.sessionTimeoutMs && slices.EqualFunc(c.protocols, o.protocols, func(a, b Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// reconciledTo says that the member has all of the target of an epoch.
func (m *consumerMember) reconciledTo(epoch int32) bool {
	return m.state == memberStable && m.epoch == epoch
}

// moved is the member at another epoch.
func (m *consumerMember) moved(epoch int32) consumerMember {
	n := *m
	n.previous, n.epoch = m.epoch, epoch
	return n
}

// epochOf is the epoch at which the member was given a partition that it still
// has.
func (m *consumerMember) epochOf(id topicID, p int32) (int32, bool) {
	if epoch, ok := m.assigned[id][p]; ok {
		return epoch, true
	}
	epoch, ok := m.revoking[id][p]
	return epoch, ok
}
