package logstore

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"minibroker/internal/vfs"
)

// Finding is one thing that is wrong with a stopped data directory.
type Finding struct {
	File   string
	Offset int64 // byte position, -1 when it is about the whole file
	Text   string
}

// String is one line for a person.
func (f Finding) String() string {
	if f.Offset < 0 {
		return f.File + ": " + f.Text
	}
	return fmt.Sprintf("%s at byte %d: %s", f.File, f.Offset, f.Text)
}

// Verify checks a data directory that no broker has open: every batch's size,
// checksum and place in the order of offsets; that index entries point at
// batches; that snapshots, epochs and checkpoints can be read and lie within
// the logs; and that there are no files nobody knows. It changes nothing. The
// error is of reading; what is wrong with the contents are findings.
func Verify(fsys vfs.FS, dir string) ([]Finding, error) { return verify(fsys, dir, nil) }

func verify(fsys vfs.FS, dir string, progress func(name string, done, total int)) ([]Finding, error) {
	v := &verifier{fsys: fsys, ends: make(map[TopicPartition]int64)}
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for i, e := range entries {
		if progress != nil && e.IsDir() {
			progress(e.Name(), i, len(entries))
		}
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() {
			v.topFile(path, e.Name())
			continue
		}
		name, err := parseDirName(e.Name())
		switch {
		case e.Name() == remoteIndexCacheDir:
		case err != nil:
			v.add(path, -1, "%v", err)
		case name.suffix == "":
			if err := v.partition(path, name.tp); err != nil {
				return v.found, err
			}
		}
	}
	return v.found, v.checkpoints(dir)
}

// tmpSuffix is of a file that is being written. A crash leaves it; it is
// written over when its turn comes.
const tmpSuffix = ".tmp"

type verifier struct {
	fsys  vfs.FS
	found []Finding
	ends  map[TopicPartition]int64 // log end offsets
}

func (v *verifier) add(file string, at int64, format string, args ...any) {
	v.found = append(v.found, Finding{File: file, Offset: at, Text: fmt.Sprintf(format, args...)})
}

// note turns an error about contents into a finding; others are passed on.
func (v *verifier) note(path string, err error) error {
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		v.add(corrupt.File, corrupt.Offset, "%v", corrupt.Err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("verify %s: %w", path, err)
	}
	return nil
}

func (v *verifier) topFile(path, name string) {
	switch name {
	case metaPropertiesName, lockName, cleanShutdownName, recoveryPointCheckpoint, logStartCheckpoint,
		replicationCheckpoint, cleanerCheckpoint, "bootstrap.checkpoint":
	default:
		if !strings.HasSuffix(name, tmpSuffix) && !strings.HasSuffix(name, malformedSuffix) {
			v.add(path, -1, "unknown file")
		}
	}
}

// checkpoints checks that each offset lies within its log.
func (v *verifier) checkpoints(dir string) error {
	for _, name := range []string{recoveryPointCheckpoint, logStartCheckpoint, replicationCheckpoint, cleanerCheckpoint} {
		path := filepath.Join(dir, name)
		offsets, err := ReadOffsetCheckpoint(v.fsys, path)
		if err := v.note(path, err); err != nil {
			return err
		}
		for tp, offset := range offsets {
			end, ok := v.ends[tp]
			if !ok {
				v.add(path, -1, "%s has no directory", tp)
			} else if offset < 0 || offset > end {
				v.add(path, -1, "%s: offset %d, the log ends at %d", tp, offset, end)
			}
		}
	}
	_, err := ReadMetaProperties(v.fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		v.add(filepath.Join(dir, metaPropertiesName), -1, "missing")
		return nil
	}
	return v.note(dir, err)
}

