package group

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
)

// Options are what a Coordinator works with.
type Options struct {
	// Settings returns the settings in force. It is called per request and must
	// be cheap.
	Settings func() Settings
	// ConsumerSettings returns the settings in force of one consumer group. It is
	// called per request and must be cheap.
	ConsumerSettings func(groupID string) ConsumerSettings
	// Topics returns the topics that there are now. It is called per request and
	// must be cheap.
	Topics func() Topics
	// Logger gets the lines that Kafka writes about groups; nil discards them.
	Logger *slog.Logger
	// Name goes before those lines: "GroupCoordinator id=1".
	Name string
}

// Coordinator is all groups of this broker. All methods may be called at the
// same time.
type Coordinator struct {
	settings         func() Settings
	consumerSettings func(groupID string) ConsumerSettings
	topics           func() Topics
	log              *slog.Logger
	name             string

	sought sought

	// topicsVersion is the version of the topics at which one was last created.
	topicsVersion atomic.Int64

	loading sync.WaitGroup
	ctx     context.Context // ends when the coordinator is closed
	cancel  context.CancelFunc

	mu         sync.RWMutex
	partitions int32 // of __consumer_offsets; 0 when the topic is not there
	shards     map[int32]*shard
	closed     bool
}

// ownLogger is the logger that writes these lines in Kafka.
const ownLogger = "org.apache.kafka.coordinator.group.GroupMetadataManager"

// New returns a Coordinator without groups: see Lead.
func New(o Options) *Coordinator {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Coordinator{settings: o.Settings, consumerSettings: o.ConsumerSettings, topics: o.Topics, log: log.With("logger", ownLogger), name: o.Name, shards: map[int32]*shard{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// TopicCreated says that a topic was created in this version of the topics:
// regular expressions may match it.
func (c *Coordinator) TopicCreated(version int64) { c.topicsVersion.Store(version) }

// SetPartitionCount says how many partitions __consumer_offsets has. Each
// group's place hangs on it, so it is said once, before the first Lead, and
// again only after the topic was deleted; 0 means that there is no topic.
func (c *Coordinator) SetPartitionCount(n int32) {
	c.mu.Lock()
	c.partitions = n
	c.mu.Unlock()
}

// PartitionFor is the partition that keeps the group; false while there is no
// topic.
func (c *Coordinator) PartitionFor(groupID string) (int32, bool) {
	c.mu.RLock()
	n := c.partitions
	c.mu.RUnlock()
	if n == 0 {
		return 0, false
	}
	return PartitionFor(groupID, n), true
}

// inlineRecords is up to how many records are replayed at once; longer logs are
// loaded in the background, while requests are told so.
const inlineRecords = 20000

// Lead takes over the groups of a partition. When the log is short they are
// there on return, else soon; failures are logged, and the partition's groups
// then are refused with ErrNotCoordinator.
func (c *Coordinator) Lead(partition int32, log Log) {
	s := newShard(c, partition, log)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	old := c.shards[partition]
	c.shards[partition] = s
	inline := log.EndOffset()-log.StartOffset() <= inlineRecords
	if !inline {
		c.loading.Go(s.load)
	}
	c.mu.Unlock()
	if old != nil {
		old.close()
	}
	if inline {
		s.load()
	}
}

// Resign lets go of the groups of a partition. Waiting members are told to look
// for another coordinator.
func (c *Coordinator) Resign(partition int32) {
	c.mu.Lock()
	s := c.shards[partition]
	delete(c.shards, partition)
	c.mu.Unlock()
	if s != nil {
		s.close()
	}
}

// Close lets go of all groups: timers stop and all who wait are answered. It
// may be called again.
func (c *Coordinator) Close() {
	c.mu.Lock()
	c.closed = true
	all := c.shards
	c.shards = map[int32]*shard{}
	c.mu.Unlock()
	c.cancel()
	c.loading.Wait()
	for _, s := range all {
		s.close()
	}
}

// shardOf returns the shard of a group when it can be asked.
func (c *Coordinator) shardOf(groupID string) (*shard, error) {
	c.mu.RLock()
	var s *shard
	if c.partitions > 0 {
		s = c.shards[PartitionFor(groupID, c.partitions)]
	}
	closed := c.closed
	c.mu.RUnlock()
	switch {
	case closed:
		return nil, ErrNotAvailable
	case s == nil:
		return nil, ErrNotCoordinator
	}
	return s, s.usable()
}

// loaded returns all shards, by partition; ErrLoading while one is not ready.
func (c *Coordinator) loaded() ([]*shard, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.closed {
		return nil, ErrNotAvailable
	}
	all := make([]*shard, 0, len(c.shards))
	for p := range c.partitions {
		s := c.shards[p]
		if s == nil {
			continue
		}
		switch err := s.usable(); err {
		case nil:
			all = append(all, s)
		case ErrLoading:
			return nil, err
		}
	}
	return all, nil
}
