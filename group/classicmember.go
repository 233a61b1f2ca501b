package group

import (
	"log/slog"
	"strings"
)

// HeartbeatRequest is a sign of life of a member of a classic group.
type HeartbeatRequest struct {
	GroupID    string
	Generation int32
	MemberID   string
	InstanceID *string
}

// Heartbeat keeps a member in its group. ErrRebalanceInProgress tells a member
// that was kept to join again.
func (c *Coordinator) Heartbeat(r *HeartbeatRequest) error {
	g, err := c.memberOf(r.GroupID)
	if err == ErrLoading {
		return nil // the member will be there with a fresh session
	}
	if err != nil {
		return err
	}
	defer g.mu.Unlock()
	return g.machine.heartbeatLocked(r)
}

func (c *classic) heartbeatLocked(r *HeartbeatRequest) error {
	if err := c.checkMemberLocked(r.MemberID, r.InstanceID); err != nil {
		return err
	}
	if r.Generation != c.generation {
		return ErrIllegalGeneration
	}
	m := c.members[r.MemberID]
	c.extendSessionLocked(m, m.sessionTimeoutMs)
	if c.state == PreparingRebalance {
		return ErrRebalanceInProgress
	}
	return nil
}

// Leaving is a member that leaves, or is made to leave by its instance id alone.
type Leaving struct {
	MemberID   string // "" when only the instance id is known
	InstanceID *string
	Reason     string // "" none given
}

// Leave takes members out of a classic group and returns an error for each that
// was not in it. An error refuses them all.
func (c *Coordinator) Leave(groupID string, members []Leaving) ([]error, error) {
	g, err := c.memberOf(groupID)
	if err == ErrUnknownMember {
		return repeat(err, len(members)), nil
	}
	if err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	return g.machine.leaveClassicLocked(members)
}

func repeat(err error, n int) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}

func (c *classic) leaveClassicLocked(members []Leaving) ([]error, error) {
	errs := make([]error, len(members))
	var left []string
	for i := range members {
		l := &members[i]
		if errs[i] = c.leaveOneLocked(l); errs[i] == nil {
			left = append(left, l.MemberID)
		}
	}
	if len(left) > 0 {
		c.afterLossLocked("explicit `LeaveGroup` request for (" + strings.Join(left, ", ") + ") members.")
	}
	return errs, nil
}

func (c *classic) leaveOneLocked(l *Leaving) error {
	id := l.MemberID
	switch {
	case id == "":
		owner, ok := "", false
		if l.InstanceID != nil {
			owner, ok = c.static[*l.InstanceID]
		}
		if !ok {
			return ErrUnknownMember
		}
		id = owner
	case c.pending[id] != nil:
		c.g.s.logf(slog.LevelInfo, "[Group %s] Pending member %s has left group through explicit `LeaveGroup` request; client reason: %s",
			c.g.id, id, reasonOf(l.Reason))
		c.removeLocked(id)
		return nil
	default:
		if err := c.checkMemberLocked(id, l.InstanceID); err != nil {
			return err
		}
	}
	c.g.s.logf(slog.LevelInfo, "[Group %s] Member %s has left group through explicit `LeaveGroup` request; client reason: %s",
		c.g.id, id, reasonOf(l.Reason))
	c.dismissLocked(c.members[id])
	return nil
}

func (c *classic) checkCommitLocked(by *Committer, transactional bool) error {
	if by.Generation < 0 && c.state == Empty {
		return nil // nobody to collide with
	}
	switch {
	case by.Generation >= 0 || by.MemberID != "" || by.InstanceID != nil:
		if err := c.checkMemberLocked(by.MemberID, by.InstanceID); err != nil {
			return err
		}
		if by.Generation != c.generation {
			return ErrIllegalGeneration
		}
	case !transactional && c.state != Empty:
		return ErrUnknownMember
	}
	if !transactional && c.state == CompletingRebalance {
		return ErrRebalanceInProgress // the member may not own the partitions any more
	}
	return nil
}

func (c *classic) committedLocked(memberID string) {
	if m := c.members[memberID]; m != nil && (c.state == Stable || c.state == PreparingRebalance) {
		c.extendSessionLocked(m, m.sessionTimeoutMs)
	}
}

func (c *classic) checkPartitionLocked(*Committer, *CommitPartition) error { return nil }

func (c *classic) checkFetchLocked(*string, int32) error { return nil }

// checkOffsetDeleteLocked lets offsets of topics that nobody reads go, which is
// known of groups of consumers only.
func (c *classic) checkOffsetDeleteLocked() error {
	if c.state != Empty && c.protocolType != consumerProtocolType {
		return ErrNonEmptyGroup
	}
	return nil
}

func (c *classic) checkDeleteLocked() error {
	if c.state != Empty {
		return ErrNonEmptyGroup
	}
	return nil
}
