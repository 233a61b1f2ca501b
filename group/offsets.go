package group

import (
	"cmp"
	"maps"
	"slices"
)

// offsets are a group's offsets: those in force by topic and partition, and
// those of transactions that are not decided, by producer.
type offsets struct {
	committed map[string]map[int32]Offset
	pending   map[int64]map[PartitionName]Offset
}

func (o *offsets) empty() bool { return len(o.committed) == 0 && len(o.pending) == 0 }

func (o *offsets) get(p PartitionName) (Offset, bool) {
	v, ok := o.committed[p.Topic][p.Partition]
	return v, ok
}

func (o *offsets) put(p PartitionName, v Offset) {
	if o.committed == nil {
		o.committed = map[string]map[int32]Offset{}
	}
	partitions := o.committed[p.Topic]
	if partitions == nil {
		partitions = map[int32]Offset{}
		o.committed[p.Topic] = partitions
	}
	partitions[p.Partition] = v
}

func (o *offsets) drop(p PartitionName) {
	partitions := o.committed[p.Topic]
	delete(partitions, p.Partition)
	if len(partitions) == 0 {
		delete(o.committed, p.Topic)
	}
}

// unstable says whether a transaction that commits the partition's offset is
// not decided.
func (o *offsets) unstable(p PartitionName) bool {
	for _, byPartition := range o.pending {
		if _, ok := byPartition[p]; ok {
			return true
		}
	}
	return false
}

// partitions lists all that have an offset or wait for one, by topic and number.
func (o *offsets) partitions(withPending bool) []PartitionName {
	var all []PartitionName
	for topic, partitions := range o.committed {
		for p := range partitions {
			all = append(all, PartitionName{topic, p})
		}
	}
	if withPending {
		for _, byPartition := range o.pending {
			for p := range byPartition {
				if _, ok := o.get(p); !ok {
					all = append(all, p)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b PartitionName) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return slices.Compact(all)
}

// putPendingLocked notes the offset of a transaction that is not decided.
func (g *Group) putPendingLocked(producer int64, p PartitionName, v Offset) {
	g.expectMarkerLocked(producer)
	byPartition := g.offsets.pending[producer]
	if byPartition == nil {
		if g.offsets.pending == nil {
			g.offsets.pending = map[int64]map[PartitionName]Offset{}
		}
		byPartition = map[PartitionName]Offset{}
		g.offsets.pending[producer] = byPartition
	}
	byPartition[p] = v
}

// expectMarkerLocked has the end of the producer's transaction reach this group.
func (g *Group) expectMarkerLocked(producer int64) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	groups := g.s.producers[producer]
	if groups == nil {
		groups = map[*Group]struct{}{}
		g.s.producers[producer] = groups
	}
	groups[g] = struct{}{}
}

// dropOffsetLocked follows a tombstone: the offset goes, and what transactions
// have in store for the partition too.
func (g *Group) dropOffsetLocked(p PartitionName) {
	g.offsets.drop(p)
	for producer, byPartition := range g.offsets.pending {
		delete(byPartition, p)
		if len(byPartition) == 0 {
			g.forgetProducerLocked(producer)
		}
	}
}

func (g *Group) forgetProducerLocked(producer int64) {
	delete(g.offsets.pending, producer)
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	groups := g.s.producers[producer]
	delete(groups, g)
	if len(groups) == 0 {
		delete(g.s.producers, producer)
	}
}

// markerWritten follows a marker that was just written. While the shard is loaded
// the loader comes to it in its turn: applied before what lies between, it would
// decide the wrong offsets.
func (s *shard) markerWritten(producer, markerOffset int64, commit bool) {
	s.mu.RLock()
	ahead := s.state.Load() == shardLoading
	s.mu.RUnlock()
	if !ahead {
		s.completeTransaction(producer, markerOffset, commit)
	}
}

// completeTransaction follows a marker at an offset of the log: the offsets that
// the producer's transaction committed before it come into force or are
// forgotten.
func (s *shard) completeTransaction(producer, markerOffset int64, commit bool) {
	s.mu.RLock()
	groups := slices.Collect(maps.Keys(s.producers[producer]))
	s.mu.RUnlock()
	for _, g := range groups {
		g.mu.Lock()
		if !g.gone {
			g.completeLocked(producer, markerOffset, commit)
		}
		g.mu.Unlock()
	}
}

// completeLocked is completeTransaction for one group. Of two commits of a
// partition the one later in the log wins, whichever came into force first.
func (g *Group) completeLocked(producer, markerOffset int64, commit bool) {
	byPartition := g.offsets.pending[producer]
	for p, v := range byPartition {
		if v.recordOffset > markerOffset {
			continue // of the producer's next transaction
		}
		delete(byPartition, p)
		if old, ok := g.offsets.get(p); commit && (!ok || v.recordOffset > old.recordOffset) {
			g.offsets.put(p, v)
		}
	}
	if len(byPartition) == 0 {
		g.forgetProducerLocked(producer)
	}
}
