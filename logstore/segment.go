package logstore

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// errSegmentGone tells a reader that holds an old list of segments to look
// again.
var errSegmentGone = errors.New("segment left the log")

// noTimestamp is the largest timestamp of a segment that has none.
const noTimestamp = record.NoTimestamp

// segment is one .log file and its indexes. Bytes below size never change.
type segment struct {
	log      *Log
	base     int64
	opened   time.Time // of this object, not of the file
	jitterMs int64

	index   *OffsetIndex
	times   *TimeIndex
	aborted *TxnIndex

	// waiting is what the file names end in until the segment has taken the
	// place of others: ".cleaned", then ".swap". nil for all other segments.
	waiting atomic.Pointer[string]

	size atomic.Int64 // bytes of whole batches
	used atomic.Bool  // since the clock hand of openFiles passed

	unchecked atomic.Bool // the indexes were found on disk and not looked at yet
	checkMu   sync.Mutex  // one look at a time; taken before mu
	rebuilt   bool        // the indexes, since the segment was opened; guarded by checkMu
	found     bool        // on disk, and not recovered; guarded by Log.mu
	indexed   bool        // both indexes were found on disk

	firstKnown bool   // firstTimestamp is; guarded by Log.mu, and here for the room that flags share
	walkedEnd  *int64 // the offset after the last batch, as the loader's walk found it

	// Guarded by Log.mu: only the appender and the loader touch them.
	sinceIndex     int64 // bytes appended since the last index entry
	firstTimestamp int64 // max timestamp of the first batch

	mu           sync.Mutex
	file         vfs.File // nil while closed
	pins         int
	gone         bool
	largestKnown bool
	largest      int64 // timestamp, noTimestamp if none
	largestAt    int64 // last offset of the batch that brought it
}

// newSegment describes the segment at base; nothing is opened or created.
func newSegment(l *Log, base int64, cfg *Config) *segment {
	s := &segment{log: l, base: base, opened: time.Now(), jitterMs: rollJitter(cfg)}
	index, times, aborted := s.indexPaths()
	s.index = openOffsetIndex(l.env.fsys, index, base, cfg.IndexBytes)
	s.times = openTimeIndex(l.env.fsys, times, base, cfg.IndexBytes)
	s.aborted = openTxnIndex(l.env.fsys, aborted, base)
	return s
}

// indexPaths are the paths of a new segment's indexes, in one piece of memory.
func (s *segment) indexPaths() (index, times, aborted string) {
	if s.base < 0 {
		return s.path(indexSuffix), s.path(timeIndexSuffix), s.path(txnIndexSuffix)
	}
	dir, suffixes := s.log.Dir(), [...]string{indexSuffix, timeIndexSuffix, txnIndexSuffix}
	const longest = 1 + 20 + len(timeIndexSuffix) // with the separator and the offset
	var all strings.Builder
	all.Grow(len(suffixes) * (len(dir) + longest))
	var ends [len(suffixes)]int
	var room [64]byte
	for i, suffix := range suffixes {
		all.WriteString(dir)
		all.WriteByte(filepath.Separator)
		all.Write(appendSegmentFileName(room[:0], s.base, suffix))
		ends[i] = all.Len()
	}
	text := all.String()
	return text[:ends[0]], text[ends[0]:ends[1]], text[ends[1]:]
}

// rollJitter spreads the rolls of segments that began at the same time.
func rollJitter(cfg *Config) int64 {
	most := min(cfg.SegmentJitterMs, cfg.SegmentMs)
	if most <= 0 {
		return 0
	}
	return rand.Int64N(math.MaxInt32) % most
}

// createSegment makes the .log file; the indexes follow when first used.
func createSegment(l *Log, base int64, cfg *Config) (*segment, error) {
	s := newSegment(l, base, cfg)
	if err := s.create(); err != nil {
		return nil, err
	}
	if cfg.Preallocate {
		if err := s.file.Truncate(int64(cfg.SegmentBytes)); err != nil {
			return nil, errors.Join(err, s.retire())
		}
	}
	l.env.files.opened(s)
	return s, nil
}

