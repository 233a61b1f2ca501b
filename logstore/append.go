package logstore

import (
	"errors"
	"fmt"
	"time"

	"minibroker/record"
)

// Origin says who made the batches of an append; it decides what is checked.
type Origin int8

const (
	// Client batches come from a producer: one batch, fully validated, offset
	// and leader epoch given by the log.
	Client Origin = iota
	// Coordinator batches are built by the broker itself (group and
	// transaction records, markers): offset and leader epoch are given by the
	// log, control batches are allowed, records are not looked at.
	Coordinator
	// Raw batches carry their own offsets and leader epochs, which must not go
	// back behind the end offset, and are stored as they are.
	Raw
)

// AppendOptions accompany an append.
type AppendOptions struct {
	LeaderEpoch int32 // stamped on each batch unless Raw
	Origin      Origin
	// Sync makes the append durable before it returns. Appends that wait for
	// the disk at the same time share one flush.
	Sync bool

	// TransactionVersion is 2 for a producer that raises its epoch with every
	// transaction, else 0.
	TransactionVersion int16
	// Unverified means that the transaction's coordinator has not confirmed the
	// partition: only a batch of a transaction already open here is taken.
	Unverified bool
}

// AppendInfo tells what an append did.
type AppendInfo struct {
	FirstOffset     int64 // base offset of the set; the old one for a duplicate
	LastOffset      int64
	MaxTimestampMs  int64
	LogAppendTimeMs int64 // -1 unless the log stamps append times; a duplicate's own timestamp
	LogStartOffset  int64
	Duplicate       bool // an idempotent producer's repeat: nothing was written
	ShallowCount    int  // batches in the set
}

// appendSet is one append on its way: the bytes to be stored and what the
// checks found out about them.
type appendSet struct {
	bytes        []byte
	appendTimeMs int64 // -1 unless stamped
	maxTimestamp int64
	first, last  int64
	count        int
	valid        record.Validated // of a producer's set; bytes may lie in its memory
}

// Append adds a set of batches and gives it the next offsets. set is patched
// in place and must not be read by others meanwhile; it is free again when
// Append returns. Errors about the batch wrap the sentinels of package record
// or ErrRecordListTooLarge, ErrOutOfOrderSequence, ErrInvalidProducerEpoch;
// those of files wrap ErrStorage. Nothing is stored when there is an error,
// except that a failed Sync leaves the set readable.
func (l *Log) Append(set []byte, o AppendOptions) (AppendInfo, error) {
	cfg := l.config.Load()
	a := appendSet{bytes: set, appendTimeMs: -1, maxTimestamp: -1}
	if o.Origin == Client {
		if err := a.validate(l.name, cfg); err != nil {
			return l.refused(), err
		}
	}
	l.mu.Lock()
	info, err := l.appendLocked(&a, o, cfg)
	l.mu.Unlock()
	a.valid.Release()
	if err != nil || info.Duplicate {
		return info, err
	}
	if o.Sync || l.end.Load()-l.recoveryPoint.Load() >= cfg.FlushMessages {
		if err := l.Flush(info.LastOffset + 1); err != nil {
			return info, err
		}
	}
	return info, nil
}

func (l *Log) refused() AppendInfo {
	return AppendInfo{FirstOffset: -1, LastOffset: -1, MaxTimestampMs: -1, LogAppendTimeMs: -1, LogStartOffset: l.start.Load()}
}

// validate checks a producer's set and brings it into the form it is stored
// in. Offsets are not needed for that, so it runs before the lock is taken.
func (a *appendSet) validate(name string, cfg *Config) error {
	batch, err := record.CheckRecordSet(a.bytes, cfg.MaxMessageBytes)
	if err != nil {
		return err
	}
	valid, err := record.Validate(batch, record.ValidateOptions{
		TopicPartition:       name,
		NowMs:                time.Now().UnixMilli(),
		TimestampType:        cfg.TimestampType,
		BeforeMaxMs:          cfg.TimestampBeforeMaxMs,
		AfterMaxMs:           cfg.TimestampAfterMaxMs,
		Compacted:            cfg.Compact,
		MaxDecompressedBytes: cfg.MaxDecompressedBytes,
		Compression:          cfg.Compression,
		MaxBatchBytes:        cfg.MaxMessageBytes,
	})
	if err != nil {
		return err
	}
	a.bytes, a.appendTimeMs, a.valid = valid.Batch, valid.LogAppendTimeMs, valid
	return nil
}

func (l *Log) appendLocked(a *appendSet, o AppendOptions, cfg *Config) (AppendInfo, error) {
	if err := l.usableLocked(); err != nil {
		return l.refused(), err
	}
	if err := a.assign(l.end.Load(), o); err != nil {
		return l.refused(), err
	}
	if err := l.noteEpochsLocked(a.bytes); err != nil {
		return l.refused(), l.storage("assign epoch", err)
	}
	if len(a.bytes) > cfg.SegmentBytes {
		return l.refused(), fmt.Errorf("%w: %d bytes, segment.bytes is %d", ErrRecordListTooLarge, len(a.bytes), cfg.SegmentBytes)
	}
	// Kafka rolls before it looks at the producer: a batch that is refused or
	// a duplicate may leave a new, empty segment behind.
	if err := l.rollIfNeededLocked(a, cfg); err != nil {
		return l.refused(), err
	}
	if dup, err := l.checkProducersLocked(a, o); err != nil {
		return l.refused(), err
	} else if dup.Duplicate {
		return dup, nil
	}
	if err := l.storeLocked(a, cfg); err != nil {
		return l.refused(), l.storage("append", err)
	}
	return AppendInfo{
		FirstOffset: a.first, LastOffset: a.last, MaxTimestampMs: a.maxTimestamp,
		LogAppendTimeMs: a.appendTimeMs, LogStartOffset: l.start.Load(), ShallowCount: a.count,
	}, nil
}

