package logstore

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"minibroker/internal/vfs"
)

// TimeIndex maps timestamps to offsets in a segment, sparsely. An entry of the
// .timeindex file:
//
//	0  i64  largest batch timestamp of the segment so far, ms
//	8  i32  last offset of the batch that brought it, minus the segment's base
//	12
//
// Timestamps strictly increase, offsets do not decrease. See indexFile for who
// may call what at the same time.
type TimeIndex struct {
	base int64
	indexFile
}

const timeEntrySize = 12

// openTimeIndex describes the index at path; no file is touched yet. maxBytes
// is segment.index.bytes.
func openTimeIndex(fsys vfs.FS, path string, base int64, maxBytes int) *TimeIndex {
	x := &TimeIndex{base: base}
	x.init(fsys, path, timeEntrySize, maxBytes)
	return x
}

func entryTimestamp(entry []byte) int64 { return int64(binary.BigEndian.Uint64(entry)) }
func entryTimeOffset(entry []byte) int64 {
	return int64(int32(binary.BigEndian.Uint32(entry[8:])))
}

// maybeAppend adds an entry if its timestamp is greater than the last one's.
// It is an error (errIndexOrder) if timestamp or offset go back, and
// errIndexFull if the index is full; skipFullCheck lets the entry written at
// the end of a segment take the slot that is kept for it.
func (x *TimeIndex) maybeAppend(ts, offset int64, skipFullCheck bool) error {
	if err := x.ensureOpen(); err != nil {
		return err
	}
	if !skipFullCheck && x.isFull() {
		return fmt.Errorf("%w: %s", errIndexFull, x.path)
	}
	lastTs, lastOffset, err := x.lastEntry()
	if err != nil {
		return err
	}
	n, err := x.entries()
	if err != nil {
		return err
	}
	if n > 0 && (offset < lastOffset || ts < lastTs) {
		return fmt.Errorf("%w: timestamp %d at offset %d after %d at %d in %s", errIndexOrder, ts, offset, lastTs, lastOffset, x.path)
	}
	if ts <= lastTs {
		return nil
	}
	relative, err := relativeOffset(offset, x.base)
	if err != nil {
		return err
	}
	var entry [timeEntrySize]byte
	binary.BigEndian.PutUint64(entry[:], uint64(ts))
	binary.BigEndian.PutUint32(entry[8:], uint32(relative))
	return x.append(entry[:])
}

// isFull reports whether only the slot for the last entry of the segment is
// left.
func (x *TimeIndex) isFull() bool { return x.full(1) }

// lastEntry is the newest entry; timestamp -1 and the base when there is none.
func (x *TimeIndex) lastEntry() (ts, offset int64, err error) {
	if err := x.rlockKnown(); err != nil {
		return 0, 0, err
	}
	defer x.mu.RUnlock()
	s := x.slotsReader()
	defer s.done()
	return x.entryFrom(&s, x.count-1)
}

func (x *TimeIndex) entryFrom(s *slots, slot int) (ts, offset int64, err error) {
	if slot < 0 {
		return noTimestamp, x.base, nil
	}
	entry, err := s.at(slot, slot, slot)
	if err != nil {
		return 0, 0, err
	}
	return entryTimestamp(entry), x.base + entryTimeOffset(entry), nil
}

// lookup finds the entry with the greatest timestamp at or below target; -1
// and the base when there is none.
func (x *TimeIndex) lookup(target int64) (ts, offset int64, err error) {
	if err := x.rlockKnown(); err != nil {
		return 0, 0, err
	}
	defer x.mu.RUnlock()
	s := x.slotsReader()
	defer s.done()
	slot, err := x.floor(&s, func(entry []byte) int { return cmp.Compare(entryTimestamp(entry), target) })
	if err != nil {
		return 0, 0, err
	}
	return x.entryFrom(&s, slot)
}

// truncateTo removes the entries with offsets at or above offset.
func (x *TimeIndex) truncateTo(offset int64) error {
	return x.truncateFrom(offset-x.base, entryTimeOffset)
}

// createEmpty creates the file with 0 bytes, as Kafka does for a segment found
// without one: it stays empty.
func (x *TimeIndex) createEmpty() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.resizeLocked(0)
}
