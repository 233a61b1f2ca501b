package group

import (
	"slices"
)

// consumerLeave takes a member out of its group that says that it leaves.
func (s *shard) consumerLeave(r *ConsumerHeartbeat) (ConsumerHeartbeatResult, error) {
	g := s.find(r.GroupID)
	if g == nil {
		return ConsumerHeartbeatResult{}, notFound(r.GroupID)
	}
	defer g.mu.Unlock()
	c, ok := g.machine.(*consumer)
	if !ok {
		return ConsumerHeartbeatResult{}, notConsumer(r.GroupID)
	}
	return ConsumerHeartbeatResult{MemberID: r.MemberID, Epoch: r.Epoch}, c.leaveLocked(r)
}

func notConsumer(id string) error {
	return &Refusal{ErrGroupNotFound, "Group " + id + " is not a consumer group."}
}

func (c *consumer) leaveLocked(r *ConsumerHeartbeat) error {
	if r.InstanceID == nil {
		m, err := c.memberLocked(r.MemberID)
		if err != nil {
			return err
		}
		c.g.s.logf(levelInfo, "[GroupId %s] Member %s left the consumer group.", c.g.id, m.id)
		return c.fenceLocked([]*consumerMember{m})
	}
	m := c.staticLocked(r.InstanceID)
	switch {
	case m == nil:
		return unknownInstance(*r.InstanceID)
	case m.id != r.MemberID:
		return c.fencedBy(m, r.MemberID, *r.InstanceID)
	case r.Epoch != leaveStaticEpoch:
		c.g.s.logf(levelInfo, "[GroupId %s] Static member %s with instance id %s left the consumer group.", c.g.id, m.id, *r.InstanceID)
		return c.fenceLocked([]*consumerMember{m})
	}
	c.g.s.logf(levelInfo, "[GroupId %s] Static member %s with instance id %s temporarily left the consumer group.", c.g.id, m.id, *r.InstanceID)
	away := *m
	away.epoch, away.revoking = leaveStaticEpoch, nil
	plan := &consumerPlan{c: c}
	plan.add(currentOf(&away))
	return plan.commitLocked()
}

// fenceLocked takes members out; the rest go on without them. When only members
// of the classic protocol are left, the group becomes a classic one.
func (c *consumer) fenceLocked(members []*consumerMember) error {
	if len(members) == 0 {
		return nil
	}
	if c.canDowngradeLocked(members) {
		return c.downgradeLocked(members, nil, true, nil,
			"Downgrade group "+c.g.id+" from consumer to classic for member leaving.")
	}
	plan := &consumerPlan{c: c}
	for _, m := range members {
		plan.removeLocked(m)
	}
	left := c.subscriptionsLocked(nil, members...)
	for _, regex := range regexesOf(members) {
		if left.regexes[regex] == 0 {
			plan.add(regexGone{regex})
		}
	}
	plan.epochLocked(metadataHash(left.topics(), c.g.s.c.topics()))
	if left.members == 0 {
		plan.add(targetChange{c.epoch + 1, 0})
	}
	return plan.commitLocked()
}

func regexesOf(members []*consumerMember) []string {
	var all []string
	for _, m := range members {
		if m.regex != "" && !slices.Contains(all, m.regex) {
			all = append(all, m.regex)
		}
	}
	return all
}
