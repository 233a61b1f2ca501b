package group

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"minibroker/record"
)

// shard is the groups of one partition of __consumer_offsets.
type shard struct {
	c         *Coordinator
	partition int32
	log       Log
	state     atomic.Int32 // one of the shard states

	// mu is a leaf: whoever holds it takes no other lock.
	mu     sync.RWMutex
	groups map[string]*Group
	// deleted are the topics that were deleted while the shard was loaded.
	deleted []deletedTopic
	// producers are the groups with offsets in open transactions, by producer id.
	producers map[int64]map[*Group]struct{}
}

const (
	shardLoading  int32 = iota
	shardCaughtUp       // all records are followed, timers are about to start; markers are followed as they come
	shardReady
	shardBroken // its records cannot be read
	shardClosed
)

func newShard(c *Coordinator, partition int32, log Log) *shard {
	return &shard{c: c, partition: partition, log: log, groups: map[string]*Group{}, producers: map[int64]map[*Group]struct{}{}}
}

// usable says why the shard cannot be asked.
func (s *shard) usable() error {
	switch s.state.Load() {
	case shardReady:
		return nil
	case shardLoading, shardCaughtUp:
		return ErrLoading
	}
	return ErrNotCoordinator
}

// find returns a group with its lock held; nil when there is none.
func (s *shard) find(id string) *Group {
	for {
		s.mu.RLock()
		g := s.groups[id]
		s.mu.RUnlock()
		if g == nil {
			return nil
		}
		g.mu.Lock()
		if !g.gone {
			return g
		}
		g.mu.Unlock() // it was removed meanwhile, and maybe made anew
	}
}

// findOrCreate returns a group with its lock held. A new one is an empty classic
// group that is written nowhere yet.
func (s *shard) findOrCreate(id string) (g *Group, created bool, err error) {
	for {
		if g := s.find(id); g != nil {
			return g, false, nil
		}
		g := newGroup(s, id)
		g.mu.Lock()
		s.mu.Lock()
		_, taken := s.groups[id]
		closed := s.state.Load() == shardClosed
		if !taken && !closed {
			s.groups[id] = g
		}
		s.mu.Unlock()
		switch {
		case closed:
			g.mu.Unlock()
			return nil, false, ErrNotCoordinator
		case !taken:
			return g, true, nil
		}
		g.mu.Unlock()
	}
}

// removeLocked takes a group out of the shard. Group.mu is held.
func (s *shard) removeLocked(g *Group) {
	g.machine.stopLocked(ErrNotCoordinator)
	g.gone = true
	s.mu.Lock()
	delete(s.groups, g.id)
	for id, groups := range s.producers {
		delete(groups, g)
		if len(groups) == 0 {
			delete(s.producers, id)
		}
	}
	s.mu.Unlock()
}

// all lists the groups by id. None of them is locked.
func (s *shard) all() []*Group {
	s.mu.RLock()
	list := make([]*Group, 0, len(s.groups))
	for _, g := range s.groups {
		list = append(list, g)
	}
	s.mu.RUnlock()
	slices.SortFunc(list, func(a, b *Group) int { return cmp.Compare(a.id, b.id) })
	return list
}

// close lets go of all groups.
func (s *shard) close() {
	s.mu.Lock()
	s.state.Store(shardClosed)
	s.mu.Unlock()
	for _, g := range s.all() {
		g.mu.Lock()
		if !g.gone {
			g.machine.stopLocked(ErrNotCoordinator)
			g.gone = true
		}
		g.mu.Unlock()
	}
}

// appendLocked writes the records of one change as one batch and returns the offset
// of the first. The lock of each group that they concern is held, so that the
// log has the changes of a group in the order in which they are made.
func (s *shard) appendLocked(records []record.Record) (int64, error) {
	return s.appendBatchLocked(records, record.Producer{ID: record.NoProducerID, Epoch: record.NoProducerEpoch}, AppendOptions{})
}

// appendBatchLocked is appendLocked for the records of a producer; in a transaction when it
// has an id. The base sequence is 0 in any case, as in Kafka.
func (s *shard) appendBatchLocked(records []record.Record, producer record.Producer, o AppendOptions) (int64, error) {
	producer.BaseSequence = 0
	b := record.NewBuilder(record.BuilderOptions{
		Codec: s.c.settings().Codec, Producer: &producer, Transactional: producer.ID >= 0, MaxBytes: s.log.MaxBatchBytes(),
	})
	now := time.Now().UnixMilli()
	for i := range records {
		records[i].Timestamp = now
		if err := b.Append(records[i]); err != nil {
			return -1, fmt.Errorf("build the records of a group: %w", err)
		}
	}
	batch, err := b.Build()
	if err != nil {
		return -1, fmt.Errorf("%w: %w", ErrRecordsTooLarge, err)
	}
	base, err := s.log.Append(batch, o)
	if err != nil {
		// Clients are only told to look for another coordinator.
		s.logf(slog.LevelError, "Appending %d records did not succeed: %v", len(records), err)
		return -1, fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return base, nil
}

// logf writes a line in Kafka's words, with Kafka's prefix.
func (s *shard) logf(level slog.Level, format string, args ...any) {
	if !s.c.log.Enabled(s.c.ctx, level) {
		return
	}
	s.c.log.Log(s.c.ctx, level, fmt.Sprintf("[%s topic=%s partition=%d] ", s.c.name, topicName, s.partition)+fmt.Sprintf(format, args...))
}

// topicName is the topic that groups are kept in.
const topicName = "__consumer_offsets"
