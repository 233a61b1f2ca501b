package group

import (
	"fmt"
	"slices"
	"strings"
)

// ConsumerHeartbeat is what a member of a consumer group says. What has not
// changed since it last said it may be left out, except on joining. Slices are
// kept.
type ConsumerHeartbeat struct {
	GroupID    string
	MemberID   string
	Epoch      int32 // 0 to join, -1 to leave, -2 for a static member that leaves and will be back
	InstanceID *string
	RackID     *string
	ClientID   string
	ClientHost string
	// RebalanceTimeoutMs is -1 when left out, Topics, Regex, Assignor and Owned
	// are nil.
	RebalanceTimeoutMs int32
	Topics             []string
	Regex              *string
	Assignor           *string
	Owned              []TopicPartitions
	// NeedsID says that the client makes its member id itself.
	NeedsID bool
}

// TopicPartitions is partitions of one topic.
type TopicPartitions struct {
	TopicID    [16]byte
	Partitions []int32
}

// ConsumerHeartbeatResult is the answer to a ConsumerHeartbeat.
type ConsumerHeartbeatResult struct {
	MemberID            string
	Epoch               int32
	HeartbeatIntervalMs int32
	// Assignment is all that the member shall have; nil when that has not
	// changed.
	Assignment *[]TopicPartitions
}

// ConsumerHeartbeat keeps a member in its consumer group, makes it one or ends
// that, and tells it what to read. Errors: ErrInvalidRequest, ErrGroupNotFound,
// ErrUnknownMember, ErrFencedEpoch, ErrFencedInstance, ErrUnreleasedInstance,
// ErrUnsupportedAssignor, ErrInvalidRegex, ErrGroupMaxSize, most as a *Refusal, and
// those of a coordinator that cannot be asked.
func (c *Coordinator) ConsumerHeartbeat(r *ConsumerHeartbeat) (ConsumerHeartbeatResult, error) {
	set := c.settings()
	if err := r.check(&set); err != nil {
		return ConsumerHeartbeatResult{}, err
	}
	s, err := c.shardOf(r.GroupID)
	if err != nil {
		return ConsumerHeartbeatResult{}, err
	}
	if r.Epoch < 0 {
		return s.consumerLeave(r)
	}
	g := s.find(r.GroupID)
	created := false
	switch {
	case g == nil && r.Epoch != joinEpoch:
		return ConsumerHeartbeatResult{}, &Refusal{ErrGroupNotFound, "Consumer group " + r.GroupID + " not found."}
	case g == nil:
		if g, created, err = s.findOrCreate(r.GroupID); err != nil {
			return ConsumerHeartbeatResult{}, err
		}
	}
	defer g.mu.Unlock()
	result, err := g.consumerHeartbeatLocked(r, created, &set)
	if err != nil && created {
		s.removeLocked(g)
	}
	return result, err
}

// check refuses what nobody can mean.
func (r *ConsumerHeartbeat) check(set *Settings) error {
	invalid := func(text string) error { return &Refusal{ErrInvalidRequest, text} }
	empty := func(s *string) bool { return s != nil && *s == "" }
	switch {
	case r.MemberID == "" && (r.NeedsID || r.Epoch > 0 || r.Epoch == leaveEpoch):
		return invalid("MemberId can't be empty.")
	case strings.TrimSpace(r.GroupID) == "":
		return invalid("GroupId can't be empty.")
	case empty(r.InstanceID):
		return invalid("InstanceId can't be empty.")
	case empty(r.RackID):
		return invalid("RackId can't be empty.")
	case r.Epoch == joinEpoch && r.RebalanceTimeoutMs == -1:
		return invalid("RebalanceTimeoutMs must be provided in first request.")
	case r.Epoch == joinEpoch && (r.Owned == nil || len(r.Owned) > 0):
		return invalid("TopicPartitions must be empty when (re-)joining.")
	case r.Epoch == joinEpoch && r.Topics == nil && r.Regex == nil:
		return invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
	case r.Epoch == leaveStaticEpoch && r.InstanceID == nil:
		return invalid("InstanceId can't be null.")
	case r.Epoch < leaveStaticEpoch:
		return invalid("MemberEpoch is invalid.")
	case r.Assignor != nil && !slices.Contains(set.Assignors, *r.Assignor):
		return &Refusal{ErrUnsupportedAssignor, fmt.Sprintf("ServerAssignor %s is not supported. Supported assignors: %s.",
			*r.Assignor, strings.Join(set.Assignors, ", "))}
	}
	return nil
}

