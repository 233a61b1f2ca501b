package metadata

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/record"
)

// Open opens the metadata log and does what Kafka's controller and broker do
// at a start: it replays the log, begins a new leader epoch, registers this
// node and makes it the leader of its partitions. An empty directory is
// formatted first. What can be read but not worked with is ErrUnsupported,
// what cannot be read ErrMalformed or a *logstore.CorruptError.
func Open(o Options) (*Store, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	s := &Store{o: o}
	if err := s.open(); err != nil {
		if s.log.Log != nil {
			err = errors.Join(err, s.log.Close())
		}
		return nil, fmt.Errorf("open metadata log %s: %w", o.Dir, err)
	}
	s.maybeSnapshot(s.Image())
	return s, nil
}

func (s *Store) open() error {
	if err := makeDir(s.o.FS, s.o.Dir); err != nil {
		return err
	}
	if err := removeLeftovers(s.o.FS, s.o.Dir); err != nil {
		return err
	}
	quorum, err := readQuorumState(s.o.FS, s.o.Dir)
	if err != nil {
		return err
	}
	if err := s.formatIfEmpty(quorum); err != nil {
		return err
	}
	if err := s.load(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starting = true
	defer func() { s.starting = false }()
	return s.startLocked(quorum)
}

// makeDir makes the directory if it is missing, so that it survives a power
// loss. The one above belongs to the caller.
func makeDir(fsys vfs.FS, dir string) error {
	if _, err := fsys.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(dir))
}

// formatIfEmpty writes the 0-0 checkpoint of a directory that holds neither
// snapshot nor log.
func (s *Store) formatIfEmpty(quorum QuorumState) error {
	entries, err := s.o.FS.ReadDir(s.o.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, snapshot := parseSnapshotName(e.Name()); snapshot || isSegmentFile(e.Name()) && strings.HasSuffix(e.Name(), ".log") {
			return nil
		}
	}
	if quorum.LeaderEpoch > 0 {
		return fmt.Errorf("%w: %s tells of leader epoch %d, but neither a snapshot nor a log is there; restore them, or remove the directory to begin an empty cluster",
			ErrMalformed, quorumStateName, quorum.LeaderEpoch)
	}
	now := time.Now().UnixMilli()
	data, err := encodeBootstrap(now, now)
	if err != nil {
		return err
	}
	return writeSnapshot(s.o.FS, s.o.Dir, SnapshotID{}, data)
}

// encodeBootstrap makes the 0-0 checkpoint that kafka-storage.sh format writes
// with voters by configuration.
func encodeBootstrap(headerMs, nowMs int64) ([]byte, error) {
	return encodeSnapshot(SnapshotID{}, nil, initialRecords(), levelMax, headerMs, nowMs)
}

// initialRecords are the levels of a new cluster of the newest release.
func initialRecords() []Record {
	f := Format{Level: levelMax, Features: featuresOf(levelMax)}
	return f.records()
}

// load replays the newest snapshot and the log behind it.
func (s *Store) load() error {
	edit, from, err := s.loadSnapshot()
	if err != nil {
		return err
	}
	if err := s.openLog(from); err != nil {
		return err
	}
	records := decoder{edit: edit}
	err = s.log.replay(from, func(b record.Batch) error {
		s.snapshots.grew(b.Size(), b.MaxTimestamp())
		return records.batch(b, func(r stored) error {
			if r.offset < from {
				return nil
			}
			if err := applyStored(edit, r); err != nil {
				return fmt.Errorf("offset %d: %w", r.offset, err)
			}
			edit.at(r.offset, b.LeaderEpoch(), r.timestamp)
			return nil
		})
	})
	if err != nil {
		return err
	}
	s.transaction = edit.transaction
	s.next, err = edit.done()
	return err
}

func applyStored(e *imageEdit, r stored) error {
	if r.control != nil {
		e.control(r.control)
		return nil
	}
	return e.apply(r.record)
}

// loadSnapshot reads the newest snapshot that is whole. from is the offset at
// which the log goes on.
func (s *Store) loadSnapshot() (e *imageEdit, from int64, err error) {
	ids, err := listSnapshots(s.o.FS, s.o.Dir)
	if err != nil {
		return nil, 0, err
	}
	for n := len(ids) - 1; n >= 0 && ids[n].End > 0; n-- {
		e, damaged, err := s.readState(ids[n])
		if err == nil {
			return e, ids[n].End, nil
		}
		if !damaged {
			return nil, 0, err
		}
		s.o.Logger.Warn("Metadata snapshot is not used: "+err.Error(), "logger", "org.apache.kafka.image.loader.MetadataLoader")
	}
	return newImage(&s.o).editInPlace(nil), 0, nil
}

// readState makes the state that a snapshot holds. damaged says that another
// snapshot may do.
func (s *Store) readState(id SnapshotID) (e *imageEdit, damaged bool, err error) {
	e = newImage(&s.o).editInPlace(nil)
	last := int64(-1)
	err = readSnapshot(s.o.FS, filepath.Join(s.o.Dir, id.fileName()), func(r stored) error {
		if header, ok := r.control.(*SnapshotHeader); ok {
			last = header.LastContainedLogTimestamp
		}
		return applyStored(e, r)
	})
	e.at(id.End-1, id.Epoch, last)
	e.orderQuotas()
	var corrupt *logstore.CorruptError
	return e, errors.As(err, &corrupt), err
}

// openLog opens the segments, which must go on where the snapshot ended.
func (s *Store) openLog(from int64) (err error) {
	open := func() error {
		s.log, err = openRaftLog(s.o.FS, s.o.Dir, s.o.SegmentBytes, s.o.SegmentMs, s.o.Logger)
		return err
	}
	if err := open(); err != nil {
		return err
	}
	if s.log.EndOffset() < from { // a snapshot that came without its log
		if err := s.log.Close(); err != nil {
			return err
		}
		if err := resetLog(s.o.FS, s.o.Dir, from); err != nil {
			return err
		}
		if err := open(); err != nil {
			return err
		}
	}
	if start := s.log.StartOffset(); start > from {
		return fmt.Errorf("%w: the log begins at offset %d, but no whole snapshot reaches it: what lies between %d and %d is missing", ErrMalformed, start, from, start)
	}
	return nil
}

// checkVoters refuses a directory of several controllers: its log may hold
// records that never were committed.
func (i *Image) checkVoters(quorum QuorumState) error {
	voters := quorum.Voters
	if i.kraftVersion > 0 {
		if i.voters == nil {
			return fmt.Errorf("%w: the metadata names no voters; format the cluster with --standalone", ErrUnsupported)
		}
		voters = nil
		for _, v := range i.voters.Voters {
			voters = append(voters, v.ID)
		}
	}
	for _, id := range voters {
		if id != i.NodeID {
			return fmt.Errorf("%w: controller %d has a vote in this metadata; only a node that is the sole controller can be run here", ErrUnsupported, id)
		}
	}
	return nil
}

// bootstrapState reads the 0-0 checkpoint, which says what a new log begins
// with. Without one it is what formatting would write.
func (s *Store) bootstrapState() (records []Record, control []ControlRecord, err error) {
	err = readSnapshot(s.o.FS, filepath.Join(s.o.Dir, SnapshotID{}.fileName()), func(r stored) error {
		switch c := r.control.(type) {
		case nil:
			records = append(records, r.record)
		case *KRaftVersion, *KRaftVoters:
			control = append(control, c)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return initialRecords(), nil, nil
	}
	return records, control, err
}
