package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"minibroker/internal/vfs"
)

// Dir is one data directory of a store.
type Dir struct {
	Path        string
	DirectoryID UUID
	Clean       bool  // the last stop was clean: the marker was there
	BrokerEpoch int64 // as the last clean stop wrote it, -1 if unknown

	fsys   vfs.FS
	lock   io.Closer
	prefix string // see prefixOf

	// As read at open; not used after the load.
	recoveryPoints, startOffsets map[TopicPartition]int64
	highWatermarks               map[TopicPartition]int64

	loaded bool // all logs were loaded

	mu      sync.Mutex // one writer of checkpoint files at a time
	written map[string]uint64
	seed    maphash.Seed

	cleanerMu sync.Mutex               // taken before mu
	cleaned   map[TopicPartition]int64 // cleaner-offset-checkpoint, nil until read
}

// openDir locks the directory and reads its top level.
func openDir(fsys vfs.FS, path string, nodeID int32, logger *slog.Logger) (d *Dir, meta MetaProperties, err error) {
	d = &Dir{Path: path, fsys: fsys, prefix: prefixOf(path), BrokerEpoch: -1, written: make(map[string]uint64), seed: maphash.MakeSeed()}
	if err := MakeDir(fsys, path); err != nil {
		return nil, meta, err
	}
	if d.lock, err = fsys.Lock(d.file(lockName)); err != nil {
		if errors.Is(err, vfs.ErrLocked) {
			err = fmt.Errorf("%w: %s; another Kafka or minibroker uses this directory, stop it first or give this one its own log.dirs",
				ErrLocked, path)
		}
		return nil, meta, err
	}
	if meta, err = d.readTop(nodeID, logger); err != nil {
		return nil, meta, errors.Join(err, d.lock.Close())
	}
	return d, meta, nil
}

// MakeDir makes a directory that survives a power loss, unless there is one.
func MakeDir(fsys vfs.FS, path string) error {
	if _, err := fsys.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := fsys.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(path))
}

func (d *Dir) readTop(nodeID int32, logger *slog.Logger) (MetaProperties, error) {
	meta, err := ReadMetaProperties(d.fsys, d.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return meta, err
	}
	if err == nil && meta.NodeID != nodeID {
		return meta, fmt.Errorf("%s was made for node.id %d, this broker has %d; set node.id=%d or choose another directory",
			d.file(metaPropertiesName), meta.NodeID, nodeID, meta.NodeID)
	}
	marker, found, err := readCleanShutdown(d.fsys, d.Path)
	if err != nil {
		return meta, err
	}
	if found {
		d.Clean, d.BrokerEpoch = true, marker.BrokerEpoch
	}
	for _, f := range []struct {
		name string
		into *map[TopicPartition]int64
	}{
		{recoveryPointCheckpoint, &d.recoveryPoints},
		{logStartCheckpoint, &d.startOffsets},
		{replicationCheckpoint, &d.highWatermarks},
		{cleanerCheckpoint, nil},
	} {
		if err := d.readCheckpoint(f.name, f.into, logger); err != nil {
			return meta, err
		}
	}
	return meta, nil
}

// readCheckpoint reads an offset checkpoint file, or creates it empty. A field
// that is no number counts as an empty file, as in Kafka; a file that is
// otherwise malformed is set aside.
func (d *Dir) readCheckpoint(name string, into *map[TopicPartition]int64, logger *slog.Logger) error {
	if err := touch(d.fsys, d.file(name)); err != nil || into == nil {
		return err
	}
	var err error
	*into, err = ReadOffsetCheckpoint(d.fsys, d.file(name))
	if err == nil {
		return nil
	}
	*into = make(map[TopicPartition]int64)
	if errors.Is(err, ErrNotANumber) {
		logger.Warn("Error occurred while reading "+name+" file of directory "+d.Path+", resetting it", slog.Any("error", err))
		return nil
	}
	err = setMalformedAside(d.fsys, logger, d.file(name), "It counts as empty: its offsets are derived again.", err)
	return errors.Join(err, touch(d.fsys, d.file(name)))
}

// touch makes an empty file unless there is one.
func touch(fsys vfs.FS, path string) error {
	file, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return file.Close()
}

// file is the path of what is directly in the directory.
func (d *Dir) file(name string) string {
	if d.prefix == "" {
		return filepath.Join(d.Path, name)
	}
	return d.prefix + name
}

// prefixOf is what the paths in a directory begin with; "" where filepath.Join makes
// them otherwise.
func prefixOf(dir string) string {
	prefix := dir + string(filepath.Separator)
	if filepath.IsAbs(dir) && filepath.Join(dir, "x") == prefix+"x" {
		return prefix
	}
	return ""
}

// writeCheckpoint replaces an offset checkpoint file, unless it would get what
// was written last: an idle broker writes nothing.
func (d *Dir) writeCheckpoint(name string, entries []CheckpointEntry) error {
	sum := newCheckpointSum(d.seed)
	for i := range entries {
		sum.add(entries[i].TopicPartition, entries[i].Offset)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.isWrittenLocked(name, sum) {
		return nil
	}
	if err := WriteCheckpointEntries(d.fsys, d.file(name), sortedEntries(entries)); err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	d.written[name] = sum.sum
	return nil
}

// isWritten reports whether a checkpoint file needs not be written to hold the entries of a sum.
func (d *Dir) isWritten(name string, sum *checkpointSum) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.isWrittenLocked(name, sum)
}

func (d *Dir) isWrittenLocked(name string, sum *checkpointSum) bool {
	// Kafka too writes no high watermarks before there is a partition.
	return d.written[name] == sum.sum || sum.entries == 0 && name == replicationCheckpoint && d.written[name] == 0
}

// checkpointSum tells sets of entries of a checkpoint file apart, in whatever order they come.
type checkpointSum struct {
	seed    maphash.Seed
	sum     uint64 // never 0, which is for a file never written
	entries int
}

func newCheckpointSum(seed maphash.Seed) *checkpointSum { return &checkpointSum{seed: seed, sum: 1} }

func (c *checkpointSum) add(tp TopicPartition, offset int64) {
	var place [12]byte
	binary.LittleEndian.PutUint32(place[:], uint32(tp.Partition))
	binary.LittleEndian.PutUint64(place[4:], uint64(offset))
	c.sum += maphash.String(c.seed, tp.Topic)*0x9e3779b97f4a7c15 ^ maphash.Bytes(c.seed, place[:])
	c.entries++
}

// unlock lets others use the directory; remove takes the lock file away, as a
// clean stop does.
func (d *Dir) unlock(remove bool) error {
	if d.lock == nil {
		return nil
	}
	var err error
	if remove {
		err = d.fsys.Remove(d.file(lockName))
	}
	err = errors.Join(err, d.lock.Close())
	d.lock = nil
	return err
}

// DiskSpace is the size of the file system that the directory lies on and what
// is left of it, in bytes.
func (d *Dir) DiskSpace() (total, usable int64, err error) { return vfs.DiskSpace(d.Path) }

// LockFile is the file whose lock says that a data directory is in use.
func LockFile(dir string) string { return filepath.Join(dir, lockName) }
