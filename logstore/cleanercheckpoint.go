package logstore

import (
	"errors"
	"fmt"
	"log/slog"
)

// CleanerOffset is how far the cleaner has come in a partition, by
// cleaner-offset-checkpoint: the first offset that it has not cleaned. false
// when the file has no line for it. A file that cannot be understood counts as
// empty: its logs are cleaned from their start again.
func (s *Store) CleanerOffset(tp TopicPartition) (int64, bool, error) {
	d := s.LogDir(tp)
	if d == nil {
		return 0, false, fmt.Errorf("%w: %s", ErrUnknownLog, tp)
	}
	d.cleanerMu.Lock()
	defer d.cleanerMu.Unlock()
	if err := d.readCleanerLocked(s.env.logger); err != nil {
		return 0, false, err
	}
	offset, ok := d.cleaned[tp]
	return offset, ok, nil
}

// CheckpointCleaner writes how far the cleaner has come in a partition. Lines
// of partitions that the directory does not hold are dropped.
func (s *Store) CheckpointCleaner(tp TopicPartition, offset int64) error {
	d := s.LogDir(tp)
	if d == nil {
		return fmt.Errorf("%w: %s", ErrUnknownLog, tp)
	}
	d.cleanerMu.Lock()
	defer d.cleanerMu.Unlock()
	if err := d.readCleanerLocked(s.env.logger); err != nil {
		return err
	}
	known := make(map[TopicPartition]int64)
	s.each(d, func(l *Log) (int64, bool) {
		at, ok := d.cleaned[l.tp]
		if l.tp == tp {
			return offset, true
		}
		return at, ok
	}, func(tp TopicPartition, at int64) { known[tp] = at })
	if err := d.writeCheckpoint(cleanerCheckpoint, entriesOf(known)); err != nil {
		return err
	}
	d.cleaned = known
	return nil
}

// dropFromCleaner rewrites the cleaner's checkpoint without some partitions.
func (d *Dir) dropFromCleaner(tps []TopicPartition, logger *slog.Logger) error {
	d.cleanerMu.Lock()
	defer d.cleanerMu.Unlock()
	if err := d.readCleanerLocked(logger); err != nil {
		return err
	}
	for _, tp := range tps {
		delete(d.cleaned, tp)
	}
	return d.writeCheckpoint(cleanerCheckpoint, entriesOf(d.cleaned))
}

// readCleanerLocked reads the file when it is first asked for; nobody else
// writes it from then on.
func (d *Dir) readCleanerLocked(logger *slog.Logger) error {
	if d.cleaned != nil {
		return nil
	}
	entries, err := ReadOffsetCheckpoint(d.fsys, d.file(cleanerCheckpoint))
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		logger.Warn("The cleaner's checkpoint cannot be understood; its logs are cleaned from their start again", slog.Any("error", err))
		entries, err = make(map[TopicPartition]int64), nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	d.cleaned = entries
	return nil
}