// consumerHeartbeatLocked plans what the heartbeat brings about, and does it.
func (g *Group) consumerHeartbeatLocked(r *ConsumerHeartbeat, created bool, set *Settings) (ConsumerHeartbeatResult, error) {
	none := ConsumerHeartbeatResult{}
	plan, err := g.asConsumerLocked(r.Epoch == joinEpoch, created, set)
	if err != nil {
		return none, err
	}
	c := plan.c
	if err := c.checkRoomLocked(r.MemberID, r.InstanceID, set); err != nil {
		return none, err
	}
	id := r.MemberID
	if id == "" {
		id = newTextID()
	}
	old, err := c.speakerLocked(plan, r, id)
	if err != nil {
		return none, err
	}
	m := r.update(old)
	changed := plan.noteRoleLocked(old, m)
	regexChanged, resolved, err := plan.noteRegexLocked(old, m, set)
	if err != nil {
		return none, err
	}
	bump := changed || resolved || plan.unsettled || c.assignorChangesLocked(old, m, set)
	epoch := plan.raiseEpochLocked(old, m, bump)
	target, part, err := plan.retargetLocked(old, m, epoch, set)
	if err != nil {
		return none, err
	}
	m = plan.reconcileLocked(m, target, part, changed || regexChanged, r.Owned)
	if err := plan.commitLocked(); err != nil {
		return none, err
	}
	consumerSet := c.settings()
	c.extendSessionLocked(m.id, consumerSet.SessionTimeoutMs)
	result := ConsumerHeartbeatResult{MemberID: m.id, Epoch: m.epoch, HeartbeatIntervalMs: c.askBackMsLocked(m, r.Epoch == joinEpoch, consumerSet.HeartbeatIntervalMs)}
	full := r.RebalanceTimeoutMs != -1 && (r.Topics != nil || r.Regex != nil) && r.Owned != nil
	if r.Epoch == joinEpoch || full || !old.assigned.equal(m.assigned) {
		list := listOf(m.assigned.partitions())
		result.Assignment = &list
	}
	return result, nil
}

func listOf(s partitionSet) []TopicPartitions {
	list := make([]TopicPartitions, 0, len(s))
	for _, id := range s.topics() {
		list = append(list, TopicPartitions{id, s[id]})
	}
	return list
}

// checkRoomLocked refuses a new member of a full group.
func (c *consumer) checkRoomLocked(id string, instanceID *string, set *Settings) error {
	if c.staticLocked(instanceID) != nil || len(c.members) < set.ConsumerMaxSize || c.members[id] != nil {
		return nil
	}
	return &Refusal{ErrGroupMaxSize, fmt.Sprintf("The consumer group has reached its maximum capacity of %d members.", set.ConsumerMaxSize)}
}

// speakerLocked is the member that a heartbeat comes from, as it was so far.
func (c *consumer) speakerLocked(plan *consumerPlan, r *ConsumerHeartbeat, id string) (*consumerMember, error) {
	join := r.Epoch == joinEpoch
	if r.InstanceID != nil {
		return c.staticSpeakerLocked(plan, r, id, join)
	}
	m := c.members[id]
	if m == nil && join {
		c.g.s.logf(levelInfo, "[GroupId %s] Member %s joins the consumer group using the consumer protocol.", c.g.id, id)
		return &consumerMember{id: id, rebalanceTimeoutMs: -1}, nil
	}
	if m == nil {
		_, err := c.memberLocked(id)
		return nil, err
	}
	return m, m.checkEpoch(r.Epoch, r.Owned)
}

func (c *consumer) staticSpeakerLocked(plan *consumerPlan, r *ConsumerHeartbeat, id string, join bool) (*consumerMember, error) {
	instance, m := *r.InstanceID, c.staticLocked(r.InstanceID)
	switch {
	case !join && m == nil:
		return nil, unknownInstance(instance)
	case !join && m.id != id:
		return nil, c.fencedBy(m, id, instance)
	case !join:
		return m, m.checkEpoch(r.Epoch, r.Owned)
	case m == nil:
		c.g.s.logf(levelInfo, "[GroupId %s] Static member %s with instance id %s joins the consumer group using the consumer protocol.", c.g.id, id, instance)
		if m = c.members[id]; m == nil {
			m = &consumerMember{id: id, rebalanceTimeoutMs: -1}
		}
		return m, nil
	case m.classic == nil && m.epoch != leaveStaticEpoch:
		c.g.s.logf(levelInfo, "[GroupId %s] Static member %s with instance id %s cannot join the group because the instance id is owned by member %s.",
			c.g.id, id, instance, m.id)
		return nil, &Refusal{ErrUnreleasedInstance, "Static member " + id + " with instance id " + instance +
			" cannot join the group because the instance id is owned by " + m.id + " member."}
	}
	return plan.replaceLocked(m, id, "consumer"), nil
}

