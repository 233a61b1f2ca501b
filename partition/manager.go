package partition

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"minibroker/logstore"
)

// Options of a Manager.
type Options struct {
	// Store takes the high watermark checkpoint. Needed only for
	// CheckpointHighWatermarks.
	Store *logstore.Store
	// Logger is told of partitions that come and go; nil means silence.
	Logger *slog.Logger
}

// Manager is the set of partitions that this broker leads.
type Manager struct {
	store  *logstore.Store
	logger *slog.Logger

	made time.Time // from which the ends of waits are counted

	// waiters pools the waiters of fetches.
	waiters sync.Pool

	moved atomic.Bool // since they were written, a high watermark or the set of partitions has

	checkpointing sync.Mutex // held while high watermarks are written
	placings      uint64     // the store's when they were

	mu         sync.RWMutex
	partitions map[logstore.TopicPartition]*Partition
	offline    map[logstore.TopicPartition]struct{} // their log directory failed
	gone       Traffic                              // of partitions that were removed
}

// New makes a Manager without partitions.
func New(o Options) *Manager {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	expected := 0 // partitions, of the logs that a start has loaded
	if o.Store != nil {
		expected = o.Store.Count()
	}
	m := &Manager{store: o.Store, logger: o.Logger, made: time.Now(), partitions: make(map[logstore.TopicPartition]*Partition, expected),
		offline: make(map[logstore.TopicPartition]struct{})}
	m.waiters.New = func() any { return m.newWaiter() }
	return m
}

// Get returns a partition, or ErrUnknownPartition, or for one whose directory
// failed an error that wraps logstore.ErrStorage.
func (m *Manager) Get(tp logstore.TopicPartition) (*Partition, error) {
	m.mu.RLock()
	p := m.partitions[tp]
	m.mu.RUnlock()
	if p == nil {
		return nil, m.missing(tp)
	}
	return p, nil
}

// Add takes a log over as leader in the given epoch. A partition that is
// already there is only moved to the epoch. The error is that of writing the
// log's epoch file; the partition is not added then.
func (m *Manager) Add(log *logstore.Log, leaderEpoch int32) (*Partition, error) {
	return m.add(log, leaderEpoch, log.AssignEpoch)
}

// Resume takes over a log that a start has loaded. It does as Add, but the log's
// epoch file is left to Log.SettleLoad, which has to follow.
func (m *Manager) Resume(log *logstore.Log, leaderEpoch int32) (*Partition, error) {
	return m.add(log, leaderEpoch, log.BeginEpoch)
}

func (m *Manager) add(log *logstore.Log, leaderEpoch int32, note func(epoch int32) error) (*Partition, error) {
	tp := log.TopicPartition()
	m.mu.RLock()
	before := m.partitions[tp]
	m.mu.RUnlock()
	p := before
	if p == nil || p.log != log {
		p = newPartition(log, &m.moved)
	}
	if err := p.lead(leaderEpoch, note); err != nil {
		return nil, fmt.Errorf("add partition: %w", err)
	}
	m.mu.Lock()
	m.partitions[tp] = p
	m.mu.Unlock()
	m.moved.Store(true)
	if before != nil && before != p {
		before.wakeAll() // who rests on it looks for the partition again
	}
	if m.logger.Enabled(context.Background(), slog.LevelDebug) {
		m.logger.Debug("partition is led here", "partition", tp.String(), "epoch", leaderEpoch,
			"start", p.LogStartOffset(), "end", p.EndOffset())
	}
	return p, nil
}

// Fix makes all partitions read-only for good: appends and the removal of records
// are refused with logstore.ErrReadOnly.
func (m *Manager) Fix() {
	for _, p := range m.Partitions() {
		p.mu.Lock()
		p.fixed = true
		p.mu.Unlock()
	}
}

// Remove forgets a partition, if it is there, and ends the waits on it. The
// log is the caller's to delete; appends that began before have ended.
func (m *Manager) Remove(tp logstore.TopicPartition) {
	m.mu.Lock()
	p := m.partitions[tp]
	delete(m.partitions, tp)
	delete(m.offline, tp)
	if p != nil {
		m.gone.Add(p.Traffic())
	}
	m.mu.Unlock()
	m.moved.Store(true)
	if p != nil {
		p.close()
		m.logger.Debug("partition is no longer led here", "partition", tp.String())
	}
}

// Partitions lists all partitions, in no order.
func (m *Manager) Partitions() []*Partition {
	m.mu.RLock()
	defer m.mu.RUnlock()
	all := make([]*Partition, 0, len(m.partitions))
	for _, p := range m.partitions {
		all = append(all, p)
	}
	return all
}

// CheckpointHighWatermarks writes the high watermarks of all partitions to
// the store's checkpoint files. While nothing changes it costs nothing, however
// many there are.
func (m *Manager) CheckpointHighWatermarks() error {
	m.checkpointing.Lock()
	defer m.checkpointing.Unlock()
	placings := m.store.Placings()
	if moved := m.moved.Swap(false); !moved && placings == m.placings {
		return nil
	}
	// What changes from here on is written the next time.
	if err := m.store.CheckpointHighWatermarks(m.highWatermark); err != nil {
		m.moved.Store(true)
		return err
	}
	m.placings = placings
	return nil
}

func (m *Manager) highWatermark(tp logstore.TopicPartition) (int64, bool) {
	p, err := m.Get(tp)
	if err != nil {
		return 0, false
	}
	return p.HighWatermark(), true
}
