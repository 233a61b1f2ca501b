package partition

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"minibroker/logstore"
)

// Partition is one partition that this broker leads: its log, its leader epoch
// and how much of the log readers may see. All methods may be called at the
// same time; readers take no lock that an append holds.
type Partition struct {
	log *logstore.Log
	tp  logstore.TopicPartition

	// highWatermark is the first offset that consumers may not see. It only
	// grows: it is raised to the log end offset after each append.
	highWatermark atomic.Int64
	leaderEpoch   atomic.Int32
	removed       atomic.Bool
	offline       atomic.Bool // its log directory failed; set before removed
	traffic       traffic
	moved         *atomic.Bool // the Manager's: a high watermark has changed

	// waiting counts the links below, so that an append on a partition that nobody
	// waits for costs one load. A waiter is counted before it reads the log,
	// an append loads the count after its end offset is published: one of the
	// two sees the other.
	waiting atomic.Int32

	// mu serialises changes of leadership against appends, which hold it for
	// reading: no batch can be stamped with an epoch that is already over.
	mu    sync.RWMutex
	fixed bool // read-only

	waitMu sync.Mutex
	first  *waitLink // fetches that wait for this partition, newest first
}

func newPartition(log *logstore.Log, moved *atomic.Bool) *Partition {
	p := &Partition{log: log, tp: log.TopicPartition(), moved: moved}
	p.highWatermark.Store(log.EndOffset())
	p.leaderEpoch.Store(-1)
	return p
}

// TopicPartition is the partition's name.
func (p *Partition) TopicPartition() logstore.TopicPartition { return p.tp }

// Log is the partition's log.
func (p *Partition) Log() *logstore.Log { return p.log }

// LeaderEpoch is the epoch of the current leadership; -1 before the first.
func (p *Partition) LeaderEpoch() int32 { return p.leaderEpoch.Load() }

// LogStartOffset is the first offset that can be read.
func (p *Partition) LogStartOffset() int64 { return p.log.StartOffset() }

// EndOffset is the offset that the next record gets.
func (p *Partition) EndOffset() int64 { return p.log.EndOffset() }

// HighWatermark is the first offset that consumers may not see.
func (p *Partition) HighWatermark() int64 { return p.highWatermark.Load() }

// LastStableOffset is the first offset that a read-committed consumer may not
// see: that of the oldest transaction that is not decided, at most the high
// watermark.
func (p *Partition) LastStableOffset() int64 {
	return p.stableBelow(p.highWatermark.Load())
}

// stableBelow is the last stable offset under a given high watermark.
func (p *Partition) stableBelow(highWatermark int64) int64 {
	if unstable, open := p.log.FirstUnstableOffset(); open && unstable < highWatermark {
		return unstable
	}
	return highWatermark
}

// Append stores one record set and makes it visible. The leader epoch of o is
// overwritten by the partition's. The set is patched in place (base offset,
// leader epoch), so the caller must not use it for anything else afterwards.
func (p *Partition) Append(set []byte, o logstore.AppendOptions) (logstore.AppendInfo, error) {
	info, err := p.append(set, o)
	p.traffic.appended(len(set), &info, err)
	return info, err
}

func (p *Partition) append(set []byte, o logstore.AppendOptions) (logstore.AppendInfo, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.removed.Load() {
		return logstore.AppendInfo{}, fmt.Errorf("append to %s: %w", p.tp, p.gone())
	}
	if p.fixed {
		return logstore.AppendInfo{}, fmt.Errorf("append to %s: %w", p.tp, logstore.ErrReadOnly)
	}
	o.LeaderEpoch = p.leaderEpoch.Load()
	info, err := p.log.Append(set, o)
	if err != nil {
		return info, p.goneOr(err)
	}
	if info.Duplicate {
		return info, nil
	}
	p.raiseHighWatermark(p.log.EndOffset())
	if o.Origin == logstore.Client {
		p.wake(int64(len(set)))
	} else {
		// A marker may make far more readable than its own size: everything
		// up to the next open transaction.
		p.wakeAll()
	}
	return info, nil
}

