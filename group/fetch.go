package group

// FetchRequest asks for a group's offsets.
type FetchRequest struct {
	GroupID string
	// MemberID and MemberEpoch are those of a member that wants to be told when
	// it is none any more; nil and negative for anybody.
	MemberID    *string
	MemberEpoch int32
	// RequireStable refuses offsets that an open transaction is about to change.
	RequireStable bool
}

// FetchPartition is a partition whose offset is asked for.
type FetchPartition struct {
	PartitionName
	TopicID [16]byte // zero: whichever topic of that name
}

// Fetched is the offset of a partition. Without one Offset is -1.
type Fetched struct {
	PartitionName
	Offset
	Err error // ErrUnstableOffset
}

// noOffset is what stands for an offset that was never committed.
func noOffset() Offset { return Offset{Offset: -1, LeaderEpoch: -1} }

// Fetch returns the offsets of the given partitions, in their order. A group
// that is not there has none. Errors: ErrUnknownMember and other complaints
// about the member, and those of a coordinator that cannot be asked.
func (c *Coordinator) Fetch(r *FetchRequest, partitions []FetchPartition) ([]Fetched, error) {
	g, err := c.fetching(r)
	if err != nil {
		return nil, err
	}
	all := make([]Fetched, len(partitions))
	if g != nil {
		defer g.mu.Unlock()
	}
	for i := range partitions {
		p := &partitions[i]
		all[i] = Fetched{PartitionName: p.PartitionName, Offset: noOffset()}
		if g == nil {
			continue
		}
		if r.RequireStable && g.offsets.unstable(p.PartitionName) {
			all[i].Err = ErrUnstableOffset
			continue
		}
		// An offset of a topic that was deleted says nothing about the new one.
		if o, ok := g.offsets.get(p.PartitionName); ok && sameTopic(o.TopicID, p.TopicID) {
			all[i].Offset = o
		}
	}
	return all, nil
}

// sameTopic says that two topic ids, of which either may be unknown, do not
// differ.
func sameTopic(a, b [16]byte) bool {
	return a == b || a == [16]byte{} || b == [16]byte{}
}

// FetchAll returns all offsets of a group, by topic and partition.
func (c *Coordinator) FetchAll(r *FetchRequest) ([]Fetched, error) {
	g, err := c.fetching(r)
	if g == nil || err != nil {
		return nil, err
	}
	defer g.mu.Unlock()
	var all []Fetched
	for _, p := range g.offsets.partitions(false) {
		f := Fetched{PartitionName: p}
		if f.Offset, _ = g.offsets.get(p); r.RequireStable && g.offsets.unstable(p) {
			f.Offset, f.Err = noOffset(), ErrUnstableOffset
		}
		all = append(all, f)
	}
	return all, nil
}

// fetching returns the group that offsets are asked of, locked; nil when there
// is none.
func (c *Coordinator) fetching(r *FetchRequest) (*Group, error) {
	s, err := c.shardOf(r.GroupID)
	if err != nil {
		return nil, err
	}
	g := s.find(r.GroupID)
	if g == nil {
		return nil, nil
	}
	if err := g.machine.checkFetchLocked(r.MemberID, r.MemberEpoch); err != nil {
		g.mu.Unlock()
		return nil, err
	}
	return g, nil
}
