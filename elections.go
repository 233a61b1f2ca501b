package minibroker

import (
	"errors"
	"fmt"

	"minibroker/logstore"
	"minibroker/metadata"
)

// leadElected makes the partitions usable whose leader this node has become by an election that a client asked for.
func (b *Broker) leadElected(old, topic *metadata.Topic) error {
	var errs []error
	for n := range min(len(old.Partitions), len(topic.Partitions)) {
		was, p := &old.Partitions[n], &topic.Partitions[n]
		if p.Leader != b.config.NodeID() || p.LeaderEpoch == was.LeaderEpoch {
			continue
		}
		log := b.store.Log(logstore.TopicPartition{Topic: topic.Name, Partition: p.ID})
		if log == nil {
			continue // it lies in a log dir that failed
		}
		if _, err := b.partitions.Add(log, p.LeaderEpoch); err != nil {
			errs = append(errs, fmt.Errorf("lead partition %s-%d: %w", topic.Name, p.ID, err))
			continue
		}
		if p.RecoveryState != 0 && was.RecoveryState == 0 {
			b.uncleanElections.Add(1)
		}
		if was.Leader != p.Leader {
			b.leadElectedCoordinator(topic.Name, p.ID)
		}
	}
	return errors.Join(errs...)
}

// leadElectedCoordinator takes over the groups or transactional ids of a partition that had no leader before.
func (b *Broker) leadElectedCoordinator(topic string, partition int32) {
	switch topic {
	case offsetsTopic:
		led, err := b.partitions.Get(logstore.TopicPartition{Topic: topic, Partition: partition})
		if err == nil {
			b.groups.Lead(partition, groupLog{led})
		}
	case transactionTopic:
		b.transactions.Lead(partition)
	}
}
