package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"minibroker/internal/vfs"
)

// malformedSuffix ends the name of a file that was set aside because its text
// could not be understood; it is kept for whoever wants to know why.
const malformedSuffix = ".malformed"

// setMalformedAside renames a file that damage tells about, so that a new one
// can take its place. Other errors, and nil, are passed on. Kafka 4.4.0 takes
// the data directory offline for such a file.
func setMalformedAside(fsys vfs.FS, logger *slog.Logger, path, instead string, damage error) error {
	var corrupt *CorruptError
	if !errors.As(damage, &corrupt) {
		return damage
	}
	logger.Warn(fmt.Sprintf("%s cannot be understood; it is kept as %s. %s", path, path+malformedSuffix, instead), slog.Any("error", damage))
	if err := fsys.Rename(path, path+malformedSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// openEpochs opens the epochs. When their file is malformed they are gathered
// again from all batches; derive tells so.
//
// Of a log that has no batch yet all epochs are cut off by the load, so that
// there is nothing to read.
func (d *loader) openEpochs(fresh bool, files fileList) (derive bool, err error) {
	l := d.log
	if fresh {
		l.epochs = newLeaderEpochs(l.env.fsys, d.o.Dir)
		return false, nil
	}
	if d.blank && files.has(leaderEpochCheckpointName) {
		l.epochs = unreadLeaderEpochs(l.env.fsys, d.o.Dir)
		return false, nil
	}
	l.epochs, err = openLeaderEpochs(l.env.fsys, d.o.Dir)
	if err == nil {
		return false, nil
	}
	path := d.path(leaderEpochCheckpointName)
	if err := setMalformedAside(l.env.fsys, l.env.logger, path, "Leader epochs are taken from the batches again.", err); err != nil {
		return false, err
	}
	l.epochs, err = openLeaderEpochs(l.env.fsys, d.o.Dir)
	return true, err
}

// deriveEpochs notes the epochs that the batches carry.
func (d *loader) deriveEpochs() error {
	for _, s := range d.segments {
		if err := d.deriveEpochsOf(s); err != nil {
			return fmt.Errorf("gather leader epochs of segment %020d: %w", s.base, err)
		}
	}
	return nil
}

func (d *loader) deriveEpochsOf(s *segment) error {
	scan, done, err := s.scan(0, s.size.Load())
	if err != nil {
		return err
	}
	defer done()
	for {
		head, _, err := scan.next()
		if err != nil {
			return ignoreEnd(err)
		}
		if err := d.log.noteEpoch(head); err != nil {
			return err
		}
	}
}

// emptySwaps are the bases of .log.swap files without a byte that stand beside
// a segment that has some: no replacement that was finished looks like that.
// Kafka 4.4.0 takes them, and the records are gone.
func (d *loader) emptySwaps(files fileList) map[int64]bool {
	size := func(name string) int64 {
		n, err := files.size(name)
		if err != nil {
			return -1
		}
		return n
	}
	empty := make(map[int64]bool)
	for _, name := range files.names() {
		base, suffix, ok := parseSegmentFileName(name)
		if !ok || suffix != logSuffix+swapSuffix || size(name) != 0 || size(segmentFileName(base, logSuffix)) <= 0 {
			continue
		}
		d.log.warn("LogLoader", "Deleting empty "+d.path(name)+" and its indexes: the segment beside it is whole.")
		empty[base] = true
	}
	return empty
}

// AdoptTopicID writes the partition.metadata of a log that has none, once it is
// known whose log it is. It does nothing when the log has an id.
func (l *Log) AdoptTopicID(id UUID) error {
	if l.TopicID() != (UUID{}) {
		return nil
	}
	if err := writePartitionMetadata(l.env.fsys, l.Dir(), PartitionMetadata{TopicID: id}); err != nil {
		return l.storage("write partition.metadata", err)
	}
	l.topicID.Store(&id)
	return nil
}