// partition checks one log.
func (v *verifier) partition(dir string, tp TopicPartition) error {
	entries, err := v.fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(entries))
	var bases []int64
	for _, e := range entries {
		names = append(names, e.Name())
		if base, suffix, ok := parseSegmentFileName(e.Name()); ok && suffix == logSuffix {
			bases = append(bases, base)
		}
	}
	slices.Sort(bases)
	end := int64(0)
	segments := make(map[int64]*verifiedSegment, len(bases))
	for i, base := range bases {
		upper := int64(-1)
		if i+1 < len(bases) {
			upper = bases[i+1]
		}
		s := &verifiedSegment{v: v, dir: dir, base: base, upper: upper}
		if err := s.batches(); err != nil {
			return err
		}
		segments[base] = s
		end = max(end, s.next)
	}
	v.ends[tp] = end
	for _, name := range names {
		if err := v.partitionFile(dir, name, segments, end); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) partitionFile(dir, name string, segments map[int64]*verifiedSegment, end int64) error {
	path := filepath.Join(dir, name)
	switch name {
	case leaderEpochCheckpointName:
		return v.epochs(path, end)
	case partitionMetadataName:
		_, err := readPartitionMetadata(v.fsys, dir)
		if errors.Is(err, fs.ErrNotExist) { // empty, after a power loss soon after the creation: made again at the start
			return nil
		}
		return v.note(path, err)
	case "quorum-state":
		return nil
	}
	base, suffix, ok := parseSegmentFileName(name)
	if strings.HasSuffix(name, ".checkpoint") || strings.HasSuffix(name, deletedSuffix) || strings.HasSuffix(name, tmpSuffix) || strings.HasSuffix(name, malformedSuffix) {
		return nil
	}
	if !ok {
		v.add(path, -1, "unknown file")
		return nil
	}
	s := segments[base]
	switch suffix {
	case logSuffix:
		return nil
	case indexSuffix, timeIndexSuffix, txnIndexSuffix:
		if s == nil {
			v.add(path, -1, "no %s file beside it", logSuffix)
			return nil
		}
		data, err := vfs.ReadFile(v.fsys, path)
		if err != nil {
			return err
		}
		s.index(path, suffix, data)
	case snapshotSuffix:
		return v.snapshot(path, base, end)
	default:
		v.add(path, -1, "left over from an interrupted operation")
	}
	return nil
}

func (v *verifier) epochs(path string, end int64) error {
	data, err := vfs.ReadFile(v.fsys, path)
	if err != nil {
		return err
	}
	entries, err := parseLeaderEpochs(path, data)
	if err := v.note(path, err); err != nil {
		return err
	}
	if err == nil && len(data) > 0 && !bytes.Equal(formatLeaderEpochs(entries), data) {
		v.add(path, -1, "entries do not ascend")
	}
	for _, e := range entries {
		if e.start > end {
			v.add(path, -1, "epoch %d starts at %d, the log ends at %d", e.epoch, e.start, end)
		}
	}
	return nil
}

func (v *verifier) snapshot(path string, offset, end int64) error {
	data, err := vfs.ReadFile(v.fsys, path)
	if err != nil {
		return err
	}
	if _, err := decodeSnapshot(path, data); err != nil {
		return v.note(path, err)
	}
	if offset > end {
		v.add(path, -1, "snapshot at %d, the log ends at %d", offset, end)
	}
	return nil
}

// verifiedSegment is what the walk over a .log found.
type verifiedSegment struct {
	v     *verifier
	dir   string
	base  int64
	upper int64 // base of the next segment, -1 for the last
	next  int64
	found []verifiedBatch
}

type verifiedBatch struct {
	pos, last, maxTimestamp int64
	control                 bool
}

