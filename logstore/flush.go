package logstore

import (
	"errors"
	"path/filepath"
	"time"
)

// Flush makes everything below upTo durable and moves the recovery point
// there. Callers that meet share the work: who finds the recovery point past
// its offset returns at once. A log whose flush failed takes no more appends,
// because the kernel may have dropped what it could not write.
func (l *Log) Flush(upTo int64) error {
	if l.closed.Load() {
		return nil // Close flushes
	}
	return l.storage("flush", l.flush(upTo))
}

func (l *Log) flush(upTo int64) error {
	_, err := l.flushFiles(upTo, func() error { return l.env.fsys.SyncDir(l.Dir()) })
	return err
}

// flushFiles is flush, with what makes the directory's entries durable; it
// reports whether there are new ones.
func (l *Log) flushFiles(upTo int64, settleEntries func() error) (created bool, err error) {
	l.flushMu.Lock()
	defer l.flushMu.Unlock()
	from := l.recoveryPoint.Load()
	if upTo <= from {
		return false, nil
	}
	v := l.view()
	if upTo > v.segments[len(v.segments)-1].base {
		upTo = v.end // one sync of the file covers what others appended meanwhile
	}
	created, err = l.syncSegments(v, from, upTo)
	if err == nil && created {
		err = settleEntries()
	}
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		return created, l.failLocked("flush", err)
	}
	if err := l.epochs.settle(); err != nil {
		return created, err // nothing was lost: the records are recovered with their epochs
	}
	l.raiseRecoveryPoint(upTo)
	return created, nil
}

// syncSegments makes the segments between two offsets durable; created: one of
// them may be new in the directory.
func (l *Log) syncSegments(v view, from, upTo int64) (created bool, err error) {
	if err := l.settleWhole(); err != nil {
		return false, err
	}
	for _, s := range v.segments[max(0, floorSegment(v.segments, from)):] {
		if s.base >= upTo && s.base > from {
			break
		}
		if err := s.sync(); err != nil && !errors.Is(err, errSegmentGone) {
			return created, err
		}
		created = created || s.base >= from
	}
	return created, nil
}

// settleWhole makes a log that was just created durable with its entry in the
// data directory, before the first records are.
func (l *Log) settleWhole() error {
	if !l.unsettled.Load() {
		return nil
	}
	if err := l.settleFlushing(); err != nil {
		return err
	}
	return l.env.fsys.SyncDir(filepath.Dir(l.Dir()))
}

func (l *Log) raiseRecoveryPoint(to int64) {
	for {
		have := l.recoveryPoint.Load()
		if to <= have || l.recoveryPoint.CompareAndSwap(have, to) {
			return
		}
	}
}

// FlushIfDue flushes when flush.ms passed since the last flush by this call.
func (l *Log) FlushIfDue(now time.Time) error {
	every := l.config.Load().FlushMs
	l.mu.Lock()
	due := now.Sub(l.lastFlush).Milliseconds() >= every
	if due {
		l.lastFlush = now
	}
	l.mu.Unlock()
	if !due {
		return nil
	}
	return l.Flush(l.end.Load())
}
