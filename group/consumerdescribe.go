package group

// ConsumerDescription is a consumer group.
type ConsumerDescription struct {
	State           string
	Epoch           int32
	AssignmentEpoch int32
	Assignor        string
	Members         []ConsumerMemberDescription
}

// ConsumerMemberDescription is a member of a consumer group. Its slices must not
// be changed.
type ConsumerMemberDescription struct {
	ID         string
	InstanceID *string
	RackID     *string
	Epoch      int32
	ClientID   string
	ClientHost string
	Topics     []string
	Regex      string
	Assigned   []TopicPartitions
	Target     []TopicPartitions
	Classic    bool // it speaks the classic protocol
}

// ConsumerDescribe returns a consumer group. Errors: ErrInvalidGroupID,
// ErrGroupNotFound, also for groups of another kind, and those of a coordinator
// that cannot be asked.
func (c *Coordinator) ConsumerDescribe(id string) (*ConsumerDescription, error) {
	if id == "" {
		return nil, ErrInvalidGroupID
	}
	s, err := c.shardOf(id)
	if err != nil {
		return nil, err
	}
	g := s.find(id)
	if g == nil {
		return nil, notFound(id)
	}
	defer g.mu.Unlock()
	group, ok := g.machine.(*consumer)
	if !ok {
		return nil, notConsumer(id)
	}
	set := c.settings()
	return group.describeLocked(&set), nil
}

func (c *consumer) describeLocked(set *Settings) *ConsumerDescription {
	d := &ConsumerDescription{
		State: c.stateLocked(), Epoch: c.epoch, AssignmentEpoch: c.targetEpoch, Assignor: c.assignorLocked(nil, set),
	}
	for _, id := range sortedNames(c.members) {
		m := c.members[id]
		d.Members = append(d.Members, ConsumerMemberDescription{
			ID: m.id, InstanceID: m.instanceID, RackID: m.rackID, Epoch: m.epoch, ClientID: m.clientID, ClientHost: m.clientHost,
			Topics: m.topics, Regex: m.regex, Assigned: listOf(m.assigned.merge(m.revoking).partitions()), Target: listOf(c.targets[id]),
			Classic: m.classic != nil,
		})
	}
	return d
}
