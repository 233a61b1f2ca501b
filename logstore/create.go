package logstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"minibroker/internal/vfs"
)

// createLog makes the log of a new partition. It waits for no disk: what a
// power loss takes of a directory without records is made again from the
// cluster's metadata. The first flush of records makes the directory durable
// before them, Store.RunSettling soon does it for all others.
//
// A directory that is there already is loaded like any other.
func createLog(env *env, o LogOptions) (*Log, error) {
	l, err := newLog(env, o)
	if err != nil {
		return nil, err
	}
	err = vfs.Mkdir(env.fsys, o.Dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		if l, err = openLog(env, o); err != nil {
			return nil, err
		}
		return l, env.fsys.SyncDir(filepath.Dir(o.Dir))
	}
	if errors.Is(err, fs.ErrNotExist) { // the data directory was taken away
		err = env.fsys.MkdirAll(o.Dir, 0o755)
	}
	if err != nil {
		return nil, err
	}
	if err := l.createFiles(o); err != nil {
		return nil, err
	}
	l.unsettled.Store(true)
	return l, nil
}

// createFiles makes the files that Kafka makes for a new partition in its
// directory, and the state of an empty log.
func (l *Log) createFiles(o LogOptions) error {
	fsys := l.env.fsys
	// Kafka takes a directory whose partition.metadata is a part of one offline:
	// the end of the process must not leave that.
	id := formatPartitionMetadata(PartitionMetadata{TopicID: o.TopicID})
	err := vfs.WriteFileWhole(fsys, o.Dir+string(filepath.Separator)+partitionMetadataName, id, 0o644)
	if err != nil {
		return err
	}
	l.epochs = newLeaderEpochs(fsys, o.Dir)
	s := newSegment(l, 0, &o.Config)
	size := int64(0)
	if o.Config.Preallocate {
		size = int64(o.Config.SegmentBytes)
	}
	if err := writeNew(fsys, s.path(logSuffix), nil, size); err != nil {
		return err
	}
	s.largestKnown, s.largest = true, noTimestamp
	if err := errors.Join(s.index.createFull(), s.times.createFull()); err != nil {
		return err
	}
	l.producers = newProducerState(fsys, o.Dir, l.env.logger, o.Config.ProducerIDExpirationMs)
	l.segments.Store(&[]*segment{s})
	return nil
}

// writeNew makes a file that is not there yet; with a size it grows to that.
func writeNew(fsys vfs.FS, path string, data []byte, size int64) error {
	file, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if len(data) > 0 {
		_, err = file.WriteAt(data, 0)
	}
	if err == nil && size > 0 {
		err = file.Truncate(size)
	}
	return errors.Join(err, file.Close())
}

// settle makes the directory of a log that was just created durable, without
// the entry in the one above. Nobody else flushes meanwhile.
func (l *Log) settle() error {
	l.flushMu.Lock()
	defer l.flushMu.Unlock()
	return l.settleFlushing()
}

func (l *Log) settleFlushing() error {
	if !l.unsettled.Load() || l.closed.Load() {
		return nil
	}
	dir := l.Dir()
	err := errors.Join(syncFile(l.env.fsys, filepath.Join(dir, partitionMetadataName)), l.epochs.sync(), l.env.fsys.SyncDir(dir))
	if err == nil {
		l.unsettled.Store(false)
	}
	return err
}

// When new logs are made durable: some time after the last one was created, so
// that many are done together, but not later than settleLatest after the
// first. Kafka 4.4.0 writes partition.metadata at once, in the background.
const (
	settleAfter  = time.Second
	settleLatest = 10 * time.Second
	settleAtOnce = 4
)

// fresh notes a log that was just created.
func (s *Store) fresh(l *Log) {
	s.mu.Lock()
	s.unsettled = append(s.unsettled, l)
	s.mu.Unlock()
	select {
	case s.wakeSettling <- struct{}{}:
	default:
	}
}

// RunSettling makes new logs durable a short time after they were created,
// until ctx ends. Errors are logged.
func (s *Store) RunSettling(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wakeSettling:
		}
		s.awaitQuiet(ctx)
		if err := s.Settle(); err != nil {
			s.env.logger.Error("Error while making new partitions durable: " + err.Error())
		}
	}
}

// awaitQuiet returns when no log was created for settleAfter.
func (s *Store) awaitQuiet(ctx context.Context) {
	latest := time.NewTimer(settleLatest)
	defer latest.Stop()
	quiet := time.NewTimer(settleAfter)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-latest.C:
			return
		case <-quiet.C:
			return
		case <-s.wakeSettling:
			quiet.Reset(settleAfter)
		}
	}
}

// Settle makes the logs durable that were created since the last call.
func (s *Store) Settle() error {
	s.mu.Lock()
	logs := s.unsettled
	s.unsettled = nil
	s.mu.Unlock()
	if len(logs) == 0 {
		return nil
	}
	err := forEach(settleAtOnce, logs, func(l *Log) error {
		if err := l.settle(); err != nil && !errors.Is(err, fs.ErrNotExist) { // it was deleted
			return fmt.Errorf("%s: %w", l.Dir(), err)
		}
		return nil
	})
	for _, d := range s.Dirs() {
		err = errors.Join(err, s.env.fsys.SyncDir(d.Path))
	}
	return err
}