// goneOr turns the error of a log that was closed under a removed partition into
// what it means.
func (p *Partition) goneOr(err error) error {
	if p.removed.Load() && errors.Is(err, logstore.ErrClosed) {
		return fmt.Errorf("%s was removed: %w", p.tp, p.gone())
	}
	return err
}

func (p *Partition) raiseHighWatermark(to int64) {
	for {
		now := p.highWatermark.Load()
		if to <= now {
			return
		}
		if p.highWatermark.CompareAndSwap(now, to) {
			if !p.moved.Load() { // mostly it is: then all partitions share the line
				p.moved.Store(true)
			}
			return
		}
	}
}

// BecomeLeader begins a new epoch: it is written to the log's epoch file with
// the end offset as its start, before any record can carry it. An epoch that
// is not newer changes nothing.
func (p *Partition) BecomeLeader(epoch int32) error { return p.lead(epoch, p.log.AssignEpoch) }

// lead begins an epoch; note puts it among those of the log.
func (p *Partition) lead(epoch int32, note func(epoch int32) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if epoch <= p.leaderEpoch.Load() {
		return nil
	}
	if err := note(epoch); err != nil {
		return fmt.Errorf("become leader of %s in epoch %d: %w", p.tp, epoch, err)
	}
	p.leaderEpoch.Store(epoch)
	p.raiseHighWatermark(p.log.EndOffset())
	p.wakeAll()
	return nil
}

// CheckLeaderEpoch compares the epoch that a client believes in with the
// partition's; a negative one is none and always passes. Errors:
// ErrFencedLeaderEpoch, ErrUnknownLeaderEpoch.
func (p *Partition) CheckLeaderEpoch(epoch int32) error {
	current := p.leaderEpoch.Load()
	switch {
	case epoch < 0 || epoch == current:
		return nil
	case epoch < current:
		return ErrFencedLeaderEpoch
	default:
		return ErrUnknownLeaderEpoch
	}
}

// DeleteRecords raises the log start offset to the given offset, -1 meaning
// the high watermark, and returns the new low watermark, which with a single
// replica is the log start offset. Errors: logstore.ErrOffsetOutOfRange when
// the offset is above the high watermark or below zero.
func (p *Partition) DeleteRecords(offset int64) (int64, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.removed.Load() {
		return -1, fmt.Errorf("delete records of %s: %w", p.tp, p.gone())
	}
	if p.fixed {
		return -1, fmt.Errorf("delete records of %s: %w", p.tp, logstore.ErrReadOnly)
	}
	highWatermark := p.highWatermark.Load()
	if offset == -1 {
		offset = highWatermark
	}
	if offset < 0 || offset > highWatermark {
		return -1, fmt.Errorf("delete records of %s below %d, high watermark %d: %w",
			p.tp, offset, highWatermark, logstore.ErrOffsetOutOfRange)
	}
	return p.log.DeleteRecords(offset, highWatermark)
}

// close marks the partition as gone and ends every wait on it.
func (p *Partition) close() {
	p.mu.Lock()
	p.removed.Store(true)
	p.mu.Unlock()
	p.wakeAll()
}

// EpochEnd tells where the newest leader epoch up to the given one ended in
// this log; -1 and -1 when that is not known.
func (p *Partition) EpochEnd(epoch int32) EpochEnd {
	if epoch < 0 {
		return EpochEnd{Epoch: -1, EndOffset: -1}
	}
	e, end := p.log.EpochEndOffset(epoch)
	return EpochEnd{Epoch: e, EndOffset: end}
}

// EpochAt is the leader epoch of the record at an offset, of the next record
// at the end offset; -1 when the log has no epoch that old. Epoch ends do not
// decrease, so the epoch is the first that ends behind the offset.
func (p *Partition) EpochAt(offset int64) int32 {
	latest, ok := p.log.LatestEpoch()
	if !ok {
		return -1
	}
	low, high := int32(0), latest
	for low < high {
		mid := low + (high-low)/2
		if _, end := p.log.EpochEndOffset(mid); end > offset {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low
}
