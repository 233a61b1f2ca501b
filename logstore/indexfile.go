package logstore

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"minibroker/internal/vfs"
)

// tailEntries is how many of the newest entries of an index stay in memory at
// least, once that many were written: those are what consumers near the end
// ask for, and Kafka's search tries the same 8 KiB first.
const tailEntries = 1024

// indexFile is what offset and time indexes have in common: a file of slots of
// one size, filled from the front, with zeros behind the last entry and no
// count anywhere. While the segment takes appends the file has its full size
// and the newest entries are kept in memory; a file found on disk counts as
// full up to its last whole slot. The full size comes after a start, not in it:
// with the first append or when the log settles.
//
// One goroutine appends, truncates and resizes; any number may look up at the
// same time. Files are written with WriteAt, never through a memory map: a full
// disk is then an error and not a signal.
type indexFile struct {
	fsys      vfs.FS
	entrySize int
	fullSize  int64 // of an active index, a multiple of entrySize
	path      string
	dirty     atomic.Bool // written to since the last sync
	scratch   [16]byte    // the appender's, an entry on its way to the file

	mu     sync.RWMutex
	file   vfs.File // open from ensureOpen or keepOpen to park, nil otherwise
	known  bool     // the fields below say what is on disk
	exists bool
	closed bool
	idle   bool   // took no entry since it was found or made
	grows  bool   // gets its full size with the first entry, or by grow
	stale  bool   // what the file holds counts for nothing
	size   int64  // of the file; 0 when there is none
	count  int    // entries
	tail   []byte // the newest entries
	from   int    // slot of the first entry in tail
}

func (x *indexFile) init(fsys vfs.FS, path string, entrySize, maxBytes int) {
	x.fsys, x.path, x.entrySize = fsys, path, entrySize
	x.fullSize = int64(maxBytes - maxBytes%entrySize)
}

// learnLocked finds out size and count without creating anything.
func (x *indexFile) learnLocked() error {
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
		x.size, x.exists = info.Size(), true
	}
	x.count = int(x.size / int64(x.entrySize))
	x.from = x.count
	x.known = true
	return nil
}

// ensureLocked opens the file for appending; a missing one is created at full
// size, as sparse as the file system allows.
func (x *indexFile) ensureLocked() error {
	if err := x.learnLocked(); err != nil {
		return err
	}
	if x.file != nil {
		x.idle = false
		return x.growLocked()
	}
	file, err := x.fsys.OpenFile(x.path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if file, err = x.fsys.OpenFile(x.path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
			return err
		}
		if err = file.Truncate(x.fullSize); err != nil {
			return errors.Join(err, file.Close())
		}
		x.dirty.Store(true)
		x.size, x.exists, x.count, x.from, x.tail = x.fullSize, true, 0, 0, nil
		x.grows, x.stale = false, false
	}
	if err != nil {
		return err
	}
	x.file, x.idle = file, false
	return x.growLocked()
}

// growLocked gives the file the size that appends need, if it waits for that.
func (x *indexFile) growLocked() error {
	if !x.grows {
		return nil
	}
	if x.stale {
		if err := x.resizeLocked(0); err != nil {
			return err
		}
	}
	if err := x.resizeLocked(x.fullSize); err != nil {
		return err
	}
	x.grows = false
	return nil
}

// growLater leaves the full size to the first append or to grow: whichever
// comes first.
func (x *indexFile) growLater() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.grows, x.idle = true, true
	return x.parkLocked()
}

// grow gives the file its full size if it waits for that.
func (x *indexFile) grow() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil
	}
	return x.growLocked()
}

// noteEmpty is told by who has listed the directory that the file exists, and
// that nothing in it counts: the segment is empty.
func (x *indexFile) noteEmpty() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.known, x.exists, x.stale = true, true, true
	x.size, x.count, x.from, x.tail = 0, 0, 0, nil
}

// unused reports whether the index took no entry since it was found or made.
func (x *indexFile) unused() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.idle
}

// trimUnused does as trim for an index that took no entry. One that nobody has
// even looked at is as the last stop left it.
func (x *indexFile) trimUnused() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || !x.known {
		return nil
	}
	return x.resizeLocked(int64(x.count) * int64(x.entrySize))
}

