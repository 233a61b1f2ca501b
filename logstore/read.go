package logstore

import (
	"errors"
	"fmt"
	"io"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// ReadOptions bound a read.
type ReadOptions struct {
	// UpperBound is the first offset that must not be returned: high watermark,
	// last stable offset or end offset.
	UpperBound int64
	// MinOneMessage lets the first batch through even if it exceeds maxBytes. A read
	// without it finds nothing while too many files are in use.
	MinOneMessage bool
	// CollectAborted asks for the aborted transactions of the range.
	CollectAborted bool
	// Hold lets the range keep up to 4 KiB that the search for its end has read
	// anyway, so that sending it reads no file. It is for reads of few
	// partitions: what a fetch holds must not grow with their number.
	Hold bool
}

// ReadInfo is the answer to a read.
type ReadInfo struct {
	Records *Range // nil when there is nothing; else to be released once
	// Aborted are the transactions whose records in or near the range were
	// aborted, in the order of their markers.
	Aborted []AbortedTxn
	// NextOffset is where a reader goes on: an offset after the last batch in
	// Records and not after the next one; the offset asked for when empty.
	NextOffset int64
}

// Read returns whole batches from the one that holds offset on: as many as fit
// maxBytes and lie below the upper bound, of one segment. The first batch may
// begin below offset. ErrOffsetOutOfRange when offset is below the log start
// or above the end.
func (l *Log) Read(offset int64, maxBytes int, o ReadOptions) (ReadInfo, error) {
	for {
		info, err := l.read(offset, int64(maxBytes), o)
		if errors.Is(err, errSegmentGone) && !l.closed.Load() {
			continue // the list of segments changed under us
		}
		return info, err
	}
}

func (l *Log) read(offset, maxBytes int64, o ReadOptions) (ReadInfo, error) {
	if l.closed.Load() {
		return ReadInfo{}, ErrClosed
	}
	v := l.view()
	if start := l.start.Load(); offset < start || offset > v.end {
		return ReadInfo{}, fmt.Errorf("%w: %d is not in [%d, %d] of %s", ErrOffsetOutOfRange, offset, start, v.end, l.tp)
	}
	upper := min(o.UpperBound, v.end)
	empty := ReadInfo{NextOffset: offset}
	if offset >= upper || !o.MinOneMessage && (maxBytes <= 0 || l.env.files.crowded()) {
		if offset == v.end {
			l.recent.note(v.segments[len(v.segments)-1], offset, v.size)
		}
		return empty, nil
	}
	for i := floorSegment(v.segments, offset); i < len(v.segments) && v.segments[i].base < upper; i++ {
		r := segmentRead{log: l, segment: v.segments[i], offset: offset, upper: upper, maxBytes: maxBytes, minOne: o.MinOneMessage, hold: o.Hold}
		r.limit, r.limitNext = v.size, v.end
		if i+1 < len(v.segments) {
			r.limit, r.limitNext = r.segment.size.Load(), v.segments[i+1].base
		}
		found, err := r.run()
		if errors.Is(err, errNoBatch) && i+1 < len(v.segments) {
			again, rebuildErr := r.segment.distrustIndexes(err)
			if again && rebuildErr == nil {
				found, err = r.run()
			}
			err = errors.Join(err, rebuildErr)
		}
		if err != nil {
			return ReadInfo{}, l.readError(err)
		}
		if !found {
			continue // a gap at the segment's end
		}
		if r.end == r.pos {
			return empty, nil
		}
		info := ReadInfo{Records: &Range{segment: r.segment, file: r.file, pos: r.pos, size: r.end - r.pos, held: r.held, heldPos: r.heldPos},
			NextOffset: r.next}
		if o.CollectAborted {
			if info.Aborted, err = l.collectAborted(v, i, offset, r.end); err != nil {
				info.Records.Release()
				return ReadInfo{}, l.readError(err)
			}
		}
		return info, nil
	}
	return empty, nil
}

func (l *Log) readError(err error) error {
	if errors.Is(err, errSegmentGone) {
		if l.closed.Load() {
			return ErrClosed
		}
		return err
	}
	return l.storage("read", err)
}

// segmentRead is one read within one segment.
type segmentRead struct {
	log           *Log
	segment       *segment
	offset, upper int64
	maxBytes      int64
	minOne, hold  bool
	limit         int64 // end of the published bytes
	limitNext     int64 // offset that follows them

	file     vfs.File
	pos, end int64  // the range found
	next     int64  // offset after it
	held     *chunk // bytes of the file from heldPos on, the whole range among them
	heldPos  int64
}

// run finds the range. When it found one that is not empty, the segment stays
// pinned for it.
func (r *segmentRead) run() (found bool, err error) {
	if r.limit == 0 {
		return false, nil
	}
	if err := r.segment.trustIndexes(); err != nil {
		return false, err
	}
	file, err := r.segment.pin()
	if err != nil {
		return false, err
	}
	r.file = file
	scan := headerScan{file: file, limit: r.limit}
	defer func() {
		if scan.chunk != nil && r.held == nil {
			r.log.env.chunks.put(scan.chunk)
		}
		if !found || err != nil || r.end == r.pos {
			r.segment.unpin()
		}
	}()
	if found, err = r.locate(&scan); err != nil || !found {
		return false, err
	}
	if err = r.extend(&scan); err != nil {
		return false, err
	}
	if r.end > r.pos {
		r.log.recent.note(r.segment, r.next, r.end)
		if r.hold && scan.has(r.pos, r.end) {
			r.held, r.heldPos = scan.chunk, scan.chunkPos
		}
	}
	return true, nil
}

// locate finds the batch that holds the offset, or the first one after it.
func (r *segmentRead) locate(scan *headerScan) (bool, error) {
	if pos, ok := r.log.recent.find(r.segment, r.offset); ok {
		r.pos = pos
		return pos < r.limit, nil
	}
	if r.offset <= r.segment.base {
		r.pos = 0
		return true, nil
	}
	if err := r.segment.index.keepOpen(); err != nil {
		return false, err
	}
	entry, pos, err := r.segment.index.lookup(r.offset)
	if err != nil {
		return false, err
	}
	scan.pos = int64(pos)
	for {
		head, at, err := r.nextHeader(scan)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err == nil && at == int64(pos) && at > 0 && head.LastOffset() != entry {
			err = r.segment.corrupt(at, fmt.Errorf("%w: index says offset %d, found %d", errNoBatch, entry, head.LastOffset()))
		}
		if err != nil {
			return false, err
		}
		if head.LastOffset() >= r.offset {
			r.pos = at
			return true, nil
		}
	}
}

func (r *segmentRead) nextHeader(scan *headerScan) (head record.Batch, at int64, err error) {
	if scan.chunk == nil {
		scan.chunk = r.log.env.chunks.get()
	}
	head, at, err = scan.next()
	if errors.Is(err, errNoBatch) {
		err = r.segment.corrupt(at, err)
	}
	return head, at, err
}

// extend finds the end of the range. Without a reason to cut, which is the
// case for a reader near the end, no byte of the file is looked at.
func (r *segmentRead) extend(scan *headerScan) error {
	r.end, r.next = r.limit, r.limitNext
	if r.limitNext <= r.upper && r.limit-r.pos <= r.maxBytes {
		return nil
	}
	scan.pos = r.pos
	if r.maxBytes > scanChunk {
		// The last index entry that surely lies inside is a batch boundary to
		// start from. What one chunk holds is walked through without it.
		if err := r.segment.index.keepOpen(); err != nil {
			return err
		}
		pos, err := r.segment.index.floorPosition(min(r.pos+r.maxBytes, r.limit), r.upper)
		if err != nil {
			return err
		}
		scan.pos = max(r.pos, pos)
	}
	r.end, r.next = scan.pos, r.offset
	for {
		head, at, err := r.nextHeader(scan)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		tooMuch := scan.pos-r.pos > r.maxBytes && !(r.minOne && at == r.pos)
		if head.BaseOffset() >= r.upper || tooMuch {
			if at > r.pos && r.next == r.offset {
				r.next = head.BaseOffset() // nothing was added to what the index gave
			}
			return nil
		}
		r.end, r.next = scan.pos, head.NextOffset()
	}
}

// collectAborted gathers the aborted transactions that touch [offset, ...end
// of the range), going through the transaction indexes from the segment read
// on. Where the range ends is estimated upwards by the offset index, so that a
// few may be named whose records come later.
func (l *Log) collectAborted(v view, at int, offset, endPos int64) ([]AbortedTxn, error) {
	if err := v.segments[at].trustIndexes(); err != nil {
		return nil, err
	}
	upper, ok, err := v.segments[at].index.ceilingOffset(endPos)
	if err != nil {
		return nil, err
	}
	if !ok {
		upper = v.end
		if at+1 < len(v.segments) {
			upper = v.segments[at+1].base
		}
	}
	found := []AbortedTxn{}
	for _, s := range v.segments[at:] {
		part, complete, err := s.aborted.collect(offset, upper)
		if err != nil {
			return nil, err
		}
		found = append(found, part...)
		if complete {
			break
		}
	}
	return found, nil
}
