package group

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
)

// newMemberJoinTimeoutMs is how long a new member may wait in the join phase: it
// cannot send heartbeats, since it does not know its id yet.
const newMemberJoinTimeoutMs = 5 * 60 * 1000

// JoinRequest asks to be a member of a classic group's next generation. The
// slices are kept.
type JoinRequest struct {
	GroupID    string
	MemberID   string  // "" for a new member
	InstanceID *string // of a static member
	ClientID   string
	ClientHost string

	SessionTimeoutMs   int32
	RebalanceTimeoutMs int32
	ProtocolType       string
	Protocols          []Protocol // names differ
	Reason             string     // "" none given

	// NeedsID says that a new member without instance id joins in two steps:
	// it is told its id and joins again with that.
	NeedsID bool
	// CanSkipAssignment says that the client knows of leaders that need not
	// divide the work.
	CanSkipAssignment bool
}

// JoinResult is the answer to a JoinRequest. After an error only MemberID has a
// meaning.
type JoinResult struct {
	Err            error
	Generation     int32
	ProtocolType   string
	Protocol       *string
	LeaderID       string
	SkipAssignment bool
	MemberID       string
	Members        []JoinedMember // for the leader
}

// JoinedMember is what the leader is told of a member.
type JoinedMember struct {
	ID         string
	InstanceID *string
	Metadata   []byte
}

// Join waits until the join phase is over. The second result is ctx's error when
// that ends first; the member stays, until its session ends.
func (c *Coordinator) Join(ctx context.Context, r *JoinRequest) (JoinResult, error) {
	answer := make(chan JoinResult, 1)
	if err := c.join(r, answer); err != nil {
		return JoinResult{Err: err, MemberID: r.MemberID}, nil
	}
	select {
	case result := <-answer:
		return result, nil
	case <-ctx.Done():
		return JoinResult{}, ctx.Err()
	}
}

// join begins a join, which is answered at some time.
func (c *Coordinator) join(r *JoinRequest, answer chan<- JoinResult) error {
	set := c.settings()
	switch {
	case r.GroupID == "":
		return ErrInvalidGroupID
	case r.SessionTimeoutMs < set.MinSessionTimeoutMs || r.SessionTimeoutMs > set.MaxSessionTimeoutMs:
		return ErrInvalidSessionTimeout
	}
	s, err := c.shardOf(r.GroupID)
	if err != nil {
		return err
	}
	g := s.find(r.GroupID)
	if g == nil {
		if r.MemberID != "" {
			return ErrUnknownMember
		}
		var created bool
		if g, created, err = s.findOrCreate(r.GroupID); err != nil {
			return err
		}
		if created {
			if err := g.beginLocked(); err != nil {
				g.mu.Unlock()
				return err
			}
		}
	}
	defer g.mu.Unlock()
	if err := g.reuseLocked(); err != nil {
		return err
	}
	return g.machine.joinLocked(r, &set, answer)
}

// beginLocked writes the record that a new group begins with.
func (g *Group) beginLocked() error {
	c := g.machine.(*classic)
	_, err := g.s.appendLocked(oneRecord(newGroupRecord(g.id, c.since)))
	if err != nil {
		g.s.logf(slog.LevelWarn, "Failed to write empty metadata for group %s: %v", g.id, err)
		g.s.removeLocked(g)
	}
	return err
}

// reuseLocked makes a consumer group without members a classic one, for who
// wants to join with the classic protocol.
func (g *Group) reuseLocked() error {
	c, ok := g.machine.(*consumer)
	if !ok || !c.emptyLocked() {
		return nil
	}
	next := newClassic(g)
	records := append(c.tombstonesLocked(nil), newGroupRecord(g.id, next.since))
	if _, err := g.s.appendLocked(records); err != nil {
		return err
	}
	c.stopLocked(nil)
	g.machine = next
	return nil
}

func (c *classic) joinLocked(r *JoinRequest, set *Settings, answer chan<- JoinResult) error {
	switch {
	case !c.hasRoomLocked(r.MemberID, set.MaxSize):
		c.removeLocked(r.MemberID)
		answer <- JoinResult{Err: ErrGroupMaxSize}
	case !c.supportsLocked(r.ProtocolType, r.Protocols):
		answer <- JoinResult{Err: ErrInconsistentProtocol, MemberID: r.MemberID}
	case r.MemberID == "":
		c.joinNewLocked(r, answer)
	default:
		c.joinKnownLocked(r, answer)
	}
	return nil
}

