package handlers

import (
	"errors"
	"slices"
	"sync"
	"time"

	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/partition"
	"minibroker/record"
	"minibroker/txn"
)

// memoryState is a __transaction_state of one partition in memory; none is led
// until partitions is set.
type memoryState struct {
	partitions int32

	mu      sync.Mutex
	batches []record.Batch
}

func (l *memoryState) Partitions() int32                { return l.partitions }
func (l *memoryState) LeaderEpoch(int32) (int32, error) { return 7, nil }

func (l *memoryState) Append(_ int32, b record.Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.batches = append(l.batches, slices.Clone(b))
	return nil
}

func (l *memoryState) Replay(_ int32, fn func(record.Batch) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.batches {
		if err := fn(b); err != nil {
			return err
		}
	}
	return nil
}

// apiMarkers writes markers to the partitions of an API.
type apiMarkers struct{ a **API }

func (w apiMarkers) WriteMarker(m txn.Marker) error {
	p, err := (*w.a).partitions.Get(logstore.TopicPartition{Topic: m.Topic, Partition: m.Partition.Partition})
	if errors.Is(err, partition.ErrUnknownPartition) {
		return txn.ErrNoPartition
	}
	if err != nil {
		return err
	}
	_, err = p.Append(record.BuildMarker(record.MarkerOptions{
		TimestampMs: time.Now().UnixMilli(), ProducerID: m.ProducerID, ProducerEpoch: m.ProducerEpoch,
		Marker: record.Marker{Commit: m.Commit, CoordinatorEpoch: m.CoordinatorEpoch},
	}), logstore.AppendOptions{Origin: logstore.Coordinator, TransactionVersion: int16(m.Version)})
	return err
}

// testCoordinator coordinates over a log in memory.
func testCoordinator(store *metadata.Store, log *memoryState, markers txn.Markers) *txn.Coordinator {
	return txn.New(txn.Options{
		Log: log, Markers: markers, ProducerIDs: txn.NewProducerIDs(store.AllocateProducerIDs),
		Level:    func() int16 { return 2 },
		Settings: txn.Settings{MaxTimeoutMs: 900_000, TimeoutCheck: 10 * time.Second, ExpirationMs: 604_800_000},
	})
}
