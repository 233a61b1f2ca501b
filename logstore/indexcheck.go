package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"minibroker/record"
)

// unindexed is how many index intervals a segment may reach without an entry
// before that counts as damage. It is not one, because the counter of bytes
// starts again at every start of the broker.
const unindexed = 64

// trustIndexes looks at the indexes of a segment that was found sealed, when
// they are about to be used for the first time: the last entry of each is held
// against the log. Indexes that do not fit are rebuilt; Kafka would use them as
// they are, and hide records or delete them too early.
func (s *segment) trustIndexes() error {
	if !s.unchecked.Load() {
		return nil
	}
	s.checkMu.Lock()
	defer s.checkMu.Unlock()
	if !s.unchecked.Load() {
		return nil
	}
	why, err := s.examineIndexes()
	if err != nil {
		return err
	}
	if why != "" {
		if err := s.rebuildIndexes(why); err != nil {
			return err
		}
	}
	s.unchecked.Store(false)
	return nil
}

// distrustIndexes rebuilds the indexes of a sealed segment after one of their
// entries led to no batch. It reports false if that was done before: then the
// log itself is damaged.
func (s *segment) distrustIndexes(cause error) (bool, error) {
	s.checkMu.Lock()
	defer s.checkMu.Unlock()
	if s.rebuilt {
		return false, nil
	}
	return true, s.rebuildIndexes(cause.Error())
}

// examineIndexes says what is wrong with the indexes, "" when they fit.
func (s *segment) examineIndexes() (why string, err error) {
	size := s.size.Load()
	if size == 0 {
		return "", nil
	}
	n, err := s.index.entries()
	if err != nil {
		return "", err
	}
	if s.index.odd() || s.times.odd() {
		return "size is no multiple of the entry size", nil
	}
	offset, pos, err := s.index.last()
	if err != nil {
		return "", err
	}
	if int64(pos) < 0 || int64(pos) >= size || (n > 1 && offset <= s.base) {
		return fmt.Sprintf("last entry is offset %d at %d", offset, pos), nil
	}
	last := int64(math.MinInt64)
	if n > 0 {
		last = offset
	}
	largest, why, err := s.walkTail(int64(pos), size, last)
	if err != nil || why != "" {
		return why, err
	}
	return s.examineTimes(largest)
}

// walkTail goes through the batches from pos to the end; the first one must end
// at offset, unless that is negative. It gives their largest timestamp.
func (s *segment) walkTail(pos, size, offset int64) (largest int64, why string, err error) {
	scan, done, err := s.scan(pos, size)
	if err != nil {
		return 0, "", err
	}
	defer done()
	largest = noTimestamp
	limit := int64(s.log.config.Load().IndexIntervalBytes) * unindexed
	for first := true; ; first = false {
		head, at, err := scan.next()
		switch {
		case errors.Is(err, io.EOF):
			return largest, "", nil
		case errors.Is(err, errNoBatch):
			return 0, fmt.Sprintf("entry for position %d: %v", pos, err), nil
		case err != nil:
			return 0, "", err
		case first && offset >= 0 && head.LastOffset() != offset:
			return 0, fmt.Sprintf("entry says offset %d at %d, the batch there ends at %d", offset, at, head.LastOffset()), nil
		case at-pos > limit:
			return 0, fmt.Sprintf("no entry behind position %d, the segment has %d bytes", pos, size), nil
		}
		largest = max(largest, head.MaxTimestamp())
	}
}

