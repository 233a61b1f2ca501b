package group

import (
	"context"
	"log/slog"
)

// SyncRequest asks for a member's part of a generation; the leader's brings the
// parts of all. The slices are kept.
type SyncRequest struct {
	GroupID      string
	Generation   int32
	MemberID     string
	InstanceID   *string
	ProtocolType *string // nil: not said
	Protocol     *string // nil: not said
	Assignments  []Assignment
}

// Assignment is a member's part.
type Assignment struct {
	MemberID string
	Part     []byte
}

// SyncResult is the answer to a SyncRequest.
type SyncResult struct {
	Err          error
	ProtocolType string
	Protocol     *string
	Assignment   []byte
}

// Sync waits until the leader has divided the work. The second result is ctx's
// error when that ends first.
func (c *Coordinator) Sync(ctx context.Context, r *SyncRequest) (SyncResult, error) {
	answer := make(chan SyncResult, 1)
	if err := c.sync(r, answer); err != nil {
		return SyncResult{Err: err}, nil
	}
	select {
	case result := <-answer:
		return result, nil
	case <-ctx.Done():
		return SyncResult{}, ctx.Err()
	}
}

// sync begins a sync, which is answered at some time unless there is an error.
func (c *Coordinator) sync(r *SyncRequest, answer chan<- SyncResult) error {
	g, err := c.memberOf(r.GroupID)
	if err != nil {
		return err
	}
	defer g.mu.Unlock()
	return g.machine.syncLocked(r, answer)
}

// memberOf returns the group that somebody who claims to be a member asks,
// locked.
func (c *Coordinator) memberOf(groupID string) (*Group, error) {
	if groupID == "" {
		return nil, ErrInvalidGroupID
	}
	s, err := c.shardOf(groupID)
	if err != nil {
		return nil, err
	}
	g := s.find(groupID)
	if g == nil {
		return nil, ErrUnknownMember
	}
	return g, nil
}

func (c *classic) syncLocked(r *SyncRequest, answer chan<- SyncResult) error {
	if err := c.checkMemberLocked(r.MemberID, r.InstanceID); err != nil {
		return err
	}
	switch {
	case r.Generation != c.generation:
		return ErrIllegalGeneration
	case r.ProtocolType != nil && *r.ProtocolType != c.protocolType,
		r.Protocol != nil && (c.protocol == nil || *r.Protocol != *c.protocol):
		return ErrInconsistentProtocol
	case c.state == PreparingRebalance:
		return ErrRebalanceInProgress
	case c.state == Empty:
		return ErrUnknownMember
	}
	m := c.members[r.MemberID]
	c.syncedLocked(m)
	if c.state == Stable {
		answer <- SyncResult{ProtocolType: c.protocolType, Protocol: c.protocol, Assignment: m.assignment}
		return nil
	}
	c.answerSyncLocked(m, SyncResult{Err: ErrRebalanceInProgress}) // asked on a connection that was given up
	m.sync = answer
	if m.id == c.leader {
		c.divideLocked(r.Assignments)
	}
	return nil
}

// syncedLocked notes that a member has asked for its part.
func (c *classic) syncedLocked(m *member) {
	delete(c.unsynced, m.id)
	if len(c.unsynced) == 0 {
		c.syncTimer.stopLocked()
	}
}

// divideLocked writes the leader's division of the work and hands it out.
func (c *classic) divideLocked(parts []Assignment) {
	static := 0
	assignments := make(map[string][]byte, len(c.members))
	for id, m := range c.members {
		assignments[id] = nil
		if m.instanceID != nil {
			static++
		}
	}
	for _, a := range parts {
		if _, ok := assignments[a.MemberID]; ok {
			assignments[a.MemberID] = a.Part
		}
	}
	c.g.s.logf(slog.LevelInfo, "Assignment received from leader %s for group %s for generation %d. The group has %d members, %d of which are static.",
		c.leader, c.g.id, c.generation, len(c.members), static)
	if _, err := c.g.s.appendLocked(oneRecord(c.recordLocked(assignments))); err != nil {
		c.failSyncsLocked(err)
		c.rebalanceLocked("Error " + err.Error() + " when storing group assignment during SyncGroup (member: " + c.leader + ").")
		return
	}
	for _, m := range c.orderedLocked() {
		m.assignment = assignments[m.id]
		if c.answerSyncLocked(m, SyncResult{ProtocolType: c.protocolType, Protocol: c.protocol, Assignment: m.assignment}) {
			c.extendSessionLocked(m, m.sessionTimeoutMs)
		}
	}
	c.becomeLocked(Stable)
}

// failSyncsLocked ends the wait for a division that will not come.
func (c *classic) failSyncsLocked(err error) {
	for _, m := range c.orderedLocked() {
		m.assignment = nil
		if c.answerSyncLocked(m, SyncResult{Err: err}) {
			c.extendSessionLocked(m, m.sessionTimeoutMs)
		}
	}
}
