package logstore

import (
	"errors"
	"fmt"
)

// swapMoved copies what is left while nothing can be appended, gives the copy
// the partition's name and lets the log go on in its files. Readers keep what
// they hold. After an error nothing has changed, but for the copy, which is of
// no more use.
func (s *Store) swapMoved(m *move) error {
	s.changes.RLock()
	defer s.changes.RUnlock()
	s.mu.RLock()
	current, closed := s.logs[m.log.tp], s.closed
	s.mu.RUnlock()
	if m.isGivenUp() || closed || current.log != m.log {
		return errMoveGivenUp
	}
	if err := m.log.becomeCopy(m); err != nil {
		return err
	}
	s.put(m.log, m.to)
	s.moves.remove(m)
	s.env.logger.Info("The current replica is successfully replaced with the future replica for " + m.log.tp.String())
	s.forgetPlace(m)
	return nil
}

// forgetPlace removes a partition that moved from where it was: its files after
// the delay, and its lines in the checkpoint files.
func (s *Store) forgetPlace(m *move) {
	if m.left != "" {
		s.scheduleDelete(m.left)
	}
	var err error
	if cleaned, ok := m.from.cleanedTo(m.log.tp); ok {
		err = errors.Join(err, s.CheckpointCleaner(m.log.tp, cleaned))
	}
	err = errors.Join(err, m.from.dropFromCleaner([]TopicPartition{m.log.tp}, s.env.logger))
	for _, d := range []*Dir{m.from, m.to} {
		err = errors.Join(err, s.checkpointRecoveryPoints(d), s.checkpointLogStarts(d))
	}
	if err != nil {
		// The partition is where it should be; only the old place is not tidy.
		s.env.logger.Error(fmt.Sprintf("%s moved from %s to %s, but the checkpoint files were not written", m.log.tp, m.from.Path, m.to.Path), "error", err)
	}
}

// cleanedTo is how far the cleaner had come by the checkpoint file.
func (d *Dir) cleanedTo(tp TopicPartition) (int64, bool) {
	d.cleanerMu.Lock()
	defer d.cleanerMu.Unlock()
	at, ok := d.cleaned[tp]
	return at, ok
}

// becomeCopy lets the log go on in the files of a copy, under the name that it
// has: for its users nothing changes but the place.
func (l *Log) becomeCopy(m *move) error {
	l.flushMu.Lock() // no flush of files that are left behind
	defer l.flushMu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return err
	}
	copied, err := m.finishLocked()
	if err != nil {
		return err
	}
	var old error
	for _, s := range *l.segments.Load() {
		old = errors.Join(old, s.retire())
	}
	if old != nil { // files that nobody needs any more
		l.warn("UnifiedLog", "Files of "+l.Dir()+" were not closed", "error", old)
	}
	before, path := l.Dir(), copied.Dir()
	l.dir.Store(&path)
	list := *copied.segments.Load()
	for _, s := range list {
		s.log = l
	}
	l.epochs.adopt(copied.epochs)
	l.producers = l.producers.in(copied.producers)
	l.recoveryPoint.Store(copied.recoveryPoint.Load())
	l.publishSegmentsLocked(list, l.end.Load())
	l.recent.forget()
	l.publishUnstableLocked()
	m.leave(before)
	return nil
}

// in is the same state with the snapshot files of another: the state in memory
// may know more than a snapshot gives back.
func (p *ProducerState) in(other *ProducerState) *ProducerState {
	moved := *p
	moved.dir, moved.snapshots, moved.lastTaken = other.dir, other.snapshots, other.lastTaken
	return &moved
}

// leave renames the old directory before anything is appended to the new one:
// until then both are the same.
func (m *move) leave(path string) {
	gone := m.from.file(setAsideDirName(m.log.tp, deleteDirSuffix))
	err := m.log.env.fsys.Rename(path, gone)
	if err == nil {
		m.left = gone
		err = m.log.env.fsys.SyncDir(m.from.Path)
	}
	if err != nil {
		m.log.error("UnifiedLog", "The partition goes on in "+m.log.Dir()+"; remove "+path+" before the next start", "error", err)
	}
}

// finishLocked brings the copy to the end of the log, makes it durable under
// the partition's name and opens it again. The log's mutex is held.
func (m *move) finishLocked() (copied *Log, err error) {
	future := m.future.Load()
	buf := make([]byte, 0)
	for m.log.EndOffset() > future.EndOffset() {
		if _, err := m.copyChunk(&buf); err != nil {
			return nil, err
		}
	}
	start, end := m.log.StartOffset(), m.log.EndOffset()
	if _, err := future.DeleteRecords(start, end); err != nil {
		return nil, err
	}
	// Epochs without a batch are known to the log only.
	if err := future.epochs.replace(m.log.epochs.load()); err != nil {
		return nil, err
	}
	if err := future.Close(); err != nil {
		return nil, err
	}
	fsys := m.log.env.fsys
	if err := fsys.SyncDir(future.Dir()); err != nil {
		return nil, err
	}
	if err := future.rename(m.to.file(m.log.tp.String())); err != nil {
		return nil, err
	}
	copied, err = openLog(m.log.env, LogOptions{
		Dir: future.Dir(), Config: *m.log.config.Load(), Clean: true, RecoveryPoint: end, LogStartOffset: start, TopicID: m.log.TopicID(),
	})
	if err != nil {
		return nil, err
	}
	if copied.EndOffset() != end || copied.StartOffset() != start {
		err := fmt.Errorf("the copy holds offsets %d to %d, the log %d to %d", copied.StartOffset(), copied.EndOffset(), start, end)
		return nil, errors.Join(err, copied.abandon())
	}
	return copied, nil
}

// isCopyOf reports whether two logs hold the same partition from the same
// offset to the same offset, as both do when a crash came while a copy took
// the place of its source.
func (l *Log) isCopyOf(other *Log) bool {
	return l.TopicID() == other.TopicID() && l.TopicID() != UUID{} &&
		l.StartOffset() == other.StartOffset() && l.EndOffset() == other.EndOffset()
}
