package logstore

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"
)

// rollIfNeededLocked starts a new segment when the active one must not take
// the set.
func (l *Log) rollIfNeededLocked(a *appendSet, cfg *Config) error {
	active := l.activeLocked()
	need, err := active.mustRoll(a, cfg)
	if err != nil {
		return l.storage("roll", err)
	}
	if !need {
		return nil
	}
	return l.rollLocked(max(a.first, l.end.Load()), cfg)
}

// mustRoll is true if the segment is too full or too old for the set, or an
// index has no room for another entry:
//
//	size      > segment.bytes - bytes of the set
//	waited    > segment.ms - jitter, unless empty
//	offset index: no slot left; time index: one slot left, kept for the seal
//	last offset of the set does not fit 31 bits above the base
//
// All comparisons are strict. Nothing rolls by the passing of time alone.
func (s *segment) mustRoll(a *appendSet, cfg *Config) (bool, error) {
	size := s.size.Load()
	if size > int64(cfg.SegmentBytes)-int64(len(a.bytes)) || !s.fits(a.last) {
		return true, nil
	}
	if size > 0 {
		waited, err := s.waited(a.maxTimestamp)
		if err != nil {
			return false, err
		}
		if waited > cfg.rollAfterMs()-s.jitterMs {
			return true, nil
		}
	}
	if err := errors.Join(s.index.ensure(), s.times.ensure()); err != nil {
		return false, err
	}
	return s.index.isFull() || s.times.isFull(), nil
}

// rollAfterMs is segment.ms; a compacted log does not keep a segment active
// for longer than max.compaction.lag.ms.
func (c *Config) rollAfterMs() int64 {
	if c.Compact {
		return min(c.SegmentMs, c.MaxCompactionLagMs)
	}
	return c.SegmentMs
}

// waited is the age of the segment in ms as a set with this timestamp sees it:
// measured from the max timestamp of the first batch, or by the wall clock
// from the moment the segment was opened when that has none.
func (s *segment) waited(timestamp int64) (int64, error) {
	first, err := s.first()
	if err != nil {
		return 0, err
	}
	if first >= 0 {
		return timestamp - first, nil
	}
	return time.Since(s.opened).Milliseconds(), nil
}

// rollLocked seals the active segment and starts one at base. The snapshot and
// the sealed segment are made durable in the background.
func (l *Log) rollLocked(base int64, cfg *Config) error {
	begin := time.Now()
	list := *l.segments.Load()
	active := list[len(list)-1]
	if active.base == base {
		return l.replaceEmptyLocked(active, begin, cfg)
	}
	if err := l.removeLeftovers(base); err != nil {
		return l.storage("roll", err)
	}
	if err := active.seal(cfg.Preallocate); err != nil {
		return l.storage(fmt.Sprintf("seal segment %020d", active.base), err)
	}
	active.unchecked.Store(active.found)
	next, err := createSegment(l, base, cfg)
	if err != nil {
		// The indexes of a sealed segment are full: the next append tries to
		// roll again, and succeeds once there is room.
		return l.storage(fmt.Sprintf("create segment %020d", base), err)
	}
	grown := make([]*segment, len(list)+1)
	copy(grown, list)
	grown[len(list)] = next
	l.publishSegmentsLocked(grown, l.end.Load())
	l.logRolled(base, begin)
	l.producers.updateMapEndOffset(base)
	if err := l.takeSnapshotLocked(false); err != nil {
		// Without it a start reads more batches. The append can go on.
		l.error("ProducerStateManager", "Producer snapshot not written", "error", err)
	}
	producers := l.producers
	l.rolls.Add(1)
	l.env.background.Go(func() {
		defer l.rolls.Done()
		l.flushAfterRoll(producers, base)
	})
	return nil
}

// replaceEmptyLocked rolls an active segment that is empty but has a full
// index, which happens when segment.index.bytes leaves no room for entries:
// the files make way for fresh ones.
func (l *Log) replaceEmptyLocked(active *segment, begin time.Time, cfg *Config) error {
	if active.size.Load() != 0 {
		return l.storage("roll", fmt.Errorf("segment %020d has the next offset as its base but is not empty", active.base))
	}
	if err := active.discard(cfg.deleteDelay()); err != nil {
		return l.failLocked("replace the empty segment", err)
	}
	next, err := createSegment(l, active.base, cfg)
	if err != nil {
		return l.failLocked(fmt.Sprintf("create segment %020d", active.base), err)
	}
	list := append([]*segment(nil), *l.segments.Load()...)
	list[len(list)-1] = next
	l.publishSegmentsLocked(list, l.end.Load())
	l.logRolled(next.base, begin)
	return nil
}

// removeLeftovers deletes files of a segment that is about to be created, as
// an earlier failed roll may have left them.
func (l *Log) removeLeftovers(base int64) error {
	s := segment{log: l, base: base}
	for _, f := range segmentFiles {
		path := s.path(f.suffix)
		if _, err := l.env.fsys.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue
		}
		l.warn("LocalLog", "Newly rolled segment file "+path+" already exists; deleting it first")
		if err := l.env.fsys.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

func (l *Log) logRolled(base int64, begin time.Time) {
	l.info("LocalLog", fmt.Sprintf("Rolled new log segment at offset %d in %d ms.", base, time.Since(begin).Milliseconds()))
}

// flushAfterRoll makes the snapshot at base and everything below durable.
func (l *Log) flushAfterRoll(producers *ProducerState, base int64) {
	err := producers.syncSnapshot(base)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = l.Flush(base)
	}
	if err != nil {
		l.env.logger.Error("flush after roll", slog.String("log", l.Dir()), slog.Any("error", err))
	}
}

// takeSnapshotLocked writes the producer state if it moved on since the last
// snapshot.
func (l *Log) takeSnapshotLocked(sync bool) error {
	begin := time.Now()
	_, _, written, err := l.producers.takeSnapshot(sync)
	if err == nil && written {
		l.logSnapshot(l.producers, begin)
	}
	return err
}

func (l *Log) logSnapshot(p *ProducerState, begin time.Time) {
	l.info("ProducerStateManager", fmt.Sprintf("Wrote producer snapshot at offset %d with %d producer ids in %d ms.",
		p.mapEndOffset(), len(p.producers), time.Since(begin).Milliseconds()))
}

func (c *Config) deleteDelay() time.Duration {
	return time.Duration(c.FileDeleteDelayMs) * time.Millisecond
}
