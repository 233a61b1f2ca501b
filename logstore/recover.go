package logstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"minibroker/record"
)

// recoverUnflushed goes through the segments that may not have reached the
// disk whole: from the one that contains the recovery point on, and the last
// one in any case. After the first that loses bytes all later ones are taken
// away.
func (d *loader) recoverUnflushed() error {
	if len(d.segments) == 0 {
		return nil
	}
	if err := d.removeUnreadableSnapshots(); err != nil {
		return err
	}
	first := min(max(0, floorSegment(d.segments, d.o.RecoveryPoint)), len(d.segments)-1)
	todo := d.segments[first:]
	for i, s := range todo {
		d.log.info("LogLoader", "Recovering unflushed segment "+strconv.FormatInt(s.base, 10)+". "+strconv.Itoa(i)+" recovered for "+d.log.tp.String()+".")
		cut, err := d.recoverSegment(s)
		if err != nil {
			return fmt.Errorf("recover segment %020d: %w", s.base, err)
		}
		if i < len(todo)-1 {
			if err := s.parkIndexes(); err != nil {
				return err
			}
		}
		if cut == 0 {
			continue
		}
		next, err := s.nextOffset()
		if err != nil {
			return err
		}
		d.log.warn("LogLoader", fmt.Sprintf("Corruption found in segment %d, truncating to offset %d", s.base, next))
		gone := todo[i+1:]
		d.segments = d.segments[: first+i+1 : first+i+1]
		return d.discard(gone)
	}
	return nil
}

// discard renames segments away together with the snapshots at their bases.
func (d *loader) discard(gone []*segment) error {
	if len(gone) == 0 {
		return nil
	}
	d.log.producers = d.newProducerState()
	d.log.info("LogLoader", "Deleting segments as part of log recovery: "+describeSegments(gone))
	d.log.announceRemoval(gone, d.cfg)
	for _, s := range gone {
		if err := d.log.discardSegment(s, d.cfg); err != nil {
			return err
		}
	}
	return nil
}

// recoverSegment rebuilds the segment's indexes from its batches and cuts the
// file after the last good one. It returns the bytes cut off. The producers at
// its base are needed to rebuild the transaction index.
func (d *loader) recoverSegment(s *segment) (cut int64, err error) {
	producers := d.newProducerState()
	if err := d.rebuildProducers(producers, d.o.LogStartOffset, s.base, false); err != nil {
		return 0, err
	}
	if cut, err = d.rebuild(s, producers); err != nil {
		return 0, err
	}
	return cut, d.snapshot(producers)
}

// recoverSealed recovers a segment that takes no appends, as far as is known yet.
func (d *loader) recoverSealed(s *segment) error {
	_, err := d.recoverSegment(s)
	return errors.Join(err, s.parkIndexes())
}

// snapshot takes a snapshot without waiting for the disk, or even a file: an
// unclean start removes one that did not get there, and a clean stop waits for it.
func (d *loader) snapshot(p *ProducerState) error {
	begin := time.Now()
	taken, err := p.holdSnapshot()
	if taken {
		d.log.logSnapshot(p, begin)
		d.unsynced = append(d.unsynced, p.mapEndOffset())
	}
	return err
}

