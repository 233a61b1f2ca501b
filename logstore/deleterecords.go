package logstore

import (
	"fmt"
	"sync/atomic"
)

// DeleteRecords raises the log start offset to offset, -1 meaning the high
// watermark, and returns the low watermark that results. Nothing happens when
// the log starts there or later already. ErrOffsetOutOfRange when offset is
// above the high watermark. Segments below go with the next ApplyRetention;
// the new start survives a crash once CheckpointLogStartOffsets wrote it.
func (l *Log) DeleteRecords(offset, highWatermark int64) (low int64, err error) {
	if offset == -1 {
		offset = highWatermark
	}
	if offset < 0 || offset > highWatermark {
		return -1, fmt.Errorf("%w: delete records up to %d, high watermark is %d", ErrOffsetOutOfRange, offset, highWatermark)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return -1, err
	}
	if err := l.raiseStartLocked(offset, "client delete records request"); err != nil {
		return -1, l.storage("delete records", err)
	}
	return l.start.Load(), nil
}

// raiseStartLocked moves the log start offset up and cuts the leader epochs
// below it. The recovery point is never below the start.
func (l *Log) raiseStartLocked(to int64, reason string) error {
	if to <= l.start.Load() {
		return nil
	}
	l.start.Store(to)
	l.env.startsRaised.Add(1)
	l.raiseRecoveryPoint(to)
	l.info("UnifiedLog", fmt.Sprintf("Incremented log start offset to %d due to %s", to, reason))
	return l.epochs.truncateFromStart(to)
}

// StartsRaised counts how often the start offset of a log was raised, of all logs of the store together.
func (l *Log) StartsRaised() *atomic.Uint64 { return &l.env.startsRaised }
