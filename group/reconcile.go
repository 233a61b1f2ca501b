package group

// reconcileLocked plans the next step of a member towards its part of the
// target, and returns the member after it:
//
//	        gives up what is not in its part
//	stable ---------------------------------> unrevoked (at its old epoch)
//	  ^  \                                        |
//	  |   \ others have what it shall get         | has given it up
//	  |    v                                      v
//	  +-- unreleased (at the target's epoch) <----+----> stable
//
// changed says that it subscribes to something else: then what it has of topics
// that it does not want any more goes in any case. owned is what the member says
// that it has; nil when it does not say.
func (p *consumerPlan) reconcileLocked(m *consumerMember, epoch int32, part partitionSet, changed bool, owned []TopicPartitions) *consumerMember {
	if !changed && m.reconciledTo(epoch) {
		return m
	}
	r := reconciliation{c: p.c, m: m, epoch: epoch, part: part, owned: owned}
	r.wantLocked()
	next := r.stepLocked(changed)
	if next.sameProgress(m) {
		return m
	}
	p.add(currentOf(next))
	p.settled = next
	return next
}

// reconciliation is the work of one step.
type reconciliation struct {
	c     *consumer
	m     *consumerMember
	epoch int32 // of the target
	part  partitionSet
	owned []TopicPartitions
	want  map[topicID]bool // topics that the member subscribes to
}

func (r *reconciliation) wantLocked() {
	r.want = map[topicID]bool{}
	for _, id := range r.c.topicIDsLocked(r.m, r.c.g.s.c.topics(), map[topicID]int32{}) {
		r.want[id] = true
	}
}

func (r *reconciliation) stepLocked(changed bool) *consumerMember {
	m := r.m
	switch m.state {
	case memberStable:
		if m.epoch != r.epoch {
			return r.advanceLocked()
		}
		if changed {
			return r.shrink()
		}
		return m
	case memberUnrevoked:
		if !r.holds(m.revoking) {
			return r.advanceLocked()
		}
		if changed {
			return r.shrink()
		}
		return m
	}
	return r.advanceLocked()
}

// holds says that the member has, or may have, any of the partitions.
func (r *reconciliation) holds(o ownership) bool {
	if r.owned == nil {
		return true
	}
	for _, t := range r.owned {
		for _, p := range t.Partitions {
			if o.has(t.TopicID, p) {
				return true
			}
		}
	}
	return false
}

// shrink takes away the topics that the member does not subscribe to any more,
// at the epoch that it has.
func (r *reconciliation) shrink() *consumerMember {
	m := r.m
	keep, lose := ownership{}, ownership{}
	for id, partitions := range m.assigned {
		if r.want[id] {
			keep[id] = partitions
		} else {
			lose[id] = partitions
		}
	}
	if len(lose) == 0 {
		return m
	}
	next := m.moved(m.epoch)
	next.assigned = keep
	if lose = lose.merge(m.revoking); r.holds(lose) {
		next.state, next.revoking = memberUnrevoked, lose
	}
	return &next
}

// advanceLocked goes as far towards the target as is possible now.
func (r *reconciliation) advanceLocked() *consumerMember {
	m := r.m
	keep, lose, get := ownership{}, ownership{}, partitionSet{}
	for id, partitions := range m.assigned {
		for p, at := range partitions {
			if r.want[id] && r.part.has(id, p) {
				keep.put(id, p, at)
			} else {
				lose.put(id, p, at)
			}
		}
	}
	unreleased := false
	for id, list := range r.part {
		for _, p := range list {
			switch {
			case !r.want[id] || keep.has(id, p):
			case r.c.ownedLocked(id, p) && !m.revoking.has(id, p):
				unreleased = true
			default:
				get[id] = append(get[id], p)
			}
		}
	}
	if len(lose) > 0 && r.holds(lose) {
		next := m.moved(m.epoch)
		next.state, next.assigned, next.revoking = memberUnrevoked, keep, lose
		return &next
	}
	next := m.moved(r.epoch)
	next.state, next.revoking = memberStable, nil
	if unreleased {
		next.state = memberUnreleased
	}
	for id, list := range get {
		for _, p := range list {
			keep.put(id, p, r.epoch)
		}
	}
	next.assigned = keep
	return &next
}