// hasRoomLocked says whether the group takes the member. During the join phase
// those count who have come back; whoever is late may find no room.
func (c *classic) hasRoomLocked(id string, most int) bool {
	m := c.members[id]
	switch c.state {
	case PreparingRebalance:
		return (m != nil && m.join != nil) || c.awaiting < most
	case CompletingRebalance, Stable:
		return m != nil || len(c.members) < most
	}
	return true
}

func (c *classic) joinNewLocked(r *JoinRequest, answer chan<- JoinResult) {
	if r.InstanceID != nil {
		id := *r.InstanceID + "-" + newUUID()
		if old, ok := c.static[*r.InstanceID]; ok {
			c.g.s.logf(slog.LevelInfo, "Static member with groupInstanceId=%s and unknown member id joins group %s in %s state. Replacing previously mapped member %s with this groupInstanceId.",
				*r.InstanceID, c.g.id, c.state, old)
			c.replaceLocked(r, c.members[old], id, answer)
			return
		}
		c.g.s.logf(slog.LevelInfo, "Static member with groupInstanceId=%s and unknown member id joins group %s in %s state. Created a new member id %s for this member and added to the group.",
			*r.InstanceID, c.g.id, c.state, id)
		c.addJoiningLocked(r, id, answer)
		return
	}
	id := r.ClientID + "-" + newUUID()
	if !r.NeedsID {
		c.g.s.logf(slog.LevelInfo, "Dynamic member with unknown member id joins group %s in state %s. Created a new member id %s and added the member to the group.",
			c.g.id, c.state, id)
		c.addJoiningLocked(r, id, answer)
		return
	}
	c.g.s.logf(slog.LevelInfo, "Dynamic member with unknown member id joins group %s in %s state. Created a new member id %s and requesting the member to rejoin with this id.",
		c.g.id, c.state, id)
	waiting := &session{}
	c.pending[id] = waiting
	waiting.extendLocked(c.g, millis(r.SessionTimeoutMs), func() { c.pendingExpiredLocked(id) })
	answer <- JoinResult{Err: ErrMemberIDRequired, MemberID: id}
}

func (c *classic) joinKnownLocked(r *JoinRequest, answer chan<- JoinResult) {
	if c.pending[r.MemberID] != nil && r.InstanceID == nil {
		c.g.s.logf(slog.LevelDebug, "Pending dynamic member with id %s joins group %s in %s state. Adding to the group now.",
			r.MemberID, c.g.id, c.state)
		c.addJoiningLocked(r, r.MemberID, answer)
		return
	}
	if err := c.checkMemberLocked(r.MemberID, r.InstanceID); err != nil {
		answer <- JoinResult{Err: err, MemberID: r.MemberID}
		return
	}
	m := c.members[r.MemberID]
	same := m.matches(r.Protocols)
	switch {
	case c.state == Empty:
		answer <- JoinResult{Err: ErrUnknownMember, MemberID: r.MemberID}
	case c.state == CompletingRebalance && same:
		// It may not have got the answer to its first join.
		answer <- c.joinedLocked(m)
	case c.state == Stable && same && m.id != c.leader:
		// Nothing has changed: it goes on with the generation there is. Only
		// a leader may have seen something, like a new partition, that its
		// own metadata does not show.
		result := c.joinedLocked(m)
		result.Members = nil
		answer <- result
	default:
		c.updateLocked(m, r, answer)
		c.rebalanceLocked(fmt.Sprintf("Member %s is joining group during %s; client reason: %s", m.id, c.state, reasonOf(r.Reason)))
	}
}

func reasonOf(given string) string {
	if given == "" {
		return "not provided"
	}
	return given
}

// addJoiningLocked adds a new member, which waits for the end of the join phase.
func (c *classic) addJoiningLocked(r *JoinRequest, id string, answer chan<- JoinResult) {
	m := &member{
		id: id, instanceID: r.InstanceID, clientID: r.ClientID, clientHost: r.ClientHost,
		rebalanceTimeoutMs: r.RebalanceTimeoutMs, sessionTimeoutMs: r.SessionTimeoutMs,
		protocols: r.Protocols, isNew: true,
	}
	if c.state == PreparingRebalance && c.previous == Empty {
		c.newMember = true
	}
	if len(c.members) == 0 {
		c.protocolType = r.ProtocolType
	}
	c.addLocked(m, answer)
	c.extendSessionLocked(m, newMemberJoinTimeoutMs)
	c.rebalanceLocked(fmt.Sprintf("Adding new member %s with group instance id %s; client reason: %s",
		id, textOf(r.InstanceID), reasonOf(r.Reason)))
}

