package group

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Members of a consumer group may speak the classic protocol: a join is a
// heartbeat that says everything, a sync tells what the member has, and a
// heartbeat is told to rebalance when there is a new step to take.

// joinLocked makes somebody a member who speaks the classic protocol.
func (c *consumer) joinLocked(r *JoinRequest, set *Settings, answer chan<- JoinResult) error {
	if !set.Migration.Upgrade && !set.Migration.Downgrade {
		c.g.s.logf(levelInfo, "Cannot join the consumer group %s with the classic protocol because the group migration is disabled.", c.g.id)
		return ErrInconsistentProtocol
	}
	id, unknown := r.MemberID, r.MemberID == ""
	if unknown {
		id = newTextID()
	}
	if err := c.checkRoomLocked(id, r.InstanceID, set); err != nil {
		return err
	}
	if !c.supportsLocked(r) {
		return ErrInconsistentProtocol
	}
	if unknown && r.NeedsID && r.InstanceID == nil {
		c.g.s.logf(levelInfo, "[GroupId %s] Dynamic member with unknown member id joins the consumer group. Created a new member id %s and requesting the member to rejoin with this id.",
			c.g.id, id)
		answer <- JoinResult{Err: ErrMemberIDRequired, MemberID: id}
		return nil
	}
	var said kmsg.ConsumerMemberMetadata
	if said.ReadFrom(r.Protocols[0].Metadata) != nil {
		return ErrInconsistentProtocol
	}
	plan := &consumerPlan{c: c}
	replaced := c.staticLocked(r.InstanceID)
	old, err := c.classicSpeakerLocked(plan, r, id, unknown)
	if err != nil {
		return err
	}
	j := classicJoin{c: c, plan: plan, r: r, set: set, said: &said, old: old, replaced: replaced}
	return j.runLocked(answer)
}

// supportsLocked says whether all members of the classic protocol know one of
// the protocols that the member has.
func (c *consumer) supportsLocked(r *JoinRequest) bool {
	if r.ProtocolType != consumerProtocolType || len(r.Protocols) == 0 {
		return false
	}
	for _, p := range r.Protocols {
		known := true
		for _, m := range c.members {
			known = known && (m.classic == nil || m.classic.knows(p.Name))
		}
		if known {
			return true
		}
	}
	return false
}

func (p *classicPart) knows(protocol string) bool {
	for i := range p.protocols {
		if p.protocols[i].Name == protocol {
			return true
		}
	}
	return false
}

// classicSpeakerLocked is the member that joins, as it was so far.
func (c *consumer) classicSpeakerLocked(plan *consumerPlan, r *JoinRequest, id string, unknown bool) (*consumerMember, error) {
	m := c.staticLocked(r.InstanceID)
	switch {
	case r.InstanceID == nil || m == nil && unknown:
		if m = c.members[id]; m == nil {
			c.g.s.logf(levelInfo, "[GroupId %s] Member %s joins the consumer group using the classic protocol.", c.g.id, id)
			m = &consumerMember{id: id, rebalanceTimeoutMs: -1}
		}
		return m, nil
	case m == nil:
		return nil, unknownInstance(*r.InstanceID)
	case unknown:
		return plan.replaceLocked(m, id, "classic"), nil
	case m.id != id:
		return nil, c.fencedBy(m, id, *r.InstanceID)
	}
	return m, nil
}

// classicJoin is the work of one join.
type classicJoin struct {
	c        *consumer
	plan     *consumerPlan
	r        *JoinRequest
	set      *Settings
	said     *kmsg.ConsumerMemberMetadata
	old      *consumerMember
	replaced *consumerMember // the static member whose place it takes; nil none
}

func (j *classicJoin) runLocked(answer chan<- JoinResult) error {
	c, plan, old := j.c, j.plan, j.old
	m := j.update()
	changed := plan.noteRoleLocked(old, m)
	regexChanged, _, err := plan.noteRegexLocked(old, m, j.set)
	if err != nil {
		return err
	}
	bump := changed || regexChanged
	epoch := plan.raiseEpochLocked(old, m, bump)
	downgrade := j.replaced != nil && c.onlyClassicLocked([]*consumerMember{j.replaced}) && c.mayDowngradeLocked(len(c.members))
	switch {
	case downgrade:
		if !bump {
			m = plan.reconcileLocked(m, c.targetEpoch, c.targetOfLocked(m), false, j.owned())
		}
		err = c.downgradeLocked([]*consumerMember{j.replaced}, m, bump, plan.changes,
			"Downgrade group "+c.g.id+" from consumer to classic for static member replacement with different subscription.")
	default:
		var target int32
		var part partitionSet
		if target, part, err = plan.retargetLocked(old, m, epoch, j.set); err != nil {
			return err
		}
		m = plan.reconcileLocked(m, target, part, bump, j.owned())
		err = plan.commitLocked()
	}
	if err != nil {
		return err
	}
	if !downgrade {
		c.timersLocked(m.id).join.stopLocked()
		c.extendSessionLocked(m.id, j.r.SessionTimeoutMs)
		c.awaitSyncLocked(m.id, j.r.RebalanceTimeoutMs)
	}
	answer <- JoinResult{Generation: m.epoch, ProtocolType: consumerProtocolType, Protocol: &m.classic.protocols[0].Name, MemberID: m.id}
	return nil
}

