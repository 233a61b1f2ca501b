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
		}
	}
	return errors.Join(errs...)
}
