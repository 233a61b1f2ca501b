package logstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"minibroker/internal/vfs"
)

// The functions of this file read single files of a log dir, whoever wrote
// them, without a Store: for tools that show what is in them.

// maxInspected bounds what is read of a file that is taken into memory whole;
// such files have a few KiB, snapshots of very many producers some MiB.
const maxInspected = 256 << 20

// SegmentBase is the offset in the name of a segment's file, and the rest of
// the name from its first dot on.
func SegmentBase(name string) (base int64, suffix string, ok bool) {
	return parseSegmentFileName(filepath.Base(name))
}

// TopicPartitionOf reads the name of a partition's directory, also of one that
// was set aside.
func TopicPartitionOf(dir string) (TopicPartition, bool) {
	d, err := parseDirName(filepath.Base(dir))
	return d.tp, err == nil
}

// EachOffsetEntry calls fn for the slots of an .index file in order, with the
// offset, absolute as told by the file's name, and the position in the .log.
// Slots that were never filled are zero. It ends when fn returns false.
func EachOffsetEntry(fsys vfs.FS, path string, fn func(offset, position int64) bool) error {
	base, _, _ := parseSegmentFileName(filepath.Base(path))
	return eachSlot(fsys, path, offsetEntrySize, func(b []byte) bool { return fn(base+entryOffset(b), entryPosition(b)) })
}

// EachTimeEntry calls fn for the slots of a .timeindex file in order, with the
// timestamp in ms and the offset. It ends when fn returns false.
func EachTimeEntry(fsys vfs.FS, path string, fn func(timestamp, offset int64) bool) error {
	base, _, _ := parseSegmentFileName(filepath.Base(path))
	return eachSlot(fsys, path, timeEntrySize, func(b []byte) bool { return fn(entryTimestamp(b), base+entryTimeOffset(b)) })
}

// EachAborted calls fn for the entries of a .txnindex file in order. An entry
// of another version is a *CorruptError.
func EachAborted(fsys vfs.FS, path string, fn func(AbortedTxn)) error {
	var bad error
	at := int64(0)
	err := eachSlot(fsys, path, abortedEntrySize, func(b []byte) bool {
		t, err := parseAborted(b)
		if err != nil {
			bad = &CorruptError{File: path, Offset: at, Err: err}
			return false
		}
		fn(t)
		at += abortedEntrySize
		return true
	})
	return errors.Join(err, bad)
}

// eachSlot walks over a file of slots of one size; what is left at the end and
// fills none is not looked at.
func eachSlot(fsys vfs.FS, path string, size int, fn func([]byte) bool) error {
	file, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	buf := make([]byte, 512*size)
	for pos := int64(0); ; {
		n, err := file.ReadAt(buf, pos)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		whole := buf[:n-n%size]
		for b := whole; len(b) > 0; b = b[size:] {
			if !fn(b[:size]) {
				return nil
			}
		}
		if len(whole) < len(buf) {
			return nil
		}
		pos += int64(len(whole))
	}
}

// ProducerSnapshot is one producer of a .snapshot file.
type ProducerSnapshot struct {
	ProducerID       int64
	ProducerEpoch    int16
	CoordinatorEpoch int32 // -1 before the first marker
	TxnFirstOffset   int64 // of the open transaction, -1 when none is
	LastTimestamp    int64 // ms

	// The newest batch; HasBatch is false when none is remembered.
	HasBatch                    bool
	FirstSequence, LastSequence int32
	LastOffset                  int64
	OffsetDelta                 int32
}

// ReadProducers reads a .snapshot file of producers. What is wrong in it is
// told by a *CorruptError.
func ReadProducers(fsys vfs.FS, path string) ([]ProducerSnapshot, error) {
	data, err := readInspected(fsys, path)
	if err != nil {
		return nil, err
	}
	entries, err := decodeSnapshot(path, data)
	if err != nil {
		return nil, err
	}
	out := make([]ProducerSnapshot, 0, len(entries))
	for _, e := range entries {
		last := e.lastBatch()
		p := ProducerSnapshot{ProducerID: e.id, ProducerEpoch: e.epoch, CoordinatorEpoch: e.coordinatorEpoch,
			TxnFirstOffset: e.txnFirstOffset, LastTimestamp: e.lastTimestamp}
		if e.batches > 0 {
			p.HasBatch, p.FirstSequence, p.LastSequence = true, last.firstSequence(), last.lastSequence
			p.LastOffset, p.OffsetDelta = last.lastOffset, last.offsetDelta
		}
		out = append(out, p)
	}
	return out, nil
}

// ReadCheckpointRows reads the fields of each line of a checkpoint file, in the
// order of the file: 3 for topic, partition, offset, 2 for epoch and start.
// What is wrong in it is told by a *CorruptError; the rows before it are there.
func ReadCheckpointRows(fsys vfs.FS, path string, fields int) (rows [][]string, err error) {
	data, err := readInspected(fsys, path)
	if err != nil {
		return nil, err
	}
	err = parseCheckpoint(path, data, fields, func(row []string) error {
		rows = append(rows, row)
		return nil
	})
	return rows, err
}

func readInspected(fsys vfs.FS, path string) ([]byte, error) {
	info, err := fsys.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxInspected {
		return nil, fmt.Errorf("%w: %s has %d bytes, more than such a file can have", ErrMalformed, path, info.Size())
	}
	return vfs.ReadFile(fsys, path)
}

// ReadDirMeta reads meta.properties of a data directory of the operating
// system; fs.ErrNotExist when there is none.
func ReadDirMeta(dir string) (MetaProperties, error) { return ReadMetaProperties(vfs.OS(), dir) }
