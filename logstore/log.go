package logstore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// Log is one partition's log: segments on disk, the newest of which takes
// appends. All methods may be called at the same time; appends queue up behind
// one another, readers wait for nobody.
type Log struct {
	env         *env
	tp          TopicPartition
	name        string // tp.String(), for messages
	keepIndexes bool

	dir     atomic.Pointer[string]
	topicID atomic.Pointer[UUID]
	config  atomic.Pointer[Config]

	// What readers see. version is odd while end, the active segment's size or
	// the list change together; see view.
	version  atomic.Uint64
	segments atomic.Pointer[[]*segment] // ascending by base, never empty; never written once published
	end      atomic.Int64               // log end offset

	start         atomic.Int64 // log start offset
	recoveryPoint atomic.Int64
	unstable      atomic.Int64 // first offset of the oldest open transaction, -1 for none
	closed        atomic.Bool
	unsettled     atomic.Bool // just created: neither files nor directory were synced yet
	recent        recentPositions

	epochs *LeaderEpochs

	flushMu sync.Mutex // one flush at a time, or settling; taken without mu

	// rolls counts the flushes after a roll that still run. It grows under mu
	// and not once closed is set; Close waits for it without mu.
	rolls sync.WaitGroup

	mu        sync.Mutex
	producers *ProducerState
	unsynced  []int64 // snapshots that the loader wrote and nobody waited for
	failed    error   // what broke the log for good
	lastFlush time.Time
}

// view is one consistent look at what is published.
type view struct {
	segments []*segment
	end      int64 // log end offset
	size     int64 // of the last segment, up to end
}

// view takes end, list and size together. The appender holds the version odd
// for three stores only, so that trying again is cheaper than any lock.
func (l *Log) view() view {
	for tries := 0; ; tries++ {
		version := l.version.Load()
		if version&1 == 0 {
			v := view{segments: *l.segments.Load(), end: l.end.Load()}
			v.size = v.segments[len(v.segments)-1].size.Load()
			if l.version.Load() == version {
				return v
			}
		}
		if tries > 8 {
			runtime.Gosched()
		}
	}
}

// publishAppendLocked makes size more bytes of the active segment visible.
func (l *Log) publishAppendLocked(active *segment, size, end int64) {
	l.version.Add(1)
	active.size.Store(size)
	l.end.Store(end)
	l.version.Add(1)
}

// publishSegmentsLocked replaces the list.
func (l *Log) publishSegmentsLocked(list []*segment, end int64) {
	l.version.Add(1)
	l.segments.Store(&list)
	l.end.Store(end)
	l.version.Add(1)
}

func (l *Log) activeLocked() *segment {
	list := *l.segments.Load()
	return list[len(list)-1]
}

// floorSegment is the index of the last segment with a base at or below
// offset, -1 when all lie above.
func floorSegment(list []*segment, offset int64) int {
	return sort.Search(len(list), func(i int) bool { return list[i].base > offset }) - 1
}

// Dir is the path of the log's directory. It changes when the partition is
// deleted or set aside.
func (l *Log) Dir() string { return *l.dir.Load() }

// TopicPartition names the partition.
func (l *Log) TopicPartition() TopicPartition { return l.tp }

// TopicID is the id in partition.metadata, zero when there is none.
func (l *Log) TopicID() UUID { return *l.topicID.Load() }

// Config returns the settings in use.
func (l *Log) Config() Config { return *l.config.Load() }

// SetConfig replaces the settings; appends that already run finish under the
// old ones.
func (l *Log) SetConfig(c Config) { l.config.Store(&c) }

// StartOffset is the log start offset: the first one that can be read.
func (l *Log) StartOffset() int64 { return l.start.Load() }

// EndOffset is the log end offset: the next one to be given.
func (l *Log) EndOffset() int64 { return l.end.Load() }

// RecoveryPoint is the offset below which everything is known to be on disk.
func (l *Log) RecoveryPoint() int64 { return l.recoveryPoint.Load() }

// FirstUnstableOffset is the first offset of the oldest open transaction;
// false when none is open.
func (l *Log) FirstUnstableOffset() (int64, bool) {
	at := l.unstable.Load()
	return at, at >= 0
}

func (l *Log) publishUnstableLocked() {
	at, open := l.producers.firstUnstableOffset()
	if !open {
		at = -1
	}
	l.unstable.Store(at)
}

// EpochEndOffset answers where leader epoch epoch ended: the newest known
// epoch not above it and the first offset after it. (-1, -1) when there is
// none.
func (l *Log) EpochEndOffset(epoch int32) (int32, int64) {
	return l.epochs.EndOffsetFor(epoch, l.end.Load())
}

// AssignEpoch notes that a leader with this epoch starts at the end offset.
// The leader-epoch-checkpoint is durable when it returns, unless the log was
// just created.
func (l *Log) AssignEpoch(epoch int32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return err
	}
	return l.storage("assign epoch", l.epochs.Assign(epoch, l.end.Load()))
}

// BeginEpoch does as AssignEpoch, but leaves the file to SettleLoad: it is
// durable before a flush covers a record of the epoch, or when the log is
// closed. A start need not wait for the disk once in each of its partitions.
func (l *Log) BeginEpoch(epoch int32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return err
	}
	return l.epochs.begin(epoch, l.end.Load())
}