// examineTimes checks the last entry of the time index against the batch it
// names and against the largest timestamp behind the last offset index entry.
func (s *segment) examineTimes(largest int64) (why string, err error) {
	n, err := s.times.entries()
	if err != nil {
		return "", err
	}
	ts, offset, err := s.times.lastEntry()
	if err != nil {
		return "", err
	}
	if ts < largest {
		return fmt.Sprintf("time index ends with timestamp %d, the log has %d", ts, largest), nil
	}
	if n == 0 {
		return "", nil
	}
	_, pos, err := s.index.lookup(offset)
	if err != nil {
		return "", err
	}
	scan, done, err := s.scan(int64(pos), s.size.Load())
	if err != nil {
		return "", err
	}
	defer done()
	for {
		head, _, err := scan.next()
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errNoBatch) {
			return "", err
		}
		if err != nil || head.BaseOffset() > offset || (head.LastOffset() >= offset && head.MaxTimestamp() != ts) {
			return fmt.Sprintf("time index ends with timestamp %d at offset %d, which no batch has", ts, offset), nil
		}
		if head.LastOffset() >= offset {
			return "", nil
		}
	}
}

// rebuildIndexes writes both indexes anew from the headers of the log, by the
// rule of recovery.
func (s *segment) rebuildIndexes(why string) error {
	s.log.warn("LogSegment", fmt.Sprintf("Indexes of segment %s do not fit it (%s), rebuilding them.", s.path(logSuffix), why))
	scan, done, err := s.scan(0, s.size.Load())
	if err != nil {
		return err
	}
	defer done()
	build := indexBuild{base: s.base, interval: int64(s.log.config.Load().IndexIntervalBytes), largest: noTimestamp, written: noTimestamp}
	for {
		head, at, err := scan.next()
		if errors.Is(err, errNoBatch) {
			s.log.error("LogSegment", fmt.Sprintf("Segment %s holds no whole batch at byte %d; what follows cannot be read.", s.path(logSuffix), at))
		}
		if errors.Is(err, io.EOF) || errors.Is(err, errNoBatch) {
			break
		}
		if err != nil {
			return err
		}
		if err := build.add(head, at); err != nil {
			return err
		}
	}
	if err := build.addTime(); err != nil {
		return err
	}
	if err := errors.Join(s.index.replace(build.offsets), s.times.replace(build.times)); err != nil {
		return fmt.Errorf("rebuild indexes of segment %020d: %w", s.base, err)
	}
	s.mu.Lock()
	s.largestKnown = false
	s.mu.Unlock()
	s.log.recent.forget()
	s.rebuilt = true
	return nil
}

// indexBuild collects the entries of both indexes of one segment.
type indexBuild struct {
	base, interval     int64
	offsets, times     []byte
	lastEntry          int64 // position of the last offset entry
	largest, largestAt int64
	written            int64 // timestamp of the last time entry
}

func (b *indexBuild) add(head record.Batch, pos int64) error {
	if ts := head.MaxTimestamp(); ts > b.largest {
		b.largest, b.largestAt = ts, head.LastOffset()
	}
	if pos-b.lastEntry <= b.interval {
		return nil
	}
	b.lastEntry = pos
	relative, err := relativeOffset(head.LastOffset(), b.base)
	if err != nil {
		return err
	}
	b.offsets = binary.BigEndian.AppendUint32(b.offsets, uint32(relative))
	b.offsets = binary.BigEndian.AppendUint32(b.offsets, uint32(pos))
	return b.addTime()
}

func (b *indexBuild) addTime() error {
	if b.largest <= b.written {
		return nil
	}
	relative, err := relativeOffset(b.largestAt, b.base)
	if err != nil {
		return err
	}
	b.written = b.largest
	b.times = binary.BigEndian.AppendUint64(b.times, uint64(b.largest))
	b.times = binary.BigEndian.AppendUint32(b.times, uint32(relative))
	return nil
}

// odd reports whether the file ends inside an entry.
func (x *indexFile) odd() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.size%int64(x.entrySize) != 0
}

// replace gives the index of a sealed segment new contents. A crash in between
// leaves an index that does not fit, which is noticed again.
func (x *indexFile) replace(entries []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return errSegmentGone
	}
	if err := x.parkLocked(); err != nil {
		return err
	}
	file, err := x.fsys.OpenFile(x.path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	x.known = false
	x.dirty.Store(true)
	err = file.Truncate(0)
	if err == nil && len(entries) > 0 {
		_, err = file.WriteAt(entries, 0)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return x.learnLocked()
}