// assign gives each batch its offset and leader epoch, or for Raw checks the
// ones it has, and collects what the roll needs to know.
func (a *appendSet) assign(next int64, o AppendOptions) error {
	a.first = next
	for rest := a.bytes; len(rest) > 0; {
		b, tail, err := record.Next(rest)
		if err != nil {
			return err
		}
		if o.Origin == Raw {
			if b.BaseOffset() < next {
				return fmt.Errorf("%w: batch at %d, log ends at %d", ErrOffsetsNotMonotonic, b.BaseOffset(), next)
			}
		} else {
			b.SetBaseOffset(next)
			b.SetLeaderEpoch(o.LeaderEpoch)
		}
		if a.count == 0 {
			a.first = b.BaseOffset()
		}
		a.count++
		a.maxTimestamp = max(a.maxTimestamp, b.MaxTimestamp())
		next = b.NextOffset()
		rest = tail
	}
	if a.count == 0 {
		return record.ErrTruncated
	}
	a.last = next - 1
	return nil
}

// noteEpochsLocked notes leader epochs that are newer than the latest known.
func (l *Log) noteEpochsLocked(set []byte) error {
	for len(set) > 0 {
		b := record.Batch(set)
		epoch := b.LeaderEpoch()
		if latest, ok := l.epochs.Latest(); epoch >= 0 && (!ok || epoch > latest) {
			if err := l.epochs.Assign(epoch, b.BaseOffset()); err != nil {
				return err
			}
		}
		set = set[b.Size():]
	}
	return nil
}

// checkProducersLocked refuses batches out of sequence and finds repeats.
func (l *Log) checkProducersLocked(a *appendSet, o AppendOptions) (AppendInfo, error) {
	if o.Origin == Raw {
		return AppendInfo{}, nil
	}
	for set := a.bytes; len(set) > 0; {
		b := record.Batch(set)
		b = b[:b.Size()]
		set = set[len(b):]
		if b.ProducerID() < 0 {
			continue
		}
		dup, err := l.checkProducerLocked(b, producerCheck{
			origin: o.Origin, transactionVersion: o.TransactionVersion, unverified: o.Unverified,
		})
		if err != nil {
			return AppendInfo{}, err
		}
		if dup != nil && o.Origin == Client {
			return AppendInfo{
				FirstOffset: dup.firstOffset(), LastOffset: dup.lastOffset, MaxTimestampMs: dup.timestamp,
				LogAppendTimeMs: dup.timestamp, LogStartOffset: l.start.Load(), Duplicate: true, ShallowCount: 1,
			}, nil
		}
	}
	return AppendInfo{}, nil
}

// storeLocked writes the set and its index entries, brings the producer state up
// to the new end and publishes the set. After an error nothing of it is left, or
// the log has failed for good.
func (l *Log) storeLocked(a *appendSet, cfg *Config) error {
	active := l.activeLocked()
	if err := active.readyIndexes(a, int64(cfg.IndexIntervalBytes)); err != nil {
		return err
	}
	at := active.size.Load()
	if err := active.write(a.bytes); err != nil {
		return err
	}
	before, err := active.indexingState()
	if err != nil {
		return errors.Join(err, active.unwrite())
	}
	undo := l.producers.undoFor(a.bytes)
	err = active.addToIndexes(a.bytes, at, int64(cfg.IndexIntervalBytes))
	if err == nil {
		err = l.applyProducersLocked(active, a.bytes)
	}
	if err != nil {
		active.setIndexingState(before)
		l.producers.undo(undo)
		if undo := active.uncount(l.end.Load()); undo != nil {
			return l.failLocked("undo an append", errors.Join(err, undo))
		}
		return err
	}
	if at == 0 {
		active.firstTimestamp, active.firstKnown = record.Batch(a.bytes).MaxTimestamp(), true
	}
	l.publishAppendLocked(active, at+int64(len(a.bytes)), a.last+1)
	l.publishUnstableLocked()
	return nil
}

// uncount takes back what a failed append wrote, at offset end and above.
func (s *segment) uncount(end int64) error {
	return errors.Join(s.unwrite(), s.index.truncateTo(end), s.times.truncateTo(end), s.aborted.truncateTo(end))
}

// applyProducersLocked brings the producer state up to the end of the set and
// writes the transaction index entries of aborts. Only those can fail.
func (l *Log) applyProducersLocked(active *segment, set []byte) error {
	for len(set) > 0 {
		b := record.Batch(set)
		b = b[:b.Size()]
		set = set[len(b):]
		if err := l.applyProducer(l.producers, active, b); err != nil {
			return err
		}
	}
	return nil
}

// failLocked notes that the files and the memory may differ: the log takes no
// more changes.
func (l *Log) failLocked(what string, err error) error {
	l.failed = l.storage(what, err)
	return l.failed
}
