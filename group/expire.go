package group

import (
	"errors"
	"fmt"
	"time"
)

// Expire removes the offsets that have outlived their use, and the groups that
// have neither members nor offsets left. It is called every
// offsets.retention.check.interval.ms.
func (c *Coordinator) Expire() error {
	var errs []error
	for _, s := range c.ready() {
		if err := s.expire(time.Now().UnixMilli()); err != nil {
			errs = append(errs, fmt.Errorf("expire offsets in %s-%d: %w", topicName, s.partition, err))
		}
	}
	return errors.Join(errs...)
}

// expire makes one change for all groups of the shard, as Kafka does.
func (s *shard) expire(now int64) error {
	retention := s.c.settings().OffsetsRetentionMs
	x := removal{s: s}
	defer x.unlock()
	for _, g := range s.all() { // in the order in which locks of several groups are taken
		g.mu.Lock()
		if g.gone {
			g.mu.Unlock()
			continue
		}
		expired, all := g.expiredLocked(now, retention)
		whole := all && g.machine.emptyLocked()
		if len(expired) == 0 && !whole {
			g.mu.Unlock()
			continue
		}
		x.add(g, expired, whole)
	}
	return x.write()
}

// expiredLocked lists the offsets that have expired, and says whether they are
// all that the group has.
func (g *Group) expiredLocked(now, retention int64) (expired []PartitionName, all bool) {
	if g.offsets.empty() {
		return nil, true
	}
	since, ok := g.machine.expiryLocked()
	if !ok {
		return nil, false
	}
	all = len(g.offsets.pending) == 0
	for _, p := range g.offsets.partitions(false) {
		o, _ := g.offsets.get(p)
		if g.machine.subscribedLocked(p.Topic) || g.offsets.unstable(p) || !o.expired(now, retention, since) {
			all = false
			continue
		}
		expired = append(expired, p)
	}
	return expired, all
}

func (o *Offset) expired(now, retention int64, since func(*Offset) int64) bool {
	if o.ExpireMs >= 0 {
		return now >= o.ExpireMs
	}
	return now-since(o) >= retention
}

// deletedTopic is a topic that is no more.
type deletedTopic struct {
	name string
	id   [16]byte
}

// TopicDeleted removes the offsets of a topic that was deleted. Those that were
// committed for another topic of the same name stay. In partitions that are
// being loaded it is done, and failures logged, when they are.
func (c *Coordinator) TopicDeleted(name string, id [16]byte) error {
	c.mu.RLock()
	all := make([]*shard, 0, len(c.shards))
	for p := range c.partitions {
		if s := c.shards[p]; s != nil {
			all = append(all, s)
		}
	}
	c.mu.RUnlock()
	var errs []error
	for _, s := range all {
		if s.postponeDeletion(deletedTopic{name, id}) || s.usable() != nil {
			continue
		}
		if err := s.topicDeleted(name, id); err != nil {
			errs = append(errs, fmt.Errorf("delete offsets of topic %s in %s-%d: %w", name, topicName, s.partition, err))
		}
	}
	return errors.Join(errs...)
}

// postponeDeletion notes a deleted topic while the shard is loaded, else it
// reports false.
func (s *shard) postponeDeletion(topic deletedTopic) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.usable() != ErrLoading {
		return false
	}
	s.deleted = append(s.deleted, topic)
	return true
}

func (s *shard) topicDeleted(name string, id [16]byte) error {
	x := removal{s: s}
	defer x.unlock()
	for _, g := range s.all() {
		g.mu.Lock()
		var dropped []PartitionName
		if !g.gone {
			for _, p := range g.offsets.partitions(true) {
				if p.Topic == name && g.offsets.belongsTo(p, id) {
					dropped = append(dropped, p)
				}
			}
		}
		if len(dropped) == 0 {
			g.mu.Unlock()
			continue
		}
		x.add(g, dropped, false)
	}
	return x.write()
}

// belongsTo says that an offset of the partition, in force or to be, was
// committed for the topic of this id.
func (o *offsets) belongsTo(p PartitionName, id [16]byte) bool {
	if v, ok := o.get(p); ok && sameTopic(v.TopicID, id) {
		return true
	}
	for _, byPartition := range o.pending {
		if v, ok := byPartition[p]; ok && sameTopic(v.TopicID, id) {
			return true
		}
	}
	return false
}

// ready returns the shards that can be asked, by partition.
func (c *Coordinator) ready() []*shard {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var all []*shard
	for p := range c.partitions {
		if s := c.shards[p]; s != nil && s.usable() == nil {
			all = append(all, s)
		}
	}
	return all
}