func (s *verifiedSegment) batches() error {
	path := filepath.Join(s.dir, segmentFileName(s.base, logSuffix))
	file, err := s.v.fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	s.next = s.base
	walk := batchWalk{file: file, limit: info.Size(), buf: make([]byte, 64<<10)}
	for {
		at := walk.pos
		b, err := walk.next()
		switch {
		case errors.Is(err, io.EOF) && at < info.Size():
			s.v.add(path, at, "%d bytes that are no whole batch", info.Size()-at)
			return nil
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errBadBatch):
			s.v.add(path, at, "%v", err)
			return nil
		case err != nil:
			return err
		}
		if b.BaseOffset() < s.next || (s.upper >= 0 && b.LastOffset() >= s.upper) {
			s.v.add(path, at, "batch with offsets %d to %d, expected from %d on (next segment %d)", b.BaseOffset(), b.LastOffset(), s.next, s.upper)
		}
		s.next = max(s.next, b.NextOffset())
		s.found = append(s.found, verifiedBatch{pos: at, last: b.LastOffset(), maxTimestamp: b.MaxTimestamp(), control: b.IsControl()})
	}
}

// index checks the entries of one of the segment's index files.
func (s *verifiedSegment) index(path, suffix string, data []byte) {
	size, check := abortedEntrySize, s.abortedEntry
	switch suffix {
	case indexSuffix:
		size, check = offsetEntrySize, s.offsetEntry
	case timeIndexSuffix:
		size, check = timeEntrySize, s.timeEntry
	}
	if len(data)%size != 0 {
		s.v.add(path, int64(len(data)), "size is no multiple of %d", size)
	}
	used := withoutZeros(data) // an index in use ends with zeros
	var last []byte
	for at := 0; at < used && at+size <= len(data); at += size {
		entry := data[at : at+size]
		if text := check(entry, last); text != "" {
			s.v.add(path, int64(at), "%s", text)
		}
		last = entry
	}
}

func (s *verifiedSegment) offsetEntry(entry, last []byte) string {
	offset, pos := s.base+entryOffset(entry), entryPosition(entry)
	if last != nil && entryOffset(last) >= entryOffset(entry) {
		return fmt.Sprintf("offset %d after %d", offset, s.base+entryOffset(last))
	}
	i, ok := slices.BinarySearchFunc(s.found, pos, func(b verifiedBatch, pos int64) int { return cmp.Compare(b.pos, pos) })
	if !ok || s.found[i].last != offset {
		return fmt.Sprintf("no batch at %d with last offset %d", pos, offset)
	}
	return ""
}

func (s *verifiedSegment) timeEntry(entry, last []byte) string {
	ts, offset := entryTimestamp(entry), s.base+entryTimeOffset(entry)
	if last != nil && (entryTimestamp(last) >= ts || entryTimeOffset(last) > entryTimeOffset(entry)) {
		return fmt.Sprintf("timestamp %d at offset %d after %d at %d", ts, offset, entryTimestamp(last), s.base+entryTimeOffset(last))
	}
	if b, ok := s.ending(offset); !ok || b.maxTimestamp != ts {
		return fmt.Sprintf("no batch with last offset %d and timestamp %d", offset, ts)
	}
	return ""
}

func (s *verifiedSegment) abortedEntry(entry, _ []byte) string {
	t, err := parseAborted(entry)
	if err != nil {
		return err.Error()
	}
	if b, ok := s.ending(t.LastOffset); !ok || !b.control || t.FirstOffset > t.LastOffset || int64(binary.BigEndian.Uint64(entry[2:])) < 0 {
		return fmt.Sprintf("no marker for %+v", t)
	}
	return ""
}

// ending finds the batch whose last offset is the given one.
func (s *verifiedSegment) ending(offset int64) (verifiedBatch, bool) {
	i, ok := slices.BinarySearchFunc(s.found, offset, func(b verifiedBatch, offset int64) int { return cmp.Compare(b.last, offset) })
	if !ok {
		return verifiedBatch{}, false
	}
	return s.found[i], true
}

// withoutZeros is the length of data without the zeros at its end, found a
// block at a time: an index has 10 MiB of them.
func withoutZeros(data []byte) int {
	var zeros [4096]byte
	for len(data) >= len(zeros) && bytes.Equal(data[len(data)-len(zeros):], zeros[:]) {
		data = data[:len(data)-len(zeros)]
	}
	return len(bytes.TrimRight(data, "\x00"))
}