// rebuild walks the batches of the file, checks each one's size and CRC, and
// writes index entries by the rule of addToIndexes, counted from the
// segment's start. The walk ends at the first batch that is not good; unlike
// Kafka it also ends at one whose offsets go back, which Kafka would keep and
// then hide the whole segment, or not start.
func (d *loader) rebuild(s *segment, producers *ProducerState) (cut int64, err error) {
	size := s.size.Load()
	s.setLargest(noTimestamp, s.base)
	s.unchecked.Store(false)
	s.found = false
	if n := len(d.segments); size == 0 && s.indexed && n > 0 && s == d.segments[n-1] {
		return 0, d.rebuildEmpty(s)
	}
	if err := errors.Join(s.index.reset(), s.times.reset(), s.aborted.reset()); err != nil {
		return 0, err
	}
	file, err := s.pin()
	if err != nil {
		return 0, err
	}
	defer s.unpin()
	buf := d.log.env.walks.get()
	defer d.log.env.walks.put(buf)
	walk := batchWalk{file: file, limit: size, buf: buf[:]}
	next, lastEntry := s.base, int64(0)
	for {
		valid := walk.pos
		b, err := walk.next()
		if err == nil && (b.BaseOffset() < next || !s.fits(b.LastOffset())) {
			err = fmt.Errorf("%w: offsets %d to %d after %d", errBadBatch, b.BaseOffset(), b.LastOffset(), next)
		}
		if errors.Is(err, errBadBatch) {
			d.log.warn("", fmt.Sprintf("Found invalid messages in log segment %s at byte offset %d.", s.path(logSuffix), valid), "reason", err)
		}
		if errors.Is(err, errBadBatch) || errors.Is(err, io.EOF) {
			walk.pos = valid
			break
		}
		if err != nil {
			return 0, err
		}
		if err := d.rebuildEntry(s, b, valid, &lastEntry); err != nil {
			return 0, err
		}
		if err := d.log.noteEpoch(b); err != nil {
			return 0, err
		}
		if err := d.log.applyProducer(producers, s, b); err != nil {
			return 0, err
		}
		next = b.NextOffset()
	}
	valid := walk.pos
	s.size.Store(valid)
	s.firstKnown = false
	if valid < size {
		if err := file.Truncate(valid); err != nil {
			return 0, err
		}
	}
	s.sinceIndex = 0
	s.walkedEnd = &next
	return size - valid, s.sealOpen()
}

// rebuildEmpty is rebuild for a last segment without a byte: there is nothing to
// read, and the indexes are emptied when they are used or stopped. After a crash
// that is what most of many partitions have.
func (d *loader) rebuildEmpty(s *segment) error {
	s.index.noteEmpty()
	s.times.noteEmpty()
	s.firstKnown, s.sinceIndex, s.walkedEnd = false, 0, &s.base
	return s.aborted.reset()
}

func (d *loader) rebuildEntry(s *segment, b record.Batch, pos int64, lastEntry *int64) error {
	if err := s.noteTimestamp(b.MaxTimestamp(), b.LastOffset()); err != nil {
		return err
	}
	if pos-*lastEntry <= int64(d.cfg.IndexIntervalBytes) {
		return nil
	}
	*lastEntry = pos
	if err := s.index.append(b.LastOffset(), int32(pos)); err != nil {
		return err
	}
	return s.times.maybeAppend(s.largest, s.largestAt, false)
}

// rebuildProducers brings a producer state up to end: from the newest snapshot
// at or below it and the batches that follow. Snapshots are written at the
// bases of the last two segments, if passed, and at end.
func (d *loader) rebuildProducers(p *ProducerState, start, end int64, clean bool) error {
	upTo := strconv.FormatInt(end, 10)
	d.log.info("LogLoader", "Loading producer state till offset "+upTo)
	var marks []int64
	if n := len(d.segments); n > 0 {
		if n > 1 {
			marks = append(marks, d.segments[n-2].base)
		}
		marks = append(marks, d.segments[n-1].base)
	}
	if _, have := p.latestSnapshot(); !have && clean {
		// A log from before producer snapshots: reading all of it would cost
		// more than the duplicates it could find.
		for _, at := range append(marks, end) {
			p.updateMapEndOffset(at)
			if err := d.snapshot(p); err != nil {
				return err
			}
		}
		return nil
	}
	d.log.info("LogLoader", "Reloading from producer snapshot and rebuilding producer state from offset "+upTo)
	begin := time.Now()
	emptyBefore := p.isEmpty() && p.mapEndOffset() >= end
	if err := p.truncateAndReload(start, end, begin); err != nil {
		return err
	}
	loaded := time.Now()
	if end > p.mapEndOffset() && !emptyBefore {
		if err := d.replayProducers(p, start, end, marks); err != nil {
			return err
		}
	}
	p.updateMapEndOffset(end)
	if err := d.snapshot(p); err != nil {
		return err
	}
	d.log.info("LogLoader", "Producer state recovery took "+strconv.FormatInt(loaded.Sub(begin).Milliseconds(), 10)+"ms for snapshot load and "+
		strconv.FormatInt(time.Since(loaded).Milliseconds(), 10)+"ms for segment recovery from offset "+upTo)
	return nil
}

