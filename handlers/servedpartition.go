package handlers

import (
	"errors"

	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/partition"
)

// servedPartition finds a partition of a topic, which may be nil. Errors:
// partition.ErrUnknownPartition when the metadata do not have it,
// partition.ErrNotLeader when they do and this broker does not serve it, as
// while it is being made; logstore.ErrStorage when its directory failed.
func (a *API) servedPartition(topic *metadata.Topic, number int32) (*partition.Partition, error) {
	if topic == nil || !hasPartition(topic, number) {
		return nil, partition.ErrUnknownPartition
	}
	p, err := a.partitions.Get(logstore.TopicPartition{Topic: topic.Name, Partition: number})
	if errors.Is(err, logstore.ErrStorage) {
		return nil, err
	}
	if err != nil {
		return nil, partition.ErrNotLeader
	}
	return p, nil
}

// isOf reports whether a partition is one of the topic, not of an older or newer one of the same name, as it can be for a request that
// overlaps with a deletion and a creation. Apache Kafka 4.4.0 refuses such a request when it names the topic by id, a Produce with
// UNKNOWN_TOPIC_ID and a Fetch with INCONSISTENT_TOPIC_ID (ReplicaManager's classes); one by name goes to the topic that is there.
func isOf(p *partition.Partition, topic *metadata.Topic) bool {
	id := p.Log().TopicID()
	return id == topic.ID || id == (logstore.UUID{})
}

// hasPartition reports whether the topic has a partition of that number.
func hasPartition(topic *metadata.Topic, number int32) bool {
	return number >= 0 && int(number) < len(topic.Partitions)
}

// unservedCode is what a client is told of a partition that the metadata have and this broker does not serve.
func unservedCode(err error) int16 {
	if errors.Is(err, logstore.ErrStorage) {
		return codeKafkaStorageError
	}
	return codeNotLeaderOrFollower
}
