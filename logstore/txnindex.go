package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"minibroker/internal/vfs"
)

// AbortedTxn is a transaction that was aborted, as readers of committed
// records need to know it.
type AbortedTxn struct {
	ProducerID       int64
	FirstOffset      int64 // of the transaction's first batch
	LastOffset       int64 // of the abort marker
	LastStableOffset int64 // after the marker
}

// TxnIndex lists the transactions aborted by markers in one segment, in the
// order of the markers. An entry of the .txnindex file:
//
//	0   i16  version 0
//	2   i64  producer id
//	10  i64  first offset of the transaction
//	18  i64  last offset: that of the abort marker
//	26  i64  last stable offset after it
//	34
//
// Trailing bytes that make no entry are ignored. The file is created with its
// first entry; most segments have none. It is opened for each use, because
// aborts are rare and a kept descriptor per segment is not cheap.
//
// One goroutine appends and truncates; any number may collect meanwhile.
type TxnIndex struct {
	fsys vfs.FS
	path string
	base int64

	dirty atomic.Bool // written to since the last sync

	mu     sync.RWMutex
	known  bool // size is
	none   bool // there is no file
	closed bool
	size   int64 // bytes of whole entries
	last   int64 // last offset of the newest entry appended or -1
}

const abortedEntrySize = 34

// openTxnIndex describes the index at path; no file is touched yet.
func openTxnIndex(fsys vfs.FS, path string, base int64) *TxnIndex {
	return &TxnIndex{fsys: fsys, path: path, base: base, last: -1}
}

// noteMissing is told by who has listed the directory that there is no file.
func (x *TxnIndex) noteMissing() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.known, x.none, x.size, x.last = true, true, 0, -1
}

func appendAborted(dst []byte, t AbortedTxn) []byte {
	dst = binary.BigEndian.AppendUint16(dst, 0)
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.ProducerID))
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.FirstOffset))
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.LastOffset))
	return binary.BigEndian.AppendUint64(dst, uint64(t.LastStableOffset))
}

func parseAborted(b []byte) (AbortedTxn, error) {
	if v := int16(binary.BigEndian.Uint16(b)); v != 0 {
		return AbortedTxn{}, fmt.Errorf("%w: aborted transaction entry version %d", ErrVersion, v)
	}
	return AbortedTxn{
		ProducerID:       int64(binary.BigEndian.Uint64(b[2:])),
		FirstOffset:      int64(binary.BigEndian.Uint64(b[10:])),
		LastOffset:       int64(binary.BigEndian.Uint64(b[18:])),
		LastStableOffset: int64(binary.BigEndian.Uint64(b[26:])),
	}, nil
}

