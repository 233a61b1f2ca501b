package group

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// asConsumerLocked begins a plan for a consumer group. On joining, a group that
// is new, or a classic group without members, becomes one; a classic group with
// members is converted, and its members go on in it with the protocol that they
// speak.
func (g *Group) asConsumerLocked(join, created bool, set *Settings) (*consumerPlan, error) {
	switch m := g.machine.(type) {
	case *consumer:
		return &consumerPlan{c: m}, nil
	case *classic:
		plan := &consumerPlan{c: newConsumer(g)}
		switch {
		case !join:
			return nil, notConsumer(g.id)
		case created:
			return plan, nil
		case m.state == Empty:
			plan.before = m.tombstonesLocked(nil)
			g.s.logf(levelInfo, "[GroupId %s] Converted the empty classic group to a consumer group.", g.id)
			return plan, nil
		}
		if err := m.checkUpgradeLocked(set); err != nil {
			g.s.logf(levelInfo, "%v", err)
			return nil, err
		}
		return plan, m.upgradeLocked(plan)
	}
	return nil, notConsumer(g.id)
}

func (c *classic) checkUpgradeLocked(set *Settings) error {
	why := ""
	switch {
	case !set.Migration.Upgrade:
		why = "online upgrade is disabled"
	case c.protocolType != consumerProtocolType:
		why = "the group does not use the consumer embedded protocol"
	case len(c.members) > set.ConsumerMaxSize:
		why = "the group size exceeds the consumer group maximum size"
	default:
		return nil
	}
	return c.cannotUpgrade(why)
}

func (c *classic) cannotUpgrade(why string) error {
	return &Refusal{ErrGroupNotFound, "Cannot upgrade classic group " + c.g.id + " to consumer group because " + why + "."}
}

// upgradeLocked plans that the classic group's members go on in a consumer
// group. Their generation is its epoch, and what they have is its target.
func (c *classic) upgradeLocked(plan *consumerPlan) error {
	const malformed = "the embedded consumer protocol is malformed"
	protocol := c.protocol
	if protocol == nil && len(c.members) > 0 { // they wait for their first generation, which would have had this one
		chosen := c.chooseProtocolLocked()
		protocol = &chosen
	}
	topics := c.g.s.c.topics()
	var roles, parts, progress []consumerChange
	for _, m := range c.orderedLocked() {
		var said kmsg.ConsumerMemberMetadata
		var has kmsg.ConsumerMemberAssignment
		if said.ReadFrom(m.metadataFor(protocol)) != nil || (len(m.assignment) > 0 && has.ReadFrom(m.assignment) != nil) {
			return c.cannotUpgrade(malformed)
		}
		if len(has.UserData) > 0 {
			return c.cannotUpgrade("an unsupported custom assignor is in use. " +
				"Please refer to the documentation or switch to a default assignor before re-attempting the upgrade")
		}
		part := partsOf(has.Topics, topics)
		n := &consumerMember{
			id: m.id, instanceID: m.instanceID, rackID: said.Rack, clientID: m.clientID, clientHost: m.clientHost,
			topics: distinctNames(said.Topics), rebalanceTimeoutMs: m.rebalanceTimeoutMs,
			classic: &classicPart{m.sessionTimeoutMs, m.protocols},
			epoch:   c.generation, previous: c.generation, assigned: own(part, c.generation),
		}
		roles, parts, progress = append(roles, memberChange{n}), append(parts, partChange{m.id, part}), append(progress, currentOf(n))
	}
	plan.unsettled = c.state != Stable
	plan.before = c.tombstonesLocked(nil)
	for _, change := range roles {
		change.applyLocked(plan.c)
	}
	hash := metadataHash(plan.c.subscriptionsLocked(nil).topics(), topics)
	all := append(roles, epochChange{c.generation, hash})
	all = append(append(all, parts...), targetChange{c.generation, 0})
	for _, change := range append(all, progress...) {
		change.applyLocked(plan.c)
		plan.before = append(plan.before, recordOf(c.g.id, change))
	}
	for _, m := range c.members {
		plan.joined = append(plan.joined, m)
	}
	c.g.s.logf(levelInfo, "[GroupId %s] Converted the classic group to a consumer group.", c.g.id)
	return nil
}

// partsOf are the partitions of an assignment among members of the classic
// protocol, as far as their topics are there.
func partsOf(list []kmsg.ConsumerMemberAssignmentTopic, topics Topics) partitionSet {
	part := partitionSet{}
	for i := range list {
		if t, ok := topics.ByName(list[i].Topic); ok {
			for _, p := range list[i].Partitions {
				part.add(t.ID, p)
			}
		}
	}
	return part
}
