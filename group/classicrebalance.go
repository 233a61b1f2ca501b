package group

import (
	"log/slog"
	"slices"
	"strings"
	"time"

	"minibroker/record"
)

func oneRecord(r record.Record) []record.Record { return []record.Record{r} }

// rebalanceLocked begins a join phase, or ends the one there is when everybody
// has come.
func (c *classic) rebalanceLocked(reason string) {
	if c.state == PreparingRebalance {
		c.completeIfAllJoinedLocked()
		return
	}
	if c.state == CompletingRebalance {
		c.failSyncsLocked(ErrRebalanceInProgress)
	}
	c.syncTimer.stopLocked()
	c.g.s.logf(slog.LevelInfo, "Preparing to rebalance group %s in state %s with old generation %d (reason: %s).",
		c.g.id, c.state, c.generation, reason)
	first := c.state == Empty
	c.becomeLocked(PreparingRebalance)
	switch {
	case first:
		delay := c.g.s.c.settings().InitialRebalanceDelayMs
		left := max(int32(c.rebalanceTimeoutLocked().Milliseconds())-delay, 0)
		c.delayLocked(delay, left)
	case c.allJoinedLocked():
		c.completeJoinLocked()
	default:
		c.joinTimer.setLocked(c.g, c.rebalanceTimeoutLocked(), c.completeJoinLocked)
	}
}

// delayLocked waits before the first generation of a group for more members:
// again as long as some come, but not longer than the rebalance timeout.
func (c *classic) delayLocked(delay, left int32) {
	if delay <= 0 {
		c.newMember = false
		c.gatherLocked(gatherRounds)
		return
	}
	c.joinTimer.setLocked(c.g, millis(delay), func() {
		if !c.newMember || left == 0 {
			c.completeJoinLocked()
			return
		}
		c.newMember = false
		c.delayLocked(min(c.g.s.c.settings().InitialRebalanceDelayMs, left), max(left-delay, 0))
	})
}

// A group whose first generation is not to be delayed still waits a moment for
// members that start together with the first one, for else they wait until that
// one sends its next heartbeat, which takes clients seconds. As long as somebody
// new comes within gatherFor, or is about to (it asked for the coordinator, or has an
// id), it waits on, for some rounds.
const (
	gatherFor    = 7 * time.Millisecond
	gatherRounds = 10
)

func (c *classic) gatherLocked(rounds int) {
	began := time.Now()
	c.joinTimer.setLocked(c.g, gatherFor, func() {
		if rounds <= 1 || !c.newMember && len(c.pending) == 0 && !c.g.s.c.sought.after(c.g.id, began) {
			c.completeJoinLocked()
			return
		}
		c.newMember = false
		c.gatherLocked(rounds - 1)
	})
}

func (c *classic) allJoinedLocked() bool {
	return c.awaiting == len(c.members) && len(c.pending) == 0
}

// completeIfAllJoinedLocked ends a join phase before its time. A group's first one
// takes its time, so that there is one generation and not one for each member.
func (c *classic) completeIfAllJoinedLocked() {
	if c.state == PreparingRebalance && c.previous != Empty && c.allJoinedLocked() {
		c.completeJoinLocked()
	}
}

// completeJoinLocked ends the join phase: dynamic members that have not come are
// out, the others are told of the new generation.
func (c *classic) completeJoinLocked() {
	c.joinTimer.stopLocked()
	var late []string
	for _, m := range c.orderedLocked() {
		if m.join == nil && m.instanceID == nil {
			late = append(late, m.id)
			c.removeLocked(m.id)
		}
	}
	if len(late) > 0 {
		c.g.s.logf(slog.LevelInfo, "Group %s removed dynamic members who haven't joined: [%s]", c.g.id, strings.Join(late, ", "))
	}
	if !c.electLocked() && len(c.members) > 0 {
		// Only static members are left, and none is here. Their sessions decide.
		c.g.s.logf(slog.LevelError, "Group %s could not complete rebalance because no members rejoined.", c.g.id)
		c.joinTimer.setLocked(c.g, c.rebalanceTimeoutLocked(), c.completeJoinLocked)
		return
	}
	c.generation++
	clear(c.unsynced)
	if len(c.members) == 0 {
		c.becomeEmptyLocked()
		return
	}
	protocol := c.chooseProtocolLocked()
	c.protocol = &protocol
	c.findSubscriptionsLocked()
	c.becomeLocked(CompletingRebalance)
	c.g.s.logf(slog.LevelInfo, "Stabilized group %s generation %d with %d members.", c.g.id, c.generation, len(c.members))
	for _, m := range c.orderedLocked() {
		c.answerJoinLocked(m, c.joinedLocked(m))
		c.extendSessionLocked(m, m.sessionTimeoutMs)
		m.isNew = false
		c.unsynced[m.id] = true
	}
	generation := c.generation
	c.syncTimer.setLocked(c.g, c.rebalanceTimeoutLocked(), func() { c.syncExpiredLocked(generation) })
}