func (x *TxnIndex) learnLocked() error {
	if x.closed {
		return errSegmentGone
	}
	if x.known {
		return nil
	}
	info, err := x.fsys.Stat(x.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		x.size = 0
	case err != nil:
		return err
	default:
		x.size = info.Size() - info.Size()%abortedEntrySize
	}
	if x.size > 0 {
		file, err := x.fsys.OpenFile(x.path, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer file.Close()
		var buf [abortedEntrySize]byte
		if _, err := file.ReadAt(buf[:], x.size-abortedEntrySize); err != nil {
			return err
		}
		x.last = int64(binary.BigEndian.Uint64(buf[18:]))
	}
	x.known = true
	return nil
}

// append adds an entry. Its last offset must be greater than the previous
// one's (errIndexOrder).
func (x *TxnIndex) append(t AbortedTxn) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.learnLocked(); err != nil {
		return err
	}
	if x.size > 0 && t.LastOffset <= x.last {
		return fmt.Errorf("%w: last offset %d after %d in %s", errIndexOrder, t.LastOffset, x.last, x.path)
	}
	file, err := x.fsys.OpenFile(x.path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	x.none = false
	_, err = file.WriteAt(appendAborted(nil, t), x.size)
	x.dirty.Store(true)
	if err != nil {
		return errors.Join(err, x.unwrite(file), file.Close())
	}
	x.size += abortedEntrySize
	x.last = t.LastOffset
	return file.Close()
}

// unwrite takes away what a failed append left, the file too if it is new: most
// segments have none.
func (x *TxnIndex) unwrite(file vfs.File) error {
	if x.size == 0 {
		return x.fsys.Remove(x.path)
	}
	return file.Truncate(x.size)
}

// each calls fn for the entries in order until it returns false.
func (x *TxnIndex) each(fn func(at int64, t AbortedTxn) bool) error {
	if x.size == 0 {
		return nil
	}
	file, err := x.fsys.OpenFile(x.path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	buf := make([]byte, min(x.size, 120*abortedEntrySize))
	for pos := int64(0); pos < x.size; {
		chunk := buf[:min(int64(len(buf)), x.size-pos)]
		if _, err := file.ReadAt(chunk, pos); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return &CorruptError{File: x.path, Offset: pos, Err: err}
		}
		for ; len(chunk) > 0; chunk = chunk[abortedEntrySize:] {
			t, err := parseAborted(chunk)
			if err != nil {
				return &CorruptError{File: x.path, Offset: pos, Err: err}
			}
			if !fn(pos, t) {
				return nil
			}
			pos += abortedEntrySize
		}
	}
	return nil
}

func (x *TxnIndex) rlockKnown() error {
	x.mu.RLock()
	if x.known && !x.closed {
		return nil
	}
	x.mu.RUnlock()
	x.mu.Lock()
	err := x.learnLocked()
	x.mu.Unlock()
	if err != nil {
		return err
	}
	x.mu.RLock()
	if x.closed {
		x.mu.RUnlock()
		return errSegmentGone
	}
	return nil
}

// collect returns the transactions that may have records in [fetchOffset,
// upper). complete means that no later segment can have more: the last stable
// offset had reached the upper bound.
func (x *TxnIndex) collect(fetchOffset, upper int64) (found []AbortedTxn, complete bool, err error) {
	if err := x.rlockKnown(); err != nil {
		return nil, false, err
	}
	defer x.mu.RUnlock()
	err = x.each(func(_ int64, t AbortedTxn) bool {
		if t.LastOffset >= fetchOffset && t.FirstOffset < upper {
			found = append(found, t)
		}
		complete = t.LastStableOffset >= upper
		return !complete
	})
	return found, complete, err
}

// sanityCheck reads the whole file. An entry that ended below the segment's
// base wraps ErrCorruptIndex; an unknown version is a *CorruptError of its own.
func (x *TxnIndex) sanityCheck() error {
	if err := x.rlockKnown(); err != nil {
		return err
	}
	defer x.mu.RUnlock()
	var bad error
	err := x.each(func(at int64, t AbortedTxn) bool {
		if t.LastOffset < x.base {
			bad = &CorruptError{File: x.path, Offset: at, Err: fmt.Errorf(
				"%w: last offset of aborted transaction %d is less than the segment's base offset %d", ErrCorruptIndex, t.LastOffset, x.base)}
		}
		return bad == nil
	})
	return errors.Join(err, bad)
}

// truncateTo removes the entries whose markers stand at or above offset.
func (x *TxnIndex) truncateTo(offset int64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.learnLocked(); err != nil {
		return err
	}
	keep, last := x.size, int64(-1)
	err := x.each(func(at int64, t AbortedTxn) bool {
		if t.LastOffset >= offset {
			keep = at
			return false
		}
		last = t.LastOffset
		return true
	})
	if err != nil || keep == x.size {
		return err
	}
	return x.cutLocked(keep, last)
}

// reset empties the file if there is one.
func (x *TxnIndex) reset() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return errSegmentGone
	}
	return x.cutLocked(0, -1)
}

func (x *TxnIndex) cutLocked(size, last int64) error {
	if x.none {
		return nil
	}
	file, err := x.fsys.OpenFile(x.path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		x.size, x.last, x.known = 0, -1, true
		return nil
	}
	if err != nil {
		return err
	}
	err = file.Truncate(size)
	x.dirty.Store(true)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	x.size, x.last, x.known = size, last, true
	return file.Close()
}

// sync makes the file durable. It holds no lock while the disk works.
func (x *TxnIndex) sync() error {
	if !x.dirty.Swap(false) {
		return nil
	}
	if err := syncFile(x.fsys, x.path); err != nil {
		x.dirty.Store(true)
		return err
	}
	return nil
}

// close ends all use.
func (x *TxnIndex) close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	return nil
}
