package minibroker

import (
	"errors"
	"fmt"

	"minibroker/group"
	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/partition"
	"minibroker/record"
)

// offsetsTopic keeps the groups and their offsets.
const offsetsTopic = "__consumer_offsets"

// newGroups makes the coordinator of groups; it has none before its partitions are led.
func (b *Broker) newGroups() *group.Coordinator {
	return group.New(group.Options{
		Settings: b.groupSettings, ConsumerSettings: b.consumerSettings,
		Topics: func() group.Topics { return groupTopics{b.meta.Image()} },
		Logger: b.log, Name: fmt.Sprintf("GroupCoordinator id=%d", b.config.NodeID()),
	})
}

func (b *Broker) groupSettings() group.Settings {
	c := b.config
	return group.Settings{
		MinSessionTimeoutMs:     int32(c.Int("group.min.session.timeout.ms")),
		MaxSessionTimeoutMs:     int32(c.Int("group.max.session.timeout.ms")),
		MaxSize:                 c.Int("group.max.size"),
		InitialRebalanceDelayMs: int32(c.Int("group.initial.rebalance.delay.ms")),
		OffsetMetadataMaxChars:  c.Int("offset.metadata.max.bytes"),
		OffsetsRetentionMs:      int64(c.Int("offsets.retention.minutes")) * 60_000,
		ConsumerMaxSize:         c.Int("group.consumer.max.size"),
		Assignors:               b.consumerAssignors(),
		RegexRefreshMs:          int32(c.Int("group.consumer.regex.refresh.interval.ms")),
		Migration:               b.migrationPolicy(),
		Codec:                   record.Codec(c.Int("offsets.topic.compression.codec")),
	}
}

// leadCoordinators takes over the groups and the transactional ids that the topic's partitions from number first on keep.
func (b *Broker) leadCoordinators(topic *metadata.Topic, first int) error {
	if first == 0 {
		b.noteTopic(topic)
	}
	b.leadTransactions(topic, first)
	if topic.Name != offsetsTopic {
		return nil
	}
	if first == 0 {
		b.groups.SetPartitionCount(int32(len(topic.Partitions)))
	}
	for _, p := range topic.Partitions[first:] {
		led, err := b.partitions.Get(logstore.TopicPartition{Topic: topic.Name, Partition: p.ID})
		if err != nil {
			continue // led by nobody: another broker had it when this directory was part of a bigger cluster
		}
		b.groups.Lead(p.ID, groupLog{led})
	}
	return nil
}

// resignGroups lets go of the groups of a topic that is deleted, and of the offsets that groups have in it.
func (b *Broker) resignGroups(topic *metadata.Topic) error {
	if topic.Name != offsetsTopic {
		return b.groups.TopicDeleted(topic.Name, topic.ID)
	}
	b.groups.SetPartitionCount(0)
	for _, p := range topic.Partitions {
		b.groups.Resign(p.ID)
	}
	return nil
}

// groupLog is a partition as groups see it.
type groupLog struct{ p *partition.Partition }

func (l groupLog) StartOffset() int64 { return l.p.LogStartOffset() }
func (l groupLog) EndOffset() int64   { return l.p.EndOffset() }
func (l groupLog) MaxBatchBytes() int { return l.p.Log().Config().MaxMessageBytes }

func (l groupLog) Append(batch record.Batch, o group.AppendOptions) (int64, error) {
	info, err := l.p.Append(batch, logstore.AppendOptions{Origin: logstore.Coordinator, TransactionVersion: o.TransactionVersion})
	return info.FirstOffset, err
}

func (l groupLog) Read(offset int64, buf []byte) ([]byte, error) {
	info, err := l.p.Log().Read(offset, cap(buf), logstore.ReadOptions{UpperBound: l.p.EndOffset(), MinOneMessage: true})
	if err != nil || info.Records == nil {
		return nil, err
	}
	defer info.Records.Release()
	n := int(info.Records.Len())
	if n > cap(buf) {
		buf = make([]byte, n)
	}
	buf = buf[:n]
	if got, err := info.Records.ReadAt(buf, 0); got < n {
		return nil, errors.Join(errors.New("log ends early"), err)
	}
	return buf, nil
}