// becomeEmptyLocked writes a generation without members. When that fails, the
// log's last generation has members that will soon be timed out.
func (c *classic) becomeEmptyLocked() {
	c.protocol = nil
	c.findSubscriptionsLocked()
	c.becomeLocked(Empty)
	c.g.s.logf(slog.LevelInfo, "Group %s with generation %d is now empty.", c.g.id, c.generation)
	if _, err := c.g.s.appendLocked(oneRecord(c.recordLocked(nil))); err != nil {
		c.g.s.logf(slog.LevelWarn, "Failed to write empty metadata for group %s: %v", c.g.id, err)
	}
}

// electLocked makes sure that the leader is one of those who have come; false
// when nobody has.
func (c *classic) electLocked() bool {
	if leader := c.members[c.leader]; leader != nil && leader.join != nil {
		return true
	}
	for _, m := range c.orderedLocked() {
		if m.join != nil {
			c.leader = m.id
			return true
		}
	}
	return false
}

// syncExpiredLocked takes out the members that have not asked for their part of
// the generation in time.
func (c *classic) syncExpiredLocked(generation int32) {
	if generation != c.generation || (c.state != CompletingRebalance && c.state != Stable) || len(c.unsynced) == 0 {
		return
	}
	var late []string
	for id := range c.unsynced {
		late = append(late, id)
	}
	slices.Sort(late)
	for _, id := range late {
		c.removeLocked(id)
	}
	names := strings.Join(late, ", ")
	c.g.s.logf(slog.LevelDebug, "Group %s removed members who haven't sent their sync requests: [%s]", c.g.id, names)
	c.rebalanceLocked("Removing [" + names + "] on pending sync expiration")
}

// extendSessionLocked gives a member so long until its next sign of life.
func (c *classic) extendSessionLocked(m *member, ms int32) {
	m.session.extendLocked(c.g, millis(ms), func() { c.sessionExpiredLocked(m) })
}

// sessionExpiredLocked takes a member out that was silent for too long. Who waits
// for an answer is not silent, except in the first join: such members may be
// clients that have gone.
func (c *classic) sessionExpiredLocked(m *member) {
	if c.members[m.id] != m || (!m.isNew && m.awaiting()) {
		return
	}
	c.g.s.logf(slog.LevelInfo, "Member %s in group %s has failed, removing it from the group.", m.id, c.g.id)
	c.dismissLocked(m)
	c.afterLossLocked("removing member " + m.id + " on heartbeat expiration.")
}

// pendingExpiredLocked forgets a member that was told its id and did not join
// with it.
func (c *classic) pendingExpiredLocked(id string) {
	c.g.s.logf(slog.LevelInfo, "Pending member %s in group %s has been removed after session timeout expiration.", id, c.g.id)
	c.removeLocked(id)
	c.completeIfAllJoinedLocked()
}

// dismissLocked takes a member out and ends its waits.
func (c *classic) dismissLocked(m *member) {
	c.answerJoinLocked(m, JoinResult{Err: ErrUnknownMember})
	c.answerSyncLocked(m, SyncResult{Err: ErrUnknownMember})
	c.removeLocked(m.id)
}

// afterLossLocked goes on without members that have been taken out.
func (c *classic) afterLossLocked(reason string) {
	if c.state != Empty {
		c.rebalanceLocked(reason)
	}
}

// startLocked gives the members of a group that was loaded a fresh session each.
// A group that was a consumer group a moment ago has them join again: what those
// had who have left is still to be divided, and the log does not say so.
func (c *classic) startLocked() {
	if len(c.members) == 0 {
		return
	}
	c.g.s.logf(slog.LevelInfo, "Loaded classic group %s with %d members.", c.g.id, len(c.members))
	for _, m := range c.orderedLocked() {
		c.extendSessionLocked(m, m.sessionTimeoutMs)
	}
	most := c.g.s.c.settings().MaxSize
	switch {
	case len(c.members) > most:
		c.rebalanceLocked("Freshly-loaded group is over capacity. Rebalancing in order to give a chance for consumers to commit offsets")
	case c.converted:
		c.rebalanceLocked("Freshly-loaded group was a consumer group")
	}
}

func (c *classic) stopLocked(err error) {
	c.joinTimer.stopLocked()
	c.syncTimer.stopLocked()
	for _, s := range c.pending {
		s.stopLocked()
	}
	for _, m := range c.members {
		m.session.stopLocked()
		c.answerJoinLocked(m, JoinResult{Err: err, MemberID: m.id})
		c.answerSyncLocked(m, SyncResult{Err: err})
	}
}