// append writes one entry into the next slot. Only the appender calls it, so
// the file is written under the read lock: look-ups go on meanwhile, and find
// the entry once it is counted.
func (x *indexFile) append(entry []byte) error {
	for err := errIndexParked; err != nil; { // again when it was parked in between
		if err = x.ensureOpen(); err == nil {
			err = x.write(entry)
		}
		if err != nil && err != errIndexParked {
			return err
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if kept := len(x.tail) / x.entrySize; kept >= 2*tailEntries {
		drop := kept - tailEntries
		x.tail = x.tail[:copy(x.tail, x.tail[drop*x.entrySize:])]
		x.from += drop
	}
	x.tail = append(x.tail, entry...)
	x.count++
	return nil
}

func (x *indexFile) write(entry []byte) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	switch {
	case x.closed:
		return errSegmentGone
	case x.file == nil:
		return errIndexParked
	}
	at := int64(x.count) * int64(x.entrySize)
	if at+int64(x.entrySize) > x.size {
		return fmt.Errorf("%w: %s has %d bytes", errIndexFull, x.path, x.size)
	}
	_, err := x.file.WriteAt(x.scratch[:copy(x.scratch[:], entry)], at)
	x.dirty.Store(true)
	return err
}

// slotsLocked is how many entries the file has room for.
func (x *indexFile) slotsLocked() int { return int(x.size / int64(x.entrySize)) }

// full reports whether at most spare slots are left.
func (x *indexFile) full(spare int) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.count >= x.slotsLocked()-spare
}

// entries is the number of entries, full slots of a file found on disk.
func (x *indexFile) entries() (int, error) {
	if err := x.rlockKnown(); err != nil {
		return 0, err
	}
	defer x.mu.RUnlock()
	return x.count, nil
}

// rlockKnown takes the read lock with size and count known; the caller gives it back unless there is an error. (A function that
// gives it back would be an allocation for each index entry.)
func (x *indexFile) rlockKnown() error {
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

// truncateLocked forgets the entries from count on. Their bytes stay in the
// file until they are written over.
func (x *indexFile) truncateLocked(count int) {
	if count >= x.count {
		return
	}
	x.count = count
	if x.from > count {
		x.from, x.tail = count, x.tail[:0]
		return
	}
	x.tail = x.tail[:(count-x.from)*x.entrySize]
}

// resizeLocked gives the file a size, creating it if it is missing. Entries
// that no longer fit are gone.
func (x *indexFile) resizeLocked(size int64) error {
	if err := x.learnLocked(); err != nil {
		return err
	}
	if x.exists && x.size == size && !x.stale {
		return nil
	}
	err := x.truncateFile(size)
	x.dirty.Store(true)
	if err != nil {
		return err
	}
	x.size, x.exists, x.stale = size, true, false
	x.truncateLocked(x.slotsLocked())
	return nil
}

func (x *indexFile) truncateFile(size int64) error {
	if x.file != nil {
		return x.file.Truncate(size)
	}
	if x.exists {
		return vfs.Truncate(x.fsys, x.path, size)
	}
	return writeNew(x.fsys, x.path, nil, size)
}

// resizeFull gives the file of the segment that is about to take appends its
// full size. Entries stay.
func (x *indexFile) resizeFull() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.resizeLocked(x.fullSize)
}

// createFull makes the file of a new segment at full size. It is not there yet.
func (x *indexFile) createFull() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.truncateFile(x.fullSize); err != nil {
		return err
	}
	x.dirty.Store(true)
	x.known, x.exists, x.size, x.idle = true, true, x.fullSize, true
	return nil
}

// createMissing makes the file if there is none.
func (x *indexFile) createMissing() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.learnLocked(); err != nil || x.exists {
		return err
	}
	return x.resizeLocked(x.fullSize)
}

// reset drops all entries and gives the file its full size.
func (x *indexFile) reset() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.learnLocked(); err != nil {
		return err
	}
	x.truncateLocked(0)
	return x.resizeLocked(x.fullSize)
}

// trim cuts the file to its entries: the segment takes no more appends. A
// missing file is created empty, as in Kafka.
func (x *indexFile) trim() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.learnLocked(); err != nil {
		return err
	}
	return x.resizeLocked(int64(x.count) * int64(x.entrySize))
}

// park lets go of descriptor and memory unless the index is in use; both come
// back when needed. It never waits.
func (x *indexFile) park() error {
	if !x.mu.TryLock() {
		return nil
	}
	defer x.mu.Unlock()
	return x.parkLocked()
}

// rest does as park, after whoever uses the index now.
func (x *indexFile) rest() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.parkLocked()
}

func (x *indexFile) parkLocked() error {
	x.tail, x.from = nil, x.count
	file := x.file
	x.file = nil
	if file == nil {
		return nil
	}
	return file.Close()
}

// sync makes the file durable. It holds no lock while the disk works: look-ups
// and appends go on.
func (x *indexFile) sync() error {
	if !x.dirty.Swap(false) {
		return nil
	}
	if err := syncFile(x.fsys, x.path); err != nil {
		x.dirty.Store(true)
		return err
	}
	return nil
}

