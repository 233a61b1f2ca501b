package minibroker

import (
	"errors"
	"fmt"
	"time"

	"minibroker/group"
	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/partition"
	"minibroker/record"
	"minibroker/txn"
)

// transactionTopic keeps the state of transactional ids.
const transactionTopic = "__transaction_state"

// newTransactions makes the coordinator of transactions; it knows none before it is loaded.
func (b *Broker) newTransactions() *txn.Coordinator {
	return txn.New(txn.Options{
		Log: transactionLog{b}, Markers: b.markers(), ProducerIDs: txn.NewProducerIDs(b.meta.AllocateProducerIDs), Logger: b.log, ReadOnly: b.readOnly,
		Level: func() int16 { return b.meta.Image().Features["transaction.version"] },
		Settings: txn.Settings{
			MaxTimeoutMs:   int32(b.config.Int("transaction.max.timeout.ms")),
			TimeoutCheck:   b.millis("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
			ExpirationMs:   int64(b.config.Int("transactional.id.expiration.ms")),
			TwoPhaseCommit: b.config.Bool("transaction.two.phase.commit.enable"),
		},
	})
}

// leadTransactions takes over the transactional ids in new partitions. Those that are there at the start are loaded together, see Broker.open.
func (b *Broker) leadTransactions(topic *metadata.Topic, first int) {
	if topic.Name != transactionTopic || !b.coordinating {
		return
	}
	for _, p := range topic.Partitions[first:] {
		b.transactions.Lead(p.ID)
	}
}

func (b *Broker) markers() txn.Markers { return markerWriter{b.partitions, b.groups} }

// expireTransactions forgets transactional ids that are not used any more.
func (b *Broker) expireTransactions() error { return b.transactions.RemoveExpired(time.Now()) }

// expireProducers forgets producers that have not written for long.
func (b *Broker) expireProducers() error {
	for _, log := range b.store.Logs() {
		log.ExpireProducers(time.Now())
	}
	return nil
}

// transactionLog is the topic of transactional ids as their coordinator sees it.
type transactionLog struct{ b *Broker }

func (l transactionLog) Partitions() int32 {
	topic, ok := l.b.meta.Image().Topic(transactionTopic)
	if !ok {
		return 0
	}
	return int32(len(topic.Partitions))
}

func (l transactionLog) partition(n int32) (*partition.Partition, error) {
	p, err := l.b.partitions.Get(logstore.TopicPartition{Topic: transactionTopic, Partition: n})
	return p, withoutPartition(err)
}

// withoutPartition says in the words of package txn that a partition is not there.
func withoutPartition(err error) error {
	if errors.Is(err, partition.ErrUnknownPartition) {
		return fmt.Errorf("%w: %w", txn.ErrNoPartition, err)
	}
	return err
}

func (l transactionLog) LeaderEpoch(n int32) (int32, error) {
	p, err := l.partition(n)
	if err != nil {
		return -1, err
	}
	return p.LeaderEpoch(), nil
}

func (l transactionLog) Append(n int32, batch record.Batch) error {
	p, err := l.partition(n)
	if err != nil {
		return err
	}
	_, err = p.Append(batch, logstore.AppendOptions{Origin: logstore.Coordinator})
	return withoutPartition(err)
}

// replayBytes is how much of the log is read at a time.
const replayBytes = 1 << 20

func (l transactionLog) Replay(n int32, fn func(record.Batch) error) error {
	p, err := l.partition(n)
	if err != nil {
		return err
	}
	from := groupLog{p}
	buf := make([]byte, 0, min(replayBytes, p.Log().Size()))
	for offset := from.StartOffset(); offset < from.EndOffset(); {
		read, err := from.Read(offset, buf)
		if err != nil {
			return err
		}
		if len(read) == 0 {
			return nil // the end has no batches left by the cleaner
		}
		for rest := read; len(rest) > 0; {
			var b record.Batch
			if b, rest, err = record.Next(rest); err != nil {
				return fmt.Errorf("batch at offset %d or later: %w", offset, err)
			}
			if err := fn(b); err != nil {
				return fmt.Errorf("batch at offset %d: %w", b.BaseOffset(), err)
			}
			offset = b.NextOffset()
		}
		buf = read[:0]
	}
	return nil
}

// markerWriter ends transactions on partitions. Those of committed offsets come into force with the marker.
type markerWriter struct {
	partitions *partition.Manager
	groups     *group.Coordinator
}

func (w markerWriter) WriteMarker(m txn.Marker) error {
	p, err := w.partitions.Get(logstore.TopicPartition{Topic: m.Topic, Partition: m.Partition.Partition})
	if err != nil {
		return withoutPartition(err)
	}
	batch := record.BuildMarker(record.MarkerOptions{
		TimestampMs: time.Now().UnixMilli(), ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch,
		Marker: record.Marker{Commit: m.Commit, CoordinatorEpoch: m.CoordinatorEpoch},
	})
	info, err := p.Append(batch, logstore.AppendOptions{Origin: logstore.Coordinator, TransactionVersion: int16(m.Version)})
	switch {
	case errors.Is(err, logstore.ErrInvalidProducerEpoch), errors.Is(err, logstore.ErrCoordinatorFenced):
		return fmt.Errorf("%w: %w", txn.ErrStale, err)
	case err != nil:
		return withoutPartition(err)
	}
	if m.Topic == offsetsTopic {
		w.groups.CompleteTransaction(m.Partition.Partition, m.ProducerID, info.FirstOffset, m.Commit)
	}
	return nil
}
