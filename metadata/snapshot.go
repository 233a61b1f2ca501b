package metadata

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/record"
)

// A snapshot is a file of batches with offsets of their own from 0 on, all in
// the snapshot's epoch:
//
//	<end offset, 20 digits>-<epoch, 10 digits>.checkpoint   mode 0400
//
//	control batch   SnapshotHeader; with kraft.version 1 also KRaftVersion, KRaftVoters
//	data batches    records that make the state from nothing
//	control batch   SnapshotFooter
//
// The end offset is the first offset that the snapshot does not contain, the
// epoch that of the last one it does. Without the footer the file is not
// complete. The one of end 0 and epoch 0 is written by formatting: its records
// go into the log at the first start.
const (
	checkpointSuffix = ".checkpoint"
	partSuffix       = ".part"    // being written
	deletedSuffix    = ".deleted" // about to be removed
)

// SnapshotID names a snapshot.
type SnapshotID struct {
	End   int64 // first offset not contained
	Epoch int32 // of the last record contained
}

// String is the name of the file without its suffix.
func (id SnapshotID) String() string { return fmt.Sprintf("%020d-%010d", id.End, id.Epoch) }

func (id SnapshotID) fileName() string { return id.String() + checkpointSuffix }

// compare orders snapshots by age.
func (id SnapshotID) compare(other SnapshotID) int {
	if id.End != other.End {
		return int(min(1, max(-1, id.End-other.End)))
	}
	return int(min(1, max(-1, int64(id.Epoch)-int64(other.Epoch))))
}

// parseSnapshotName reads the name of a complete snapshot.
func parseSnapshotName(name string) (SnapshotID, bool) {
	end, epoch, ok := strings.Cut(strings.TrimSuffix(name, checkpointSuffix), "-")
	if !ok || !strings.HasSuffix(name, checkpointSuffix) || len(end) != 20 || len(epoch) != 10 {
		return SnapshotID{}, false
	}
	e, err1 := strconv.ParseUint(end, 10, 63)
	p, err2 := strconv.ParseUint(epoch, 10, 31)
	return SnapshotID{End: int64(e), Epoch: int32(p)}, err1 == nil && err2 == nil
}

// listSnapshots lists the snapshots of a directory, oldest first.
func listSnapshots(fsys vfs.FS, dir string) ([]SnapshotID, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var ids []SnapshotID
	for _, e := range entries {
		if id, ok := parseSnapshotName(e.Name()); ok {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, SnapshotID.compare)
	return ids, nil
}

// removeLeftovers removes what is left of snapshots that were being written or
// removed when the process ended.
func removeLeftovers(fsys vfs.FS, dir string) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, checkpointSuffix+partSuffix) || strings.HasSuffix(name, checkpointSuffix+deletedSuffix) {
			if err := fsys.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxSnapshotBytes bounds the memory for one snapshot. A record of a partition
// takes some 70 bytes.
const maxSnapshotBytes = 1 << 30

// readSnapshot calls fn for each record of a snapshot, header and footer
// included. An incomplete or damaged file is a *logstore.CorruptError.
func readSnapshot(fsys vfs.FS, path string, fn func(stored) error) error {
	file, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > maxSnapshotBytes {
		return fmt.Errorf("%s: %w: snapshot of %d bytes", path, ErrUnsupported, info.Size())
	}
	data := make([]byte, info.Size())
	if _, err := file.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	at, err := decodeSnapshot(data, fn)
	if err != nil && !errors.Is(err, ErrUnsupported) {
		return &logstore.CorruptError{File: path, Offset: at, Err: err}
	}
	if err != nil {
		return fmt.Errorf("%s at byte %d: %w", path, at, err)
	}
	return nil
}

// decodeSnapshot reads the bytes of a snapshot. With an error comes the
// position of the batch that it is about.
func decodeSnapshot(data []byte, fn func(stored) error) (at int64, err error) {
	next, ended := int64(0), false
	for rest := data; len(rest) > 0; {
		at = int64(len(data) - len(rest))
		var b record.Batch
		if b, rest, err = record.Next(rest); err != nil {
			return at, err
		}
		if !b.ChecksumOK() {
			return at, fmt.Errorf("%w: checksum mismatch", ErrMalformed)
		}
		if ended || b.BaseOffset() != next {
			return at, fmt.Errorf("%w: batch at offset %d out of place", ErrMalformed, b.BaseOffset())
		}
		next = b.NextOffset()
		err = decodeBatch(b, func(s stored) error {
			_, isHeader := s.control.(*SnapshotHeader)
			_, isFooter := s.control.(*SnapshotFooter)
			if ended || isHeader != (s.offset == 0) {
				return fmt.Errorf("%w: record %d of the snapshot is out of place", ErrMalformed, s.offset)
			}
			ended = isFooter
			return fn(s)
		})
		if err != nil {
			return at, err
		}
	}
	if !ended {
		return int64(len(data)), fmt.Errorf("%w: snapshot without a footer", ErrMalformed)
	}
	return 0, nil
}

// snapshotBatchRecords is the most records of one batch of a snapshot.
const snapshotBatchRecords = 1024

// snapshotWriter collects the batches of a snapshot.
type snapshotWriter struct {
	id    SnapshotID
	level int16
	nowMs int64
	next  int64 // offset within the snapshot
	data  []byte
	err   error
}

func (w *snapshotWriter) add(b record.Batch, err error) {
	if w.err = errors.Join(w.err, err); w.err != nil {
		return
	}
	b.SetBaseOffset(w.next)
	b.SetLeaderEpoch(w.id.Epoch)
	w.next = b.NextOffset()
	w.data = append(w.data, b...)
}

// encodeSnapshot makes the bytes of a snapshot. lastMs is the timestamp of the
// last record that the log had, nowMs the one of the snapshot's own records.
func encodeSnapshot(id SnapshotID, control []ControlRecord, records []Record, level int16, lastMs, nowMs int64) ([]byte, error) {
	w := snapshotWriter{id: id, level: level, nowMs: nowMs}
	head := append([]ControlRecord{&SnapshotHeader{LastContainedLogTimestamp: lastMs}}, control...)
	w.add(buildControl(head, nowMs))
	for part := range slices.Chunk(records, snapshotBatchRecords) {
		w.add(buildBatch(part, level, nowMs))
	}
	w.add(buildControl([]ControlRecord{&SnapshotFooter{}}, nowMs))
	return w.data, w.err
}

// writeSnapshot stores the bytes of a snapshot so that its name never stands
// for a part of it.
func writeSnapshot(fsys vfs.FS, dir string, id SnapshotID, data []byte) error {
	part := filepath.Join(dir, id.String()+"-"+logstore.NewUUID().String()+checkpointSuffix+partSuffix)
	err := writeReadOnly(fsys, part, data)
	if err == nil {
		err = fsys.Rename(part, filepath.Join(dir, id.fileName()))
	}
	if err != nil {
		if gone := fsys.Remove(part); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		return fmt.Errorf("write snapshot %s: %w", id, err)
	}
	return fsys.SyncDir(dir)
}

func writeReadOnly(fsys vfs.FS, path string, data []byte) error {
	file, err := fsys.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o400)
	if err != nil {
		return err
	}
	if _, err := file.WriteAt(data, 0); err != nil {
		return errors.Join(err, file.Close())
	}
	return errors.Join(file.Sync(), file.Close())
}
