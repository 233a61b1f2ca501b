package txn

import "maps"

// Partition names a partition that a transaction touches.
type Partition struct {
	Topic     string
	Partition int32
}

const (
	none      int64 = -1
	noEpoch   int16 = -1
	lastEpoch int16 = 32766 // no producer is given a higher one
)

// metadata is what one record of the log says about a transactional id, and
// the epoch before, which is not stored.
type metadata struct {
	producerID    int64
	previousID    int64 // producer id before the last change, -1 for none
	nextID        int64 // taken over when the transaction is complete, -1 for none
	epoch         int16
	lastEpoch     int16 // the epoch that a repeat of the last request has, -1 for none
	timeoutMs     int32
	state         State
	partitions    partitionSet
	startMs       int64 // -1 when Empty
	updateMs      int64
	clientVersion Version
}

// change begins the next record: the producer id becomes the previous one.
func (m *metadata) change(to State, nowMs int64) metadata {
	next := *m
	next.previousID = m.producerID
	next.state = to
	next.updateMs = nowMs
	return next
}

// exhausted says whether the producer id can be given no further epoch.
func (m *metadata) exhausted() bool { return m.epoch >= lastEpoch }

// empty is the record of a producer that begins anew.
func (m *metadata) empty(timeoutMs int32, nowMs int64) metadata {
	next := m.change(Empty, nowMs)
	next.timeoutMs = timeoutMs
	next.partitions = partitionSet{}
	next.startMs = none
	return next
}

// ongoing is the record of a transaction that has grown by partitions.
func (m *metadata) ongoing(added []Partition, version Version, nowMs int64) metadata {
	next := m.change(Ongoing, nowMs)
	next.partitions = m.partitions.with(added)
	if m.state != Ongoing {
		next.startMs = nowMs
	}
	next.clientVersion = version
	return next
}

// prepare is the record that decides a transaction. nextID is a new producer id
// when this one's epochs are used up, else -1.
func (m *metadata) prepare(commit bool, version Version, nextID, nowMs int64) metadata {
	state := PrepareAbort
	if commit {
		state = PrepareCommit
	}
	next := m.change(state, nowMs)
	if m.state != Ongoing {
		next.startMs = nowMs // an abort of nothing
	}
	next.nextID = nextID
	next.clientVersion = version
	if version.bumps() {
		next.lastEpoch = m.epoch
		if m.epoch < lastEpoch+1 {
			next.epoch++
		}
	}
	return next
}

// complete is the record that follows when all markers are written.
func (m *metadata) complete(nowMs int64) metadata {
	state := CompleteAbort
	if m.state == PrepareCommit {
		state = CompleteCommit
	}
	next := m.change(state, nowMs)
	next.partitions = partitionSet{}
	if m.clientVersion.bumps() && m.nextID != none {
		next.producerID, next.epoch = m.nextID, 0
	}
	next.nextID = none
	return next
}

// partitionSet is a set of partitions in the order in which they came. It is
// not changed once it is part of a metadata.
type partitionSet struct {
	list  []Partition
	index map[Partition]struct{}
}

func (s partitionSet) has(p Partition) bool {
	_, ok := s.index[p]
	return ok
}

func (s partitionSet) hasAll(list []Partition) bool {
	for _, p := range list {
		if !s.has(p) {
			return false
		}
	}
	return true
}

// with returns the set and more partitions. The old set stays as it is.
func (s partitionSet) with(more []Partition) partitionSet {
	next := partitionSet{list: s.list[:len(s.list):len(s.list)], index: maps.Clone(s.index)}
	if next.index == nil {
		next.index = make(map[Partition]struct{}, len(more))
	}
	for _, p := range more {
		if _, ok := next.index[p]; !ok {
			next.index[p] = struct{}{}
			next.list = append(next.list, p)
		}
	}
	return next
}
