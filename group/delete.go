package group

import (
	"errors"
	"slices"
	"strings"

	"minibroker/record"
)

// DeleteOffsets deletes offsets of a group and returns an error for each
// partition that must stay: ErrSubscribed. An error refuses them all:
// ErrInvalidGroupID, ErrGroupNotFound, ErrNonEmptyGroup and those of a
// coordinator that cannot be asked.
func (c *Coordinator) DeleteOffsets(groupID string, partitions []PartitionName) ([]error, error) {
	if groupID == "" {
		return nil, ErrInvalidGroupID
	}
	s, err := c.shardOf(groupID)
	if err != nil {
		return nil, err
	}
	g := s.find(groupID)
	if g == nil {
		return nil, notFound(groupID)
	}
	defer g.mu.Unlock()
	if err := g.machine.checkOffsetDeleteLocked(); err != nil {
		return nil, err
	}
	errs := make([]error, len(partitions))
	var records []record.Record
	var dropped []PartitionName
	for i, p := range partitions {
		if g.machine.subscribedLocked(p.Topic) {
			errs[i] = ErrSubscribed
			continue
		}
		if _, ok := g.offsets.get(p); ok || g.offsets.unstable(p) {
			records = append(records, offsetTombstone(groupID, p))
			dropped = append(dropped, p)
		}
	}
	if len(records) == 0 {
		return errs, nil
	}
	if _, err := s.appendLocked(records); err != nil {
		return nil, err
	}
	for _, p := range dropped {
		g.dropOffsetLocked(p)
	}
	return errs, nil
}

// Delete deletes groups that have no members, with their offsets, and returns an
// error for each that stays: ErrGroupNotFound, ErrNonEmptyGroup and those of a
// coordinator that cannot be asked.
func (c *Coordinator) Delete(ids []string) []error {
	errs := make([]error, len(ids))
	byShard := map[*shard][]int{}
	var order []*shard
	for i, id := range ids {
		s, err := c.shardOf(id)
		if err != nil {
			errs[i] = err
			continue
		}
		if byShard[s] == nil {
			order = append(order, s)
		}
		byShard[s] = append(byShard[s], i)
	}
	for _, s := range order {
		s.delete(ids, byShard[s], errs)
	}
	return errs
}

// delete deletes the groups at the given places of ids, in one batch.
func (s *shard) delete(ids []string, places []int, errs []error) {
	// Locks of several groups are taken in the order of their ids.
	slices.SortFunc(places, func(a, b int) int { return strings.Compare(ids[a], ids[b]) })
	x := removal{s: s}
	defer x.unlock()
	for n, i := range places {
		if n > 0 && ids[i] == ids[places[n-1]] {
			errs[i] = errs[places[n-1]]
			continue
		}
		g := s.find(ids[i])
		if g == nil {
			errs[i] = notFound(ids[i])
			continue
		}
		if err := g.machine.checkDeleteLocked(); err != nil {
			errs[i] = err
			g.mu.Unlock()
			continue
		}
		x.add(g, g.offsets.partitions(true), true)
	}
	if err := x.write(); err != nil {
		for _, i := range places {
			if errs[i] == nil {
				errs[i] = err
			}
		}
	}
}

// removal takes offsets and groups out of a shard, as one change. Its groups are
// locked until unlock.
type removal struct {
	s       *shard
	records []record.Record
	groups  []removedGroup
}

type removedGroup struct {
	g       *Group
	offsets []PartitionName
	whole   bool
}

// add notes what to remove of a group that is locked.
func (x *removal) add(g *Group, offsets []PartitionName, whole bool) {
	for _, p := range offsets {
		x.records = append(x.records, offsetTombstone(g.id, p))
	}
	if whole {
		x.records = g.machine.tombstonesLocked(x.records)
	}
	x.groups = append(x.groups, removedGroup{g, offsets, whole})
}

// write writes the tombstones and follows them.
func (x *removal) write() error {
	if len(x.records) == 0 {
		return nil
	}
	if err := x.append(x.records); err != nil {
		return err
	}
	for _, r := range x.groups {
		for _, p := range r.offsets {
			r.g.dropOffsetLocked(p)
		}
		if r.whole {
			x.s.removeLocked(r.g)
		}
	}
	return nil
}

// append writes one batch, or several when the log takes none so large: the
// order of the records is such that every beginning of them makes sense.
func (x *removal) append(records []record.Record) error {
	_, err := x.s.appendLocked(records)
	if len(records) < 2 || !errors.Is(err, ErrRecordsTooLarge) {
		return err
	}
	half := len(records) / 2
	if err := x.append(records[:half]); err != nil {
		return err
	}
	return x.append(records[half:])
}

func (x *removal) unlock() {
	for _, r := range x.groups {
		r.g.mu.Unlock()
	}
}