func unknownInstance(instance string) error {
	return &Refusal{ErrUnknownMember, "Instance id " + instance + " is unknown."}
}

func (c *consumer) fencedBy(m *consumerMember, id, instance string) error {
	c.g.s.logf(levelInfo, "[GroupId %s] Static member %s with instance id %s is fenced by existing member %s.", c.g.id, id, instance, m.id)
	return &Refusal{ErrFencedInstance, "Static member " + id + " with instance id " + instance + " was fenced by member " + m.id + "."}
}

// replaceLocked plans that a static member goes on under a new id, with all that
// the one before had.
func (p *consumerPlan) replaceLocked(old *consumerMember, id, protocol string) *consumerMember {
	p.removeLocked(old)
	m := *old
	m.id, m.epoch, m.previous = id, 0, 0
	p.add(memberChange{&m})
	p.add(partChange{id, p.c.targets[old.id]})
	p.add(currentOf(&m))
	p.c.g.s.logf(levelInfo, "[GroupId %s] Static member with instance id %s re-joins the consumer group using the %s protocol. Created a new member %s to replace the existing member %s.",
		p.c.g.id, *old.instanceID, protocol, id, old.id)
	return &m
}

// removeLocked plans that a member goes.
func (p *consumerPlan) removeLocked(m *consumerMember) {
	p.add(currentGone{m.id})
	p.add(partGone{m.id})
	p.add(memberGone{m.id})
}

// checkEpoch refuses a member that missed what happened. The epoch before is
// taken when the answer with the new one may have been lost.
func (m *consumerMember) checkEpoch(epoch int32, owned []TopicPartitions) error {
	word := "greater"
	switch {
	case epoch == joinEpoch || epoch == m.epoch:
		return nil
	case epoch < m.epoch:
		if epoch == m.previous && owned != nil && m.hasAll(owned) {
			return nil
		}
		word = "smaller"
	}
	return &Refusal{ErrFencedEpoch, fmt.Sprintf("The consumer group member has a %s member epoch (%d) than the one known by the group coordinator (%d). "+
		"The member must abandon all its partitions and rejoin.", word, epoch, m.epoch)}
}

func (m *consumerMember) hasAll(owned []TopicPartitions) bool {
	for _, t := range owned {
		if m.assigned[t.TopicID] == nil {
			return false
		}
		for _, p := range t.Partitions {
			if !m.assigned.has(t.TopicID, p) {
				return false
			}
		}
	}
	return true
}

// update is the member with what the heartbeat says of it.
func (r *ConsumerHeartbeat) update(old *consumerMember) *consumerMember {
	m := *old
	m.clientID, m.clientHost, m.classic = r.ClientID, r.ClientHost, nil
	if r.InstanceID != nil {
		m.instanceID = r.InstanceID
	}
	if r.RackID != nil {
		m.rackID = r.RackID
	}
	if r.RebalanceTimeoutMs != -1 {
		m.rebalanceTimeoutMs = r.RebalanceTimeoutMs
	}
	if r.Assignor != nil {
		m.assignor = r.Assignor
	}
	if r.Topics != nil && !sameNames(m.topics, r.Topics) {
		m.topics = distinctNames(r.Topics)
	}
	if r.Regex != nil {
		m.regex = *r.Regex
	}
	return &m
}

// sameNames saves the sorting of names that have not changed.
func sameNames(sorted, names []string) bool { return slices.Equal(sorted, names) }

func distinctNames(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return slices.Compact(names)
}

// noteRoleLocked plans what the member now says of itself, and says whether it
// subscribes to other names.
func (p *consumerPlan) noteRoleLocked(old, m *consumerMember) bool {
	if old.sameRole(m) {
		return false
	}
	p.add(memberChange{m})
	return !slices.Equal(old.topics, m.topics)
}