// update is the member with what it says of itself now.
func (j *classicJoin) update() *consumerMember {
	m, r := *j.old, j.r
	if r.InstanceID != nil {
		m.instanceID = r.InstanceID
	}
	if j.said.Rack != nil {
		m.rackID = j.said.Rack
	}
	m.rebalanceTimeoutMs = r.RebalanceTimeoutMs
	m.topics, m.regex = distinctNames(j.said.Topics), ""
	m.clientID, m.clientHost = r.ClientID, r.ClientHost
	m.classic = &classicPart{r.SessionTimeoutMs, r.Protocols}
	return &m
}

// owned is what the member says that it has.
func (j *classicJoin) owned() []TopicPartitions {
	list := []TopicPartitions{}
	for i := range j.said.OwnedPartitions {
		o := &j.said.OwnedPartitions[i]
		if t, ok := j.c.g.s.c.topics().ByName(o.Topic); ok {
			list = append(list, TopicPartitions{t.ID, o.Partitions})
		}
	}
	return list
}

// classicMemberLocked is a member that speaks the classic protocol.
func (c *consumer) classicMemberLocked(id string, instanceID *string) (*consumerMember, error) {
	m, err := c.members[id], error(nil)
	if instanceID != nil {
		if m = c.staticLocked(instanceID); m != nil && m.id != id {
			return nil, c.fencedBy(m, id, *instanceID)
		}
	}
	if m == nil || m.classic == nil {
		err = ErrUnknownMember
	}
	return m, err
}

func (c *consumer) syncLocked(r *SyncRequest, answer chan<- SyncResult) error {
	m, err := c.classicMemberLocked(r.MemberID, r.InstanceID)
	switch {
	case err != nil:
		return err
	case m.epoch != r.Generation:
		return ErrIllegalGeneration
	case r.ProtocolType != nil && *r.ProtocolType != consumerProtocolType,
		r.Protocol != nil && *r.Protocol != m.classic.protocols[0].Name:
		return ErrInconsistentProtocol
	case c.targetEpoch > m.epoch && m.state != memberUnrevoked:
		c.awaitJoinLocked(m)
		return ErrRebalanceInProgress
	}
	c.timersLocked(m.id).sync.stopLocked()
	c.extendSessionLocked(m.id, m.classic.sessionTimeoutMs)
	result := SyncResult{Protocol: r.Protocol, Assignment: classicAssignment(m.assigned.partitions(), c.g.s.c.topics(), m.classic.version())}
	if r.ProtocolType != nil {
		result.ProtocolType = *r.ProtocolType
	}
	answer <- result
	return nil
}

func (c *consumer) heartbeatLocked(r *HeartbeatRequest) error {
	m, err := c.classicMemberLocked(r.MemberID, r.InstanceID)
	switch {
	case err != nil:
		return err
	case m.epoch != r.Generation:
		return ErrIllegalGeneration
	}
	c.extendSessionLocked(m.id, m.classic.sessionTimeoutMs)
	if m.epoch < c.targetEpoch || m.state == memberUnrevoked || m.state == memberUnreleased && !c.waitsLocked(m) {
		c.awaitJoinLocked(m)
		return ErrRebalanceInProgress
	}
	return nil
}

// waitsLocked says that others still have partitions that the member shall get.
func (c *consumer) waitsLocked(m *consumerMember) bool {
	for id, list := range c.targets[m.id] {
		for _, p := range list {
			if !m.assigned.has(id, p) && c.ownedLocked(id, p) {
				return true
			}
		}
	}
	return false
}

// leaveClassicLocked takes members out, whatever protocol they speak.
func (c *consumer) leaveClassicLocked(members []Leaving) ([]error, error) {
	errs := make([]error, len(members))
	var gone []*consumerMember
	seen := map[string]bool{}
	for i := range members {
		l := &members[i]
		m, err := c.leavingLocked(l)
		if errs[i] = err; err != nil || seen[m.id] {
			continue
		}
		seen[m.id] = true
		gone = append(gone, m)
		c.g.s.logf(levelInfo, "[GroupId %s] %s member %s has left group through explicit `LeaveGroup` request; client reason: %s",
			c.g.id, kindOf(l), m.id, reasonOf(strings.TrimSpace(l.Reason)))
	}
	return errs, c.fenceLocked(gone)
}

func kindOf(l *Leaving) string {
	if l.InstanceID == nil {
		return "Dynamic"
	}
	return "Static"
}

func (c *consumer) leavingLocked(l *Leaving) (*consumerMember, error) {
	if l.InstanceID == nil {
		return c.memberLocked(l.MemberID)
	}
	m := c.staticLocked(l.InstanceID)
	switch {
	case m == nil:
		return nil, unknownInstance(*l.InstanceID)
	case l.MemberID != "" && m.id != l.MemberID:
		return nil, c.fencedBy(m, l.MemberID, *l.InstanceID)
	}
	return m, nil
}