func textOf(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// replaceLocked puts a static member that came back in the place of what it was.
// Unless that changes the protocol, the group does not notice.
func (c *classic) replaceLocked(r *JoinRequest, old *member, id string, answer chan<- JoinResult) {
	leader := c.leader
	fenced := *old
	m := c.renameLocked(old, id)
	c.extendSessionLocked(m, m.sessionTimeoutMs)
	c.updateLocked(m, r, answer)
	switch c.state {
	case Stable:
		if c.protocol != nil && *c.protocol == c.chooseProtocolLocked() {
			c.keepReplacedLocked(r, &fenced, m, leader)
			return
		}
		c.rebalanceLocked("Group's selectedProtocol will change because static member " + id + " with instance id " + *m.instanceID +
			" joined with change of protocol; client reason: " + reasonOf(r.Reason))
	case CompletingRebalance:
		// The leader may be dividing the work among the old ids.
		c.rebalanceLocked("Updating metadata for static member " + id + " with instance id " + *m.instanceID +
			"; client reason: " + reasonOf(r.Reason))
	default:
		c.completeIfAllJoinedLocked()
	}
}

// renameLocked gives a static member a new id. Whoever still waits under the old
// one is fenced.
func (c *classic) renameLocked(old *member, id string) *member {
	c.answerJoinLocked(old, JoinResult{Err: ErrFencedInstance, MemberID: old.id})
	c.answerSyncLocked(old, SyncResult{Err: ErrFencedInstance})
	old.session.stopLocked()
	delete(c.members, old.id)
	m := &member{
		id: id, instanceID: old.instanceID, clientID: old.clientID, clientHost: old.clientHost,
		rebalanceTimeoutMs: old.rebalanceTimeoutMs, sessionTimeoutMs: old.sessionTimeoutMs,
		protocols: old.protocols, assignment: old.assignment,
	}
	c.insertLocked(m)
	if c.leader == old.id {
		c.leader = id
	}
	return m
}

// keepReplacedLocked writes the member's new id and lets it go on with the
// generation there is. When that cannot be written, the old id stays.
func (c *classic) keepReplacedLocked(r *JoinRequest, old, m *member, leader string) {
	c.g.s.logf(slog.LevelInfo, "Static member which joins during Stable stage and doesn't affect the selected protocol will not trigger a rebalance.")
	if _, err := c.g.s.appendLocked(oneRecord(c.recordLocked(c.assignmentsLocked()))); err != nil {
		c.g.s.logf(slog.LevelWarn, "Failed to persist metadata for group %s static member %s with group instance id %s due to %v. Reverting to old member id %s.",
			c.g.id, m.id, *m.instanceID, err, old.id)
		c.answerJoinLocked(m, JoinResult{Err: err})
		c.updateLocked(m, &JoinRequest{Protocols: old.protocols, RebalanceTimeoutMs: old.rebalanceTimeoutMs, SessionTimeoutMs: old.sessionTimeoutMs}, nil)
		back := c.renameLocked(m, old.id)
		c.extendSessionLocked(back, back.sessionTimeoutMs)
		return
	}
	result := c.joinedLocked(m)
	if r.CanSkipAssignment {
		result.SkipAssignment = m.id == c.leader
	} else {
		// A leader that divided the work again would start a rebalance; under
		// the old leader's id it does not take itself for the leader.
		result.Members, result.LeaderID = nil, leader
	}
	c.answerJoinLocked(m, result)
}

// joinedLocked is what a member is told at the end of the join phase.
func (c *classic) joinedLocked(m *member) JoinResult {
	r := JoinResult{Generation: c.generation, ProtocolType: c.protocolType, Protocol: c.protocol, LeaderID: c.leader, MemberID: m.id}
	if m.id == c.leader {
		for _, other := range c.orderedLocked() {
			r.Members = append(r.Members, JoinedMember{other.id, other.instanceID, other.metadataFor(c.protocol)})
		}
	}
	return r
}

func (c *classic) assignmentsLocked() map[string][]byte {
	all := make(map[string][]byte, len(c.members))
	for id, m := range c.members {
		all[id] = m.assignment
	}
	return all
}

// newUUID is a random UUID in its usual form.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