// create makes the .log file of a segment that nobody else knows yet.
func (s *segment) create() error {
	file, err := s.log.env.fsys.OpenFile(s.path(logSuffix), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	s.file, s.largestKnown = file, true
	s.largest, s.largestAt = noTimestamp, s.base
	return nil
}

// path is the segment's file with this suffix, in the log's directory.
func (s *segment) path(suffix string) string {
	if end := s.waiting.Load(); end != nil {
		suffix += *end
	}
	return s.log.Dir() + string(filepath.Separator) + segmentFileName(s.base, suffix)
}

// String describes the segment as Kafka's log lines do.
func (s *segment) String() string {
	modified := int64(0)
	if at, err := s.modified(); err == nil {
		modified = at.UnixMilli()
	}
	s.mu.Lock()
	largest := int64(noTimestamp)
	if s.largestKnown {
		largest = s.largest
	}
	s.mu.Unlock()
	return "LogSegment(baseOffset=" + strconv.FormatInt(s.base, 10) +
		", size=" + strconv.FormatInt(s.size.Load(), 10) +
		", lastModifiedTime=" + strconv.FormatInt(modified, 10) +
		", largestRecordTimestamp=" + strconv.FormatInt(largest, 10) + ")"
}

// pin opens the file if needed and keeps it open until unpin.
func (s *segment) pin() (vfs.File, error) {
	s.mu.Lock()
	if s.gone {
		s.mu.Unlock()
		return nil, errSegmentGone
	}
	file, fresh := s.file, false
	if file == nil {
		var err error
		if file, err = s.log.env.fsys.OpenFile(s.path(logSuffix), os.O_RDWR, 0); err != nil {
			s.mu.Unlock()
			return nil, err
		}
		s.file, fresh = file, true
	}
	s.pins++
	s.mu.Unlock()
	if !s.used.Load() {
		s.used.Store(true)
	}
	if fresh {
		s.log.env.files.opened(s)
	}
	return file, nil
}

// unpin undoes one pin; the last one closes the file of a segment that is gone.
func (s *segment) unpin() {
	s.mu.Lock()
	s.pins--
	var file vfs.File
	idle := s.pins == 0
	if idle && s.gone {
		file, s.file = s.file, nil
	}
	s.mu.Unlock()
	if file != nil {
		_ = file.Close() // read only since it is gone; nothing can be lost
	}
	if files := s.log.env.files; idle && files.over() {
		files.shed(s)
	}
}

// retire takes the segment out of use: readers find errSegmentGone, the file
// is closed when the last pin goes.
func (s *segment) retire() error {
	s.mu.Lock()
	var file vfs.File
	already := s.gone
	s.gone = true
	if s.pins == 0 {
		file, s.file = s.file, nil
	}
	s.mu.Unlock()
	if already {
		return nil
	}
	s.log.env.files.forget(s)
	err := errors.Join(s.index.close(), s.times.close(), s.aborted.close())
	if file != nil {
		err = errors.Join(err, file.Close())
	}
	return err
}

// closeIfIdle closes the file unless it is pinned or was used since the last
// call. It reports whether the file is closed now.
func (s *segment) closeIfIdle() bool {
	if s.used.Swap(false) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pins > 0 {
		return false
	}
	if s.file != nil {
		_ = s.file.Close() // nothing is buffered; a later sync opens it again
		s.file = nil
	}
	_, _ = s.index.park(), s.times.park() // likewise
	return true
}

// modified is the .log file's modification time.
func (s *segment) modified() (time.Time, error) {
	s.mu.Lock() // the file may be about to get another name
	defer s.mu.Unlock()
	info, err := s.log.env.fsys.Stat(s.path(logSuffix))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// largestTimestamp is the largest batch timestamp so far and the last offset
// of the batch that brought it: noTimestamp and the base when there is none.
// A segment opened from disk takes them from its last time index entry.
func (s *segment) largestTimestamp() (ts, offset int64, err error) {
	if err := s.trustIndexes(); err != nil {
		return 0, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.largestLocked()
}

func (s *segment) largestLocked() (ts, offset int64, err error) {
	if !s.largestKnown {
		ts, offset, err := s.times.lastEntry()
		if err != nil {
			return 0, 0, err
		}
		s.largest, s.largestAt, s.largestKnown = ts, offset, true
	}
	return s.largest, s.largestAt, nil
}

// retentionTimestamp is what the age of the segment is measured by, in ms:
// the largest timestamp, or the file's modification time without one.
func (s *segment) retentionTimestamp() (int64, error) {
	ts, _, err := s.largestTimestamp()
	if err != nil || ts >= 0 {
		return ts, err
	}
	at, err := s.modified()
	return at.UnixMilli(), err
}

// write appends set at the end of the file. What a failed write left behind is
// cut off again.
func (s *segment) write(set []byte) error {
	file, err := s.pin()
	if err != nil {
		return err
	}
	defer s.unpin()
	at := s.size.Load()
	if _, err := file.WriteAt(set, at); err != nil {
		return errors.Join(err, file.Truncate(at))
	}
	return nil
}

// unwrite cuts the file back to the published size.
func (s *segment) unwrite() error {
	file, err := s.pin()
	if err != nil {
		return err
	}
	defer s.unpin()
	return file.Truncate(s.size.Load())
}

// readyIndexes makes the indexes ready for a set, and opens their files when an entry may be due: one that is not opened again for
// each append is what makes appends to very many partitions cheap.
func (s *segment) readyIndexes(a *appendSet, interval int64) error {
	before := s.sinceIndex // at the last batch of the set at most
	if a.count > 1 {
		before += int64(len(a.bytes))
	}
	if before > interval {
		return errors.Join(s.index.ensureOpen(), s.times.ensureOpen())
	}
	return errors.Join(s.index.ensure(), s.times.ensure())
}

// addToIndexes writes the entries due for the batches of set, the first of
// which stands at pos:
//
//	the first batch of a segment gets none: the counter of bytes starts at 0;
//	a batch gets one when more than interval bytes went by since the last.
//
// The offset index maps the last offset of that batch to its first byte, the
// time index the largest timestamp so far to its offset.
func (s *segment) addToIndexes(set []byte, pos, interval int64) error {
	for len(set) > 0 {
		b := record.Batch(set)
		size := int64(b.Size())
		if err := s.noteTimestamp(b.MaxTimestamp(), b.LastOffset()); err != nil {
			return err
		}
		if s.sinceIndex > interval {
			if err := s.index.append(b.LastOffset(), int32(pos)); err != nil {
				return err
			}
			if err := s.times.maybeAppend(s.largest, s.largestAt, false); err != nil {
				return err
			}
			s.sinceIndex = 0
		}
		s.sinceIndex += size
		pos += size
		set = set[size:]
	}
	return nil
}

// indexingState is what addToIndexes changes in memory.
type indexingState struct{ sinceIndex, largest, largestAt int64 }

func (s *segment) indexingState() (indexingState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	largest, at, err := s.largestLocked()
	return indexingState{s.sinceIndex, largest, at}, err
}

// setIndexingState goes back to an earlier state after a failed append.
func (s *segment) setIndexingState(was indexingState) {
	s.sinceIndex = was.sinceIndex
	s.setLargest(was.largest, was.largestAt)
}

func (s *segment) noteTimestamp(ts, offset int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	largest, _, err := s.largestLocked()
	if err != nil {
		return err
	}
	if ts > largest {
		s.largest, s.largestAt = ts, offset
	}
	return nil
}

// first is the max timestamp of the segment's first batch, read from the file
// when it is not known; -1 for an empty segment.
func (s *segment) first() (int64, error) {
	if s.firstKnown {
		return s.firstTimestamp, nil
	}
	scan, done, err := s.scan(0, s.size.Load())
	if err != nil {
		return 0, err
	}
	defer done()
	head, _, err := scan.next()
	if errors.Is(err, io.EOF) {
		return noTimestamp, nil
	}
	if err != nil {
		return 0, err
	}
	s.firstTimestamp, s.firstKnown = head.MaxTimestamp(), true
	return s.firstTimestamp, nil
}

// scan pins the file and walks its headers in [pos, limit). done unpins.
func (s *segment) scan(pos, limit int64) (headerScan, func(), error) {
	file, err := s.pin()
	if err != nil {
		return headerScan{}, nil, err
	}
	env := s.log.env
	c := env.chunks.get()
	done := func() {
		env.chunks.put(c)
		s.unpin()
	}
	return headerScan{file: file, pos: pos, limit: limit, chunk: c}, done, nil
}

// seal makes the segment inactive: one more time index entry, both indexes cut
// to their entries, a preallocated .log cut to its size.
func (s *segment) seal(preallocated bool) error {
	if err := s.sealOpen(); err != nil {
		return err
	}
	if preallocated {
		if err := s.unwrite(); err != nil {
			return err
		}
	}
	return s.parkIndexes()
}

// sealForStop does as seal, for the active segment at a clean stop. One that took
// no append since the start or the creation is as a stop leaves it, mostly.
func (s *segment) sealForStop(preallocated bool) error {
	if s.index.unused() && s.times.unused() && !(preallocated && !s.found) {
		return errors.Join(s.index.trimUnused(), s.times.trimUnused())
	}
	return s.seal(preallocated)
}

// parkIndexes lets go of what appends to the indexes needed.
func (s *segment) parkIndexes() error { return errors.Join(s.index.rest(), s.times.rest()) }

// sealOpen does for the indexes what seal does, and leaves them open.
func (s *segment) sealOpen() error {
	if err := errors.Join(s.index.ensure(), s.times.ensure()); err != nil {
		return err
	}
	ts, offset, err := s.largestTimestamp()
	if err != nil {
		return err
	}
	if err := s.times.maybeAppend(ts, offset, true); err != nil {
		return err
	}
	return errors.Join(s.index.trim(), s.times.trim())
}

// sync makes all files of the segment durable.
func (s *segment) sync() error {
	file, err := s.pin()
	if err != nil {
		return err
	}
	defer s.unpin()
	return errors.Join(file.Sync(), s.index.sync(), s.times.sync(), s.aborted.sync())
}

// corrupt locates an error in the .log file.
func (s *segment) corrupt(pos int64, err error) error {
	return &CorruptError{File: s.path(logSuffix), Offset: pos, Err: err}
}

// fits reports whether the last offset of a batch can be indexed here.
func (s *segment) fits(last int64) bool {
	return last >= s.base && last-s.base <= math.MaxInt32
}

// discard takes the segment's files away by renaming them to .deleted; they
// are removed after the delay.
func (s *segment) discard(delay time.Duration) error {
	err := s.retire()
	due := time.Now().Add(delay)
	for _, f := range segmentFiles {
		from := s.path(f.suffix)
		to := from + deletedSuffix
		renameErr := s.log.env.fsys.Rename(from, to)
		if errors.Is(renameErr, os.ErrNotExist) {
			continue
		}
		if renameErr != nil {
			err = errors.Join(err, fmt.Errorf("delete segment %020d: %w", s.base, renameErr))
			continue
		}
		s.log.env.removals.add(removal{due: due, path: to, what: f.what})
	}
	return err
}

// segmentFiles are the kinds of files of a segment and Kafka's words for them.
var segmentFiles = [...]struct{ suffix, what string }{
	{logSuffix, "log"},
	{indexSuffix, "offset index"},
	{timeIndexSuffix, "time index"},
	{txnIndexSuffix, "transaction index"},
}