// replayProducers applies the batches in [p.mapEndOffset, end).
func (d *loader) replayProducers(p *ProducerState, start, end int64, marks []int64) error {
	first := max(0, floorSegment(d.segments, p.mapEndOffset()))
	for _, s := range d.segments[min(first, len(d.segments)):] {
		if s.base >= end {
			break
		}
		from := max(s.base, p.mapEndOffset(), start)
		p.updateMapEndOffset(from)
		if slices.Contains(marks, s.base) {
			if err := d.snapshot(p); err != nil {
				return err
			}
		}
		if err := d.replaySegment(p, s, from, end); err != nil {
			return fmt.Errorf("replay producers of segment %020d: %w", s.base, err)
		}
	}
	return nil
}

func (d *loader) replaySegment(p *ProducerState, s *segment, from, end int64) error {
	if s != d.segments[len(d.segments)-1] {
		if err := s.trustIndexes(); err != nil {
			return err
		}
	}
	_, pos, err := s.index.lookup(from)
	if err != nil {
		return err
	}
	scan, done, err := s.scan(int64(pos), s.size.Load())
	if err != nil {
		return err
	}
	defer done()
	for {
		head, at, err := scan.next()
		if errors.Is(err, io.EOF) || errors.Is(err, errNoBatch) {
			return nil
		}
		if err != nil {
			return err
		}
		if head.LastOffset() < from {
			continue
		}
		if head.BaseOffset() >= end {
			return nil
		}
		if head.ProducerID() < 0 {
			continue
		}
		b := head
		if head.IsControl() {
			if b, err = readMarker(scan.file, at, head); err != nil {
				return err
			}
		}
		ended, err := p.update(b)
		if err != nil {
			return err
		}
		if ended != nil {
			p.close(ended)
		}
	}
}

// maxMarkerBytes bounds a control batch; Kafka's have 78 bytes.
const maxMarkerBytes = 64 << 10

func readMarker(file io.ReaderAt, at int64, head record.Batch) (record.Batch, error) {
	if head.Size() > maxMarkerBytes {
		return nil, fmt.Errorf("control batch of %d bytes at %d", head.Size(), at)
	}
	b := make(record.Batch, head.Size())
	_, err := file.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// applyProducer updates the state by one batch of segment s. The end of an
// aborted transaction goes to the segment's transaction index.
func (l *Log) applyProducer(p *ProducerState, s *segment, b record.Batch) error {
	if b.ProducerID() >= 0 {
		done, err := p.update(b)
		if err != nil {
			return err
		}
		if done != nil {
			if err := p.finish(done, s.aborted); err != nil {
				return err
			}
		}
	}
	p.updateMapEndOffset(b.NextOffset())
	return nil
}

// swapEnd is the offset after the last whole batch of a .log.swap file.
func (d *loader) swapEnd(name string, base int64) (int64, error) {
	file, err := d.log.env.fsys.OpenFile(d.path(name), os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	scan := headerScan{file: file, limit: info.Size(), chunk: new(chunk)}
	end := base
	for {
		head, _, err := scan.next()
		if errors.Is(err, io.EOF) || errors.Is(err, errNoBatch) {
			return end, nil
		}
		if err != nil {
			return 0, err
		}
		end = head.NextOffset()
	}
}

// setLargest replaces what is known about the largest timestamp.
func (s *segment) setLargest(ts, offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.largest, s.largestAt, s.largestKnown = ts, offset, true
}

// noteEpoch notes the leader epoch of a batch if it is newer than all known.
func (l *Log) noteEpoch(b record.Batch) error {
	epoch := b.LeaderEpoch()
	latest, ok := l.epochs.Latest()
	if epoch < 0 || (ok && epoch <= latest) {
		return nil
	}
	return l.epochs.Assign(epoch, b.BaseOffset())
}
