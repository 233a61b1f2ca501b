package logstore

import "errors"

// CheckpointRecoveryPoints writes recovery-point-offset-checkpoint of every
// data directory: the recovery point of each of its logs.
func (s *Store) CheckpointRecoveryPoints() error {
	var err error
	for _, d := range s.Dirs() {
		err = errors.Join(err, s.checkpointRecoveryPoints(d))
	}
	return err
}

func (s *Store) checkpointRecoveryPoints(d *Dir) error {
	return s.checkpoint(d, recoveryPointCheckpoint, func(l *Log) (int64, bool) { return l.RecoveryPoint(), true })
}

// CheckpointLogStartOffsets writes log-start-offset-checkpoint: only logs
// whose start offset lies above their first segment's base are listed.
func (s *Store) CheckpointLogStartOffsets() error {
	var err error
	for _, d := range s.Dirs() {
		err = errors.Join(err, s.checkpointLogStarts(d))
	}
	return err
}

func (s *Store) checkpointLogStarts(d *Dir) error {
	return s.checkpoint(d, logStartCheckpoint, func(l *Log) (int64, bool) {
		start := l.StartOffset()
		return start, start > (*l.segments.Load())[0].base
	})
}

// CheckpointHighWatermarks writes replication-offset-checkpoint; of tells the high watermark of a partition, if it has one, and must
// not call the store.
func (s *Store) CheckpointHighWatermarks(of func(TopicPartition) (int64, bool)) error {
	var err error
	for _, d := range s.Dirs() {
		err = errors.Join(err, s.checkpoint(d, replicationCheckpoint, func(l *Log) (int64, bool) { return of(l.tp) }))
	}
	return err
}

// HighWatermarks gives the high watermarks as Open read them.
func (s *Store) HighWatermarks() map[TopicPartition]int64 {
	all := make(map[TopicPartition]int64)
	for _, d := range s.Dirs() {
		for tp, at := range d.highWatermarks {
			all[tp] = at
		}
	}
	return all
}

// checkpoint writes a value of each log in a directory, unless all are as they were written last: looking at them allocates nothing,
// however many there are.
func (s *Store) checkpoint(d *Dir, name string, value func(*Log) (int64, bool)) error {
	sum := newCheckpointSum(d.seed)
	s.each(d, value, sum.add)
	if d.isWritten(name, sum) {
		return nil
	}
	entries := make([]CheckpointEntry, 0, sum.entries)
	s.each(d, value, func(tp TopicPartition, at int64) { entries = append(entries, CheckpointEntry{tp, at}) })
	err := d.writeCheckpoint(name, entries)
	if err != nil {
		s.suspect(d.Path, err)
	}
	return err
}

// each calls do with the value of each log in a directory that has one.
func (s *Store) each(d *Dir, value func(*Log) (int64, bool), do func(TopicPartition, int64)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for tp, p := range s.logs {
		if p.dir != d || p.log == nil {
			continue
		}
		if at, ok := value(p.log); ok {
			do(tp, at)
		}
	}
}