// SettleLoad writes what a load has left for later: the full size of the active
// segment's indexes, small producer snapshots, and the leader-epoch-checkpoint
// that BeginEpoch left behind. All can be had from the batches again until then.
func (l *Log) SettleLoad() error {
	l.flushMu.Lock() // the directory keeps its name
	defer l.flushMu.Unlock()
	if l.closed.Load() {
		return nil // Close settles
	}
	return l.storage("write leader epochs", errors.Join(l.settleWriter(), l.epochs.settle()))
}

func (l *Log) settleWriter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	active := l.activeLocked()
	return errors.Join(active.index.grow(), active.times.grow(), l.producers.writeHeld())
}

// LatestEpoch is the newest leader epoch, false when there is none.
func (l *Log) LatestEpoch() (int32, bool) { return l.epochs.Latest() }

// Size is the bytes of all segments' batches.
func (l *Log) Size() int64 {
	total := int64(0)
	for _, s := range *l.segments.Load() {
		total += s.size.Load()
	}
	return total
}

// usableLocked tells why the log takes no changes, nil if it does.
func (l *Log) usableLocked() error {
	if l.closed.Load() {
		return ErrClosed
	}
	return l.failed
}

// storage wraps an I/O error so that it can be told as ErrStorage; nil stays nil.
func (l *Log) storage(what string, err error) error {
	if err == nil {
		return nil
	}
	if l.env.suspect != nil && !l.closed.Load() {
		l.env.suspect(filepath.Dir(l.Dir()), err)
	}
	return fmt.Errorf("%w: %s: %s: %w", ErrStorage, l.Dir(), what, err)
}

// ActiveProducers lists the producers that the log remembers.
func (l *Log) ActiveProducers() []ActiveProducer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.producers.active()
}

// BeginsTransaction reports whether a transactional batch of the producer would
// begin its transaction in the log. Such a batch is remembered until one is
// appended: those behind it are refused. bumps says that the producer raises its
// epoch with each transaction. ErrInvalidProducerEpoch: there is a newer one.
func (l *Log) BeginsTransaction(producerID int64, epoch int16, sequence int32, bumps bool) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.producers.beginning(producerID, epoch, sequence, bumps, time.Now())
}

// ExpireProducers forgets producers that wrote nothing for
// producer.id.expiration.ms, by their batches' timestamps.
func (l *Log) ExpireProducers(now time.Time) (removed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.producers.removeExpired(now)
}

// Close stops the log cleanly: the active segment is sealed, everything is
// flushed, a producer snapshot is written at the end offset, and the files are
// closed. Reads and appends answer ErrClosed from then on; ranges that were
// handed out stay good until released. A second Close does nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed.Swap(true) {
		l.mu.Unlock()
		return nil
	}
	err := l.failed
	if err == nil {
		err = l.sealForStopLocked()
	}
	l.mu.Unlock()
	l.rolls.Wait() // a clean marker vouches for their snapshots too
	created := false
	if err == nil { // the directory is synced once, with the snapshot in it
		created, err = l.flushFiles(l.end.Load(), func() error { return nil })
	}
	if err == nil {
		err = l.snapshotForStop(created)
	}
	if err == nil {
		err = l.epochs.settle() // if there was nothing to flush
	}
	return l.storage("close", errors.Join(err, l.release()))
}

func (l *Log) sealForStopLocked() error {
	active := l.activeLocked()
	if l.keepIndexes {
		return nil
	}
	return active.sealForStop(l.config.Load().Preallocate)
}

// snapshotForStop writes the snapshot at the end offset and makes its directory
// entry durable, and those of files that were created: the next start believes
// the clean marker, and would forget the producers of a log without a snapshot.
func (l *Log) snapshotForStop(created bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(l.producers.writeHeld(), l.takeSnapshotLocked(true)); err != nil || l.producers.isEmpty() && !created {
		return err
	}
	for _, offset := range l.unsynced {
		if err := l.producers.syncSnapshot(offset); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return l.env.fsys.SyncDir(l.Dir())
}

// abandon closes the files as they are, as a crash would leave them.
func (l *Log) abandon() error {
	l.mu.Lock()
	already := l.closed.Swap(true)
	l.mu.Unlock()
	if already {
		return nil
	}
	l.flushMu.Lock() // a flush that runs keeps its files
	defer l.flushMu.Unlock()
	return l.release()
}

// release closes all files; readers still hold theirs.
func (l *Log) release() error {
	var err error
	for _, s := range *l.segments.Load() {
		err = errors.Join(err, s.retire())
	}
	return err
}

// rename moves the directory; only for a log whose files are closed.
func (l *Log) rename(dir string) error {
	if err := l.renameUnsynced(dir); err != nil {
		return err
	}
	return l.env.fsys.SyncDir(filepath.Dir(dir))
}

// renameUnsynced is rename for who syncs the log dir after several of them.
func (l *Log) renameUnsynced(dir string) error {
	if err := l.env.fsys.Rename(l.Dir(), dir); err != nil {
		return err
	}
	l.dir.Store(&dir)
	return nil
}
