package logstore

import (
	"errors"
	"io"
	"time"
)

// Segment is one segment of a log as the cleaner looks at it. It may leave the
// log at any time; what needs its files then answers ErrSegmentGone.
type Segment struct{ s *segment }

// ErrSegmentGone says that a segment left the log meanwhile: its partition was
// removed, its records were deleted, or the log was closed.
var ErrSegmentGone = errors.New("the segment is no longer part of the log")

// Segments lists the segments, oldest first. The last one takes the appends.
func (l *Log) Segments() []Segment {
	list := *l.segments.Load()
	all := make([]Segment, len(list))
	for i, s := range list {
		all[i].s = s
	}
	return all
}

// Closed reports whether the log takes no more calls.
func (l *Log) Closed() bool { return l.closed.Load() }

// Base is the segment's base offset.
func (s Segment) Base() int64 { return s.s.base }

// Size is the bytes of its batches.
func (s Segment) Size() int64 { return s.s.size.Load() }

// String describes the segment as Kafka's log lines do.
func (s Segment) String() string { return s.s.String() }

// gone translates the package's own error for a segment that left.
func gone(err error) error {
	if errors.Is(err, errSegmentGone) {
		return ErrSegmentGone
	}
	return err
}

// IndexBytes is the size of the entries of both indexes.
func (s Segment) IndexBytes() (offsets, times int64, err error) {
	n, err := s.s.index.entries()
	if err != nil {
		return 0, 0, gone(err)
	}
	m, err := s.s.times.entries()
	return int64(n) * offsetEntrySize, int64(m) * timeEntrySize, gone(err)
}

// LargestTimestamp is the largest batch timestamp in ms, or the .log file's
// modification time when no batch has one.
func (s Segment) LargestTimestamp() (int64, error) {
	ts, err := s.s.retentionTimestamp()
	return ts, gone(err)
}

// FirstTimestamp is the largest timestamp of the first batch in ms; -1 when
// there is none.
func (s Segment) FirstTimestamp() (int64, error) {
	scan, done, err := s.s.scan(0, s.s.size.Load())
	if err != nil {
		return 0, gone(err)
	}
	defer done()
	head, at, err := scan.next()
	if errors.Is(err, io.EOF) {
		return noTimestamp, nil
	}
	if errors.Is(err, errNoBatch) {
		return 0, s.s.corrupt(at, err)
	}
	if err != nil {
		return 0, err
	}
	return head.MaxTimestamp(), nil
}

// Modified is the .log file's modification time.
func (s Segment) Modified() (time.Time, error) { return s.s.modified() }

// PositionFor is a batch boundary at or before the batch that holds offset, as
// the offset index tells it; 0 for offsets below the base.
func (s Segment) PositionFor(offset int64) (int64, error) {
	if offset <= s.s.base {
		return 0, nil
	}
	if err := s.s.trustIndexes(); err != nil {
		return 0, gone(err)
	}
	_, pos, err := s.s.index.lookup(offset)
	return int64(pos), gone(err)
}

// Open pins the segment's batches: they stay readable until the range is
// released, even when the segment leaves the log.
func (s Segment) Open() (*Range, error) {
	file, err := s.s.pin()
	if err != nil {
		return nil, gone(err)
	}
	return &Range{segment: s.s, file: file, size: s.s.size.Load()}, nil
}

// Corrupt locates an error at a byte position of the segment's .log file.
func (s Segment) Corrupt(pos int64, err error) error { return s.s.corrupt(pos, err) }

// AbortedTransactions lists the aborted transactions that may have records in
// [from, upper), in the order of their markers.
func (l *Log) AbortedTransactions(from, upper int64) ([]AbortedTxn, error) {
	var found []AbortedTxn
	list := *l.segments.Load()
	for _, s := range list[max(0, floorSegment(list, from)):] {
		part, complete, err := s.aborted.collect(from, upper)
		if err != nil {
			return nil, gone(err)
		}
		found = append(found, part...)
		if complete {
			break
		}
	}
	return found, nil
}

// LastRecord is the newest trace of a producer that the log must keep for it.
type LastRecord struct {
	Offset int64 // last offset of its newest data batch; -1 when none of its epoch is known
	Epoch  int16
}

// LastRecords gives the newest trace of each producer that the log remembers.
func (l *Log) LastRecords() map[int64]LastRecord {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[int64]LastRecord, len(l.producers.producers))
	for id, e := range l.producers.producers {
		all[id] = LastRecord{Offset: e.lastBatch().lastOffset, Epoch: e.epoch}
	}
	return all
}
