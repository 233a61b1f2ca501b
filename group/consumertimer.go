package group

import (
	"fmt"
	"log/slog"
	"time"
)

const levelInfo = slog.LevelInfo

// retryFence is when a member is taken out that could not be: the log did not
// take the records.
const retryFence = time.Second

const (
	// askBackLeastMs is how soon at least a member is asked back.
	askBackLeastMs = 50
	// youngMs is for how long after the group's epoch was raised more members are
	// expected: those that start together with the one that raised it.
	youngMs = 1000
)

// askBackMsLocked is when a member shall show up again: after the interval of the
// settings when it has all that it shall have. It comes sooner while there is
// something left to do, for nothing else brings it the news; and while the group is
// young, for who has all partitions has to hear of the next member before that one
// gets any. The longer nothing has changed, the later, in steps of two so that
// clients, which report a new interval, have little to say:
//
//	unchanged for   0-200  200-400  400-800 ms  ...
//	asked back in      50      100      200 ms  ...  up to the setting
//
// joins says that the member has just joined. It will acknowledge what it was
// given anyway.
func (c *consumer) askBackMsLocked(m *consumerMember, joins bool, settledMs int32) int32 {
	now := nowMs()
	young := !joins && now-c.raisedMs < youngMs
	if !young && c.targetEpoch >= c.epoch && m.reconciledTo(c.targetEpoch) && !c.resolving {
		return settledMs
	}
	ms, unchanged := int64(askBackLeastMs), now-c.changedMs
	for ms < int64(settledMs) && 4*ms <= unchanged {
		ms *= 2
	}
	return int32(min(ms, int64(settledMs)))
}

// extendSessionLocked gives a member so long until its next sign of life.
func (c *consumer) extendSessionLocked(id string, ms int32) {
	c.timersLocked(id).session.extendLocked(c.g, millis(ms), func() { c.fenceForLocked(id, "the member session expired") })
}

// armRebalanceLocked gives a member until its rebalance timeout to give up
// partitions.
func (c *consumer) armRebalanceLocked(m *consumerMember) {
	id, epoch, ms := m.id, m.epoch, m.rebalanceTimeoutMs
	c.timersLocked(id).rebalance.setLocked(c.g, millis(ms), func() {
		if now := c.members[id]; now != nil && now.epoch == epoch {
			c.fenceForLocked(id, fmt.Sprintf("it failed to transition from epoch %d within %dms", epoch, ms))
		}
	})
}

// awaitJoinLocked gives a member of the classic protocol that was told to join
// again its time, once.
func (c *consumer) awaitJoinLocked(m *consumerMember) {
	t := c.timersLocked(m.id)
	if t.join.t != nil {
		return
	}
	id := m.id
	t.join.setLocked(c.g, millis(m.rebalanceTimeoutMs), func() {
		c.fenceForLocked(id, "the classic member failed to join within the rebalance timeout")
	})
}

// awaitSyncLocked gives a member of the classic protocol that has joined time
// to sync.
func (c *consumer) awaitSyncLocked(id string, ms int32) {
	c.timersLocked(id).sync.setLocked(c.g, millis(ms), func() {
		c.fenceForLocked(id, "the member failed to sync within timeout")
	})
}

// fenceForLocked takes out a member whose time is up.
func (c *consumer) fenceForLocked(id, reason string) {
	m := c.members[id]
	if m == nil || c.g.machine != machine(c) {
		return
	}
	c.g.s.logf(levelInfo, "[GroupId %s] Member %s fenced from the group because %s.", c.g.id, id, reason)
	if err := c.fenceLocked([]*consumerMember{m}); err != nil {
		c.g.s.logf(slog.LevelWarn, "[GroupId %s] Member %s could not be taken out: %v", c.g.id, id, err)
		c.extendSessionLocked(id, int32(retryFence.Milliseconds()))
	}
}