// syncFile makes a file durable; one that is gone is fine.
func syncFile(fsys vfs.FS, path string) error {
	file, err := fsys.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// close ends all use. The file keeps its size.
func (x *indexFile) close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	return x.parkLocked()
}

// slots reads entries under the index's lock: from memory, else from the file
// through a window of at most a kilobyte, which makes a binary search in a
// large file a dozen small reads.
type slots struct {
	x      *indexFile
	file   vfs.File
	opened bool // by us
	window []byte
	first  int // slot of the window's first entry
}

const windowBytes = 1020 // divisible by the entry sizes 8 + 4 and 12

func (x *indexFile) slotsReader() slots { return slots{x: x} }

func (s *slots) done() {
	if s.opened {
		_ = s.file.Close() // only read from
	}
}

// at returns the entry in slot i. The search knows it stays in [lo, hi], so
// when these fit the window they are read at once.
func (s *slots) at(i, lo, hi int) ([]byte, error) {
	x := s.x
	size := x.entrySize
	if i >= x.from {
		at := (i - x.from) * size
		return x.tail[at : at+size], nil
	}
	if at := (i - s.first) * size; at >= 0 && at+size <= len(s.window) {
		return s.window[at : at+size], nil
	}
	first, n := i, 1
	if hi = min(hi, x.from-1); (hi-lo+1)*size <= windowBytes {
		first, n = lo, hi-lo+1
	}
	if err := s.read(first, n); err != nil {
		return nil, err
	}
	at := (i - first) * size
	return s.window[at : at+size], nil
}

func (s *slots) read(first, n int) error {
	if s.file == nil {
		if s.file = s.x.file; s.file == nil {
			file, err := s.x.fsys.OpenFile(s.x.path, os.O_RDONLY, 0)
			if err != nil {
				return err
			}
			s.file, s.opened = file, true
		}
	}
	size := s.x.entrySize
	if cap(s.window) < n*size {
		s.window = make([]byte, 0, windowBytes)
	}
	s.window, s.first = s.window[:n*size], first
	_, err := s.file.ReadAt(s.window, int64(first)*int64(size))
	if errors.Is(err, io.EOF) {
		err = &CorruptError{File: s.x.path, Offset: int64(first) * int64(size), Err: io.ErrUnexpectedEOF}
	}
	if err != nil {
		s.window = s.window[:0]
	}
	return err
}

// floor is the slot of the greatest entry at or below what compare looks for,
// -1 when there is none. compare tells how an entry relates to it.
//
// The slots are tried in Kafka's order, so that a damaged file, which nothing
// repairs, gives the same answers: the newest entries first, then the whole.
func (x *indexFile) floor(s *slots, compare func(entry []byte) int) (int, error) {
	return x.search(s, compare, func(lo int) int { return lo }, -1)
}

// ceiling is the slot of the smallest entry at or above what compare looks
// for, -1 when there is none.
func (x *indexFile) ceiling(s *slots, compare func(entry []byte) int) (int, error) {
	last := x.count - 1
	return x.search(s, compare, func(lo int) int {
		if lo == last {
			return -1
		}
		return lo + 1
	}, 0)
}

func (x *indexFile) search(s *slots, compare func(entry []byte) int, result func(lo int) int, below int) (int, error) {
	if x.count == 0 {
		return -1, nil
	}
	last := x.count - 1
	hot := max(0, last-8192/x.entrySize)
	entry, err := s.at(hot, hot, hot)
	if err != nil {
		return 0, err
	}
	lo, hi := hot, last
	if compare(entry) >= 0 {
		lo, hi = 0, hot
		if entry, err = s.at(0, 0, 0); err != nil {
			return 0, err
		}
		if compare(entry) > 0 {
			return below, nil
		}
	}
	for lo < hi {
		mid := int(uint(lo+hi+1) / 2)
		if entry, err = s.at(mid, lo, hi); err != nil {
			return 0, err
		}
		switch c := compare(entry); {
		case c > 0:
			hi = mid - 1
		case c < 0:
			lo = mid
		default:
			return mid, nil
		}
	}
	return result(lo), nil
}

// truncateFrom removes the entries whose relative offset, which offsetOf reads,
// lies at or above want.
func (x *indexFile) truncateFrom(want int64, offsetOf func(entry []byte) int64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.learnLocked(); err != nil {
		return err
	}
	s := x.slotsReader()
	defer s.done()
	slot, err := x.floor(&s, func(entry []byte) int { return cmp.Compare(offsetOf(entry), want) })
	if err != nil {
		return err
	}
	if slot < 0 {
		x.truncateLocked(0)
		return nil
	}
	entry, err := s.at(slot, slot, slot)
	if err != nil {
		return err
	}
	if offsetOf(entry) < want {
		slot++
	}
	x.truncateLocked(slot)
	return nil
}
