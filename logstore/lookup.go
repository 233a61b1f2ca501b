package logstore

import (
	"errors"
	"io"
	"math"

	"minibroker/record"
)

// errFound ends a walk through the records of a batch.
var errFound = errors.New("found")

// OffsetForTimestamp finds the first record from the log start on, below the
// offset upper, whose timestamp is ts (ms) or later, with the leader epoch it
// was appended in. found is false when there is none.
//
// Only one segment is searched, the first whose largest timestamp reaches ts:
// its time index names an offset below which all records are older. Segments
// that lie wholly below the log start and wait for retention are passed over;
// Kafka would search them and find nothing.
func (l *Log) OffsetForTimestamp(ts, upper int64) (offset, timestamp int64, epoch int32, found bool, err error) {
	var hit recordAt
	err = l.retry(func(v view) error {
		hit = recordAt{}
		start := l.start.Load()
		for i, s := range v.segments {
			if i+1 < len(v.segments) && v.segments[i+1].base <= start {
				continue
			}
			largest, err := s.retentionTimestamp()
			if err != nil {
				return err
			}
			if largest >= ts {
				hit, err = l.searchTimestamp(s, v.limit(i), ts)
				return err
			}
		}
		return nil
	})
	if err != nil || !hit.found || hit.offset >= upper {
		return -1, -1, -1, false, err
	}
	return hit.offset, hit.timestamp, hit.epoch, true, nil
}

// MaxTimestampOffset finds the record with the largest timestamp: the first of
// them in the first segment that has it. found is false when no record has a
// timestamp.
func (l *Log) MaxTimestampOffset() (offset, timestamp int64, epoch int32, found bool, err error) {
	var hit recordAt
	err = l.retry(func(v view) error {
		hit = recordAt{}
		best, bestTs, bestAt := -1, int64(noTimestamp), int64(0)
		for i, s := range v.segments {
			ts, at, err := s.largestTimestamp()
			if err != nil {
				return err
			}
			if ts > bestTs {
				best, bestTs, bestAt = i, ts, at
			}
		}
		if best < 0 {
			return nil
		}
		var err error
		s := v.segments[best]
		_, pos, err := s.index.lookup(bestAt)
		if err != nil {
			return err
		}
		hit, err = l.searchBatches(s, int64(pos), v.limit(best), bestTs, math.MinInt64)
		return err
	})
	if err != nil || !hit.found {
		return -1, -1, -1, false, err
	}
	return hit.offset, hit.timestamp, hit.epoch, true, nil
}

// retry runs a look-up on a view and again on a newer one while segments leave
// the log under it.
func (l *Log) retry(lookup func(view) error) error {
	for {
		if l.closed.Load() {
			return ErrClosed
		}
		err := lookup(l.view())
		if errors.Is(err, errSegmentGone) {
			continue
		}
		return l.storage("look up a timestamp", err)
	}
}

// limit is the end of the published bytes of segment i.
func (v view) limit(i int) int64 {
	if i == len(v.segments)-1 {
		return v.size
	}
	return v.segments[i].size.Load()
}

type recordAt struct {
	offset, timestamp int64
	epoch             int32
	found             bool
}

func (l *Log) searchTimestamp(s *segment, limit, ts int64) (recordAt, error) {
	start := l.start.Load()
	if err := s.trustIndexes(); err != nil {
		return recordAt{}, err
	}
	_, from, err := s.times.lookup(ts)
	if err != nil {
		return recordAt{}, err
	}
	_, pos, err := s.index.lookup(max(from, start))
	if err != nil {
		return recordAt{}, err
	}
	return l.searchBatches(s, int64(pos), limit, ts, start)
}

// searchBatches goes from pos to the first record with a timestamp of ts or
// later and an offset of start or later; only batches whose largest timestamp
// reaches ts are opened.
func (l *Log) searchBatches(s *segment, pos, limit, ts, start int64) (recordAt, error) {
	scan, done, err := s.scan(pos, limit)
	if err != nil {
		return recordAt{}, err
	}
	defer done()
	for {
		head, at, err := scan.next()
		if errors.Is(err, io.EOF) {
			return recordAt{}, nil
		}
		if errors.Is(err, errNoBatch) {
			err = s.corrupt(at, err)
		}
		if err != nil {
			return recordAt{}, err
		}
		if head.MaxTimestamp() < ts || head.LastOffset() < start {
			continue
		}
		hit, err := l.searchRecords(s, scan.file, at, head.Size(), ts, start)
		if err != nil || hit.found {
			return hit, err
		}
	}
}

func (l *Log) searchRecords(s *segment, file io.ReaderAt, at int64, size int, ts, start int64) (recordAt, error) {
	b := make(record.Batch, size) // the scan saw that the file holds as many
	if _, err := file.ReadAt(b, at); err != nil && !errors.Is(err, io.EOF) {
		return recordAt{}, err
	}
	var hit recordAt
	err := b.ForEach(l.config.Load().MaxDecompressedBytes, func(r *record.Record) error {
		if r.Timestamp < ts || r.Offset < start {
			return nil
		}
		hit = recordAt{offset: r.Offset, timestamp: r.Timestamp, epoch: b.LeaderEpoch(), found: true}
		return errFound
	})
	if err != nil && !errors.Is(err, errFound) {
		return recordAt{}, s.corrupt(at, err)
	}
	return hit, nil
}
