package logstore

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"

	"minibroker/internal/vfs"
)

// OffsetIndex maps offsets to positions in a segment's .log, sparsely: one
// entry about every index.interval.bytes. An entry of the .index file:
//
//	0  i32  last offset of the batch, minus the segment's base
//	4  i32  position of the batch's first byte
//	8
//
// Offsets and positions strictly increase. See indexFile for who may call what
// at the same time.
type OffsetIndex struct {
	base int64
	indexFile
}

const offsetEntrySize = 8

// openOffsetIndex describes the index at path; no file is touched yet.
// maxBytes is segment.index.bytes.
func openOffsetIndex(fsys vfs.FS, path string, base int64, maxBytes int) *OffsetIndex {
	x := &OffsetIndex{base: base}
	x.init(fsys, path, offsetEntrySize, maxBytes)
	return x
}

func entryOffset(entry []byte) int64   { return int64(int32(binary.BigEndian.Uint32(entry))) }
func entryPosition(entry []byte) int64 { return int64(int32(binary.BigEndian.Uint32(entry[4:]))) }

// relativeOffset is offset as stored in an index of a segment with this base.
func relativeOffset(offset, base int64) (int32, error) {
	if offset < base || offset-base > math.MaxInt32 {
		return 0, fmt.Errorf("%w: offset %d, base %d", errIndexOverflow, offset, base)
	}
	return int32(offset - base), nil
}

// append adds an entry: offset is the last one of the batch at pos. It must be
// greater than that of the last entry (errIndexOrder).
func (x *OffsetIndex) append(offset int64, pos int32) error {
	if err := x.ensureOpen(); err != nil {
		return err
	}
	last, _, err := x.last()
	if err != nil {
		return err
	}
	if n, err := x.entries(); err != nil || (n > 0 && offset <= last) {
		return cmp.Or(err, fmt.Errorf("%w: offset %d after %d in %s", errIndexOrder, offset, last, x.path))
	}
	relative, err := relativeOffset(offset, x.base)
	if err != nil {
		return err
	}
	var entry [offsetEntrySize]byte
	binary.BigEndian.PutUint32(entry[:], uint32(relative))
	binary.BigEndian.PutUint32(entry[4:], uint32(pos))
	return x.indexFile.append(entry[:])
}

// isFull reports whether the file has no slot for another entry.
func (x *OffsetIndex) isFull() bool { return x.full(0) }

// last is the newest entry; the base and position 0 when there is none.
func (x *OffsetIndex) last() (offset int64, pos int32, err error) {
	if err := x.rlockKnown(); err != nil {
		return 0, 0, err
	}
	defer x.mu.RUnlock()
	return x.entryAt(x.count - 1)
}

// entryAt reads the entry in a slot; slot -1 stands for the segment's start.
func (x *OffsetIndex) entryAt(slot int) (offset int64, pos int32, err error) {
	s := x.slotsReader()
	defer s.done()
	return x.entryFrom(&s, slot)
}

func (x *OffsetIndex) entryFrom(s *slots, slot int) (offset int64, pos int32, err error) {
	if slot < 0 {
		return x.base, 0, nil
	}
	entry, err := s.at(slot, slot, slot)
	if err != nil {
		return 0, 0, err
	}
	return x.base + entryOffset(entry), int32(entryPosition(entry)), nil
}

// lookup finds the entry with the greatest offset at or below target; the base
// and position 0 when there is none.
func (x *OffsetIndex) lookup(target int64) (offset int64, pos int32, err error) {
	if err := x.rlockKnown(); err != nil {
		return 0, 0, err
	}
	defer x.mu.RUnlock()
	s := x.slotsReader()
	defer s.done()
	want := target - x.base
	slot, err := x.floor(&s, func(entry []byte) int { return cmp.Compare(entryOffset(entry), want) })
	if err != nil {
		return 0, 0, err
	}
	return x.entryFrom(&s, slot)
}

// floorPosition is the position of the last entry whose batch begins at or
// below position most and ends below offset upper; 0 when there is none.
func (x *OffsetIndex) floorPosition(most, upper int64) (int64, error) {
	if err := x.rlockKnown(); err != nil {
		return 0, err
	}
	defer x.mu.RUnlock()
	s := x.slotsReader()
	defer s.done()
	slot, err := x.floor(&s, func(entry []byte) int {
		if entryPosition(entry) > most || x.base+entryOffset(entry) >= upper {
			return 1
		}
		return -1
	})
	if err != nil {
		return 0, err
	}
	_, pos, err := x.entryFrom(&s, slot)
	return int64(pos), err
}

// ceilingOffset is the offset of the first entry whose batch begins at or
// behind pos; ok is false when there is none.
func (x *OffsetIndex) ceilingOffset(pos int64) (offset int64, ok bool, err error) {
	if err := x.rlockKnown(); err != nil {
		return 0, false, err
	}
	defer x.mu.RUnlock()
	s := x.slotsReader()
	defer s.done()
	slot, err := x.ceiling(&s, func(entry []byte) int { return cmp.Compare(entryPosition(entry), pos) })
	if err != nil || slot < 0 {
		return 0, false, err
	}
	offset, _, err = x.entryFrom(&s, slot)
	return offset, err == nil, err
}

// truncateTo removes the entries with offsets at or above offset.
func (x *OffsetIndex) truncateTo(offset int64) error {
	return x.truncateFrom(offset-x.base, entryOffset)
}
