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
	return s.writeCheckpoint(d, recoveryPointCheckpoint, s.collect(d, func(l *Log) (int64, bool) {
		return l.RecoveryPoint(), true
	}))
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
	return s.writeCheckpoint(d, logStartCheckpoint, s.collect(d, func(l *Log) (int64, bool) {
		start := l.StartOffset()
		return start, start > (*l.segments.Load())[0].base
	}))
}

// CheckpointHighWatermarks writes replication-offset-checkpoint; m holds the
// high watermark of each partition, those of unknown ones are ignored.
func (s *Store) CheckpointHighWatermarks(m map[TopicPartition]int64) error {
	var err error
	for _, d := range s.Dirs() {
		err = errors.Join(err, s.writeCheckpoint(d, replicationCheckpoint, s.collect(d, func(l *Log) (int64, bool) {
			at, ok := m[l.tp]
			return at, ok
		})))
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

func (s *Store) writeCheckpoint(d *Dir, name string, entries map[TopicPartition]int64) error {
	err := d.writeCheckpoint(name, entries)
	if err != nil {
		s.suspect(d.Path, err)
	}
	return err
}

func (s *Store) collect(d *Dir, value func(*Log) (int64, bool)) map[TopicPartition]int64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	entries := make(map[TopicPartition]int64)
	for tp, p := range s.logs {
		if p.dir != d || p.log == nil {
			continue
		}
		if at, ok := value(p.log); ok {
			entries[tp] = at
		}
	}
	return entries
}
