package cleaner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"runtime"
	"time"

	"minibroker/logstore"
	"minibroker/record"
)

// errAborted ends a pass because the log is gone or the cleaner stops. What was
// swapped in already stays.
var errAborted = errors.New("cleaning aborted")

// pass is one cleaning of one log.
type pass struct {
	ctx      context.Context
	thread   int
	settings Settings
	throttle *throttle
	out      *slog.Logger

	*candidate
	now    int64 // ms; one moment for the whole pass
	offset *OffsetMap
	noted  verdicts
	txns   *transactions
	in     batchReader
	filter record.Filter
	stats  stats

	// Of the group that is being copied.
	target    *logstore.Replacement
	producers map[int64]logstore.LastRecord
	settled   int64 // high watermark
	pending   []byte

	probes   []probe // of the records of one batch
	breathed time.Time
}

func (c *Cleaner) newPass(ctx context.Context, thread int, s Settings, d *candidate) *pass {
	p := &pass{
		ctx: ctx, thread: thread, settings: s, throttle: &c.throttle, out: says(c.log, cleanerLogger),
		candidate: d, now: time.Now().UnixMilli(),
		offset: NewOffsetMap(min(s.DedupeBufferBytes/int64(s.Threads), math.MaxInt32), s.LoadFactor),
	}
	p.noted = newVerdicts(d.first, s.DedupeBufferBytes/int64(s.Threads))
	p.in = batchReader{size: p.bufferSize(), read: p.advance}
	p.stats.start = time.Now()
	p.stats.progress = p.stats.start
	return p
}

// bufferSize is that of the read and of the write buffer of one thread.
func (p *pass) bufferSize() int { return max(p.settings.IOBufferBytes/p.settings.Threads/2, 4096) }

func (p *pass) say(format string, args ...any) {
	p.out.Info(fmt.Sprintf("Cleaner %d: ", p.thread) + fmt.Sprintf(format, args...))
}

// advance runs after each piece of input: it lets others run and the pass end
// early, slows it down, and tells now and then how far it is.
func (p *pass) advance(n int) error {
	p.breathe()
	if p.ctx.Err() != nil || p.log.Closed() {
		return errAborted
	}
	p.stats.read(n)
	p.tell()
	return p.pause(n)
}

// breath is how long a pass computes before it lets others run: who serves a
// client must not wait until the runtime's patience ends, 10 ms.
const breath = time.Millisecond

func (p *pass) breathe() {
	if now := time.Now(); now.Sub(p.breathed) >= breath {
		runtime.Gosched()
		p.breathed = now
	}
}

func (p *pass) tell() {
	if line := p.stats.progressLine(time.Now()); line != "" {
		p.say("%s: %s", p.log.TopicPartition(), line)
	}
}

// pause counts bytes that were read or are to be written, and waits while they
// are too many. It looks up every second to see whether the log is still there.
func (p *pass) pause(n int) error {
	for left := p.throttle.pause(n, p.settings.BytesPerSecond, time.Now()); left > 0; left -= time.Second {
		if wait(p.ctx, min(left, time.Second)) != nil || p.log.Closed() {
			return errAborted
		}
		p.tell()
	}
	return nil
}

// run cleans the log and returns the offset that the next pass starts from.
func (p *pass) run() (end int64, err error) {
	tp := p.log.TopicPartition()
	p.say("Beginning cleaning of log %s", tp)
	p.say("Building offset map for %s...", tp)
	if err := p.fill(); err != nil {
		return 0, fmt.Errorf("read the keys of %s: %w", tp, err)
	}
	end = p.offset.Latest() + 1
	p.stats.indexed(time.Now(), p.offset.Utilization())
	segments := segmentsIn(p.segments, 0, end)
	p.stats.toCopy = bytesOf(segments)
	horizon, err := p.announce(segments)
	if err != nil {
		return 0, err
	}
	runs, err := groups(segments, &p.config, p.bound)
	if err != nil {
		return 0, err
	}
	p.txns = newTransactions(p.keepAborted)
	for _, group := range runs {
		if err := p.copyGroup(group, horizon); err != nil {
			return 0, err
		}
	}
	p.stats.finished(time.Now())
	return end, nil
}

// announce writes the line before the copying, with the times that concern
// message formats before v2 only. The second of them is returned.
func (p *pass) announce(segments []logstore.Segment) (horizon int64, err error) {
	newest := func(list []logstore.Segment) int64 {
		if len(list) == 0 {
			return 0
		}
		var at time.Time
		at, err = list[len(list)-1].Modified()
		return at.UnixMilli()
	}
	prior := newest(segmentsIn(p.segments, 0, p.bound))
	if err != nil {
		return 0, p.readError(err)
	}
	if clean := newest(segmentsIn(p.segments, 0, p.first)); clean > 0 {
		horizon = clean - p.config.DeleteRetentionMs
	}
	if err != nil {
		return 0, p.readError(err)
	}
	p.say("Cleaning log %s (cleaning prior to %s, discarding tombstones prior to upper bound deletion horizon %s)...",
		p.log.TopicPartition(), javaDate(prior), javaDate(horizon))
	return horizon, nil
}

// readError tells errors of a log that was closed under the pass from others.
func (p *pass) readError(err error) error {
	if err != nil && p.log.Closed() {
		return errAborted
	}
	return err
}

// fill puts the keys of the dirty part into the offset map.
func (p *pass) fill() error {
	dirty := segmentsIn(p.segments, p.first, p.bound)
	p.say("Building offset map for log %s for %d segments in offset range [%d, %d).",
		p.log.TopicPartition(), len(dirty), p.first, p.bound)
	p.stats.toRead = bytesOf(dirty)
	aborted, err := p.log.AbortedTransactions(p.first, p.bound)
	if err != nil {
		return p.readError(err)
	}
	txns := newTransactions(nil)
	txns.add(aborted)
	for i, s := range dirty {
		full, err := p.fillFrom(s, txns)
		if err != nil {
			return p.readError(err)
		}
		if full {
			break
		}
		// What is missing at the segment's end was looked at as well.
		p.offset.Seen(nextBase(dirty, i, p.bound) - 1)
	}
	p.say("Offset map for log %s complete.", p.log.TopicPartition())
	return nil
}

// fillFrom puts the keys of one segment. full means that the map took no more.
func (p *pass) fillFrom(s logstore.Segment, txns *transactions) (full bool, err error) {
	pos, err := s.PositionFor(p.first)
	if err != nil {
		return false, err
	}
	if err := p.in.open(s, pos); err != nil {
		return false, err
	}
	defer p.in.close()
	for {
		b, at, err := p.in.next(nil)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if b.BaseOffset() <= p.offset.Latest() {
			p.noted.forget(b.BaseOffset(), b.LastOffset())
		}
		discardable, err := txns.discardable(b)
		switch {
		case err != nil:
		case discardable:
			p.noted.forget(b.BaseOffset(), b.LastOffset())
		case !b.IsControl():
			full, err = p.fillFromBatch(b)
		}
		if err != nil {
			return false, s.Corrupt(at, err)
		}
		if full {
			return true, nil
		}
		if b.LastOffset() >= p.first {
			p.offset.Seen(b.LastOffset())
		}
	}
}

// fillFromBatch puts the keys of one batch.
func (p *pass) fillFromBatch(b record.Batch) (full bool, err error) {
	p.probes = p.probes[:0]
	last, ordered := b.BaseOffset()-1, true
	_, err = p.filter.Select(b, p.config.MaxDecompressedBytes, func(r *record.Record) bool {
		if p.stats.indexedMessages++; p.stats.indexedMessages%1024 == 0 {
			p.breathe() // a compressed batch can hold very many
		}
		ordered = ordered && r.Offset > last
		last = r.Offset
		if r.Key == nil || r.Value == nil {
			p.noted.lookAt(r.Offset)
		}
		if r.Key != nil && r.Offset >= p.first {
			p.probes = append(p.probes, probe{hash: hashKey(r.Key), offset: r.Offset})
		}
		return false
	})
	if err != nil {
		return false, err
	}
	if !ordered || last > b.LastOffset() {
		p.noted.forget(b.BaseOffset(), b.LastOffset())
	}
	for probes := p.probes; len(probes) > 0; {
		n := min(len(probes), p.offset.room())
		if n <= 0 {
			return true, nil // Kafka does not look whether the next key is known
		}
		p.offset.putAll(probes[:n])
		for _, before := range probes[:n] {
			p.noted.outdate(before.offset)
		}
		probes = probes[n:]
	}
	return false, nil
}

// copyGroup copies what stays of a group into one segment and puts it in the
// place of the group.
func (p *pass) copyGroup(group []logstore.Segment, horizon int64) (err error) {
	base := group[0].Base()
	if p.target, err = p.log.Replace(base); err != nil {
		return p.readError(err)
	}
	defer func() {
		if err != nil && !p.target.InPlace() {
			err = errors.Join(err, p.readError(p.target.Discard()))
		}
		p.target, p.producers = nil, nil
	}()
	p.producers, p.settled, p.pending = p.log.LastRecords(), p.partition.HighWatermark(), p.pending[:0]
	var modified time.Time
	for _, s := range group {
		if modified, err = s.Modified(); err != nil {
			return p.readError(err)
		}
		p.sayCopying(s, base, horizon, modified.UnixMilli())
		if err := p.copySegment(s); err != nil {
			return p.readError(err)
		}
	}
	if err := p.flush(); err != nil {
		return err
	}
	if err := p.target.Finish(modified); err != nil {
		return p.readError(err)
	}
	p.say("Swapping in cleaned segment %s for segment(s) [%s] in log %s", p.target, listed(group), describe(p.partition))
	return p.readError(p.target.Swap(group))
}

func (p *pass) sayCopying(s logstore.Segment, base, horizon, modified int64) {
	deletes := "discarding"
	if modified > horizon {
		deletes = "retaining"
	}
	p.say("Cleaning %s in log %s into %d with an upper bound deletion horizon %d computed from the segment last modified time of %d,%s deletes.",
		s, p.log.TopicPartition(), base, horizon, modified, deletes)
}

func (p *pass) copySegment(s logstore.Segment) error {
	upper := s.Base() + 1
	for i, have := range p.segments {
		if have == s {
			upper = nextBase(p.segments, i, p.bound)
		}
	}
	aborted, err := p.log.AbortedTransactions(s.Base(), upper)
	if err != nil {
		return err
	}
	p.txns.add(aborted)
	if err := p.in.open(s, 0); err != nil {
		return err
	}
	defer p.in.close()
	for {
		b, at, err := p.in.next(p.headerTells)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := p.copyBatch(b, s, at); err != nil {
			return err
		}
		if len(p.pending) >= p.bufferSize() {
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
}

// keepAborted copies the index entry of an aborted transaction whose marker
// stays.
func (p *pass) keepAborted(t logstore.AbortedTxn) error { return p.target.AppendAborted(t) }

// flush writes the pending batches to the new segment.
func (p *pass) flush() error {
	err := p.write(p.pending)
	p.pending = p.pending[:0]
	return err
}

// write writes whole batches to the new segment.
func (p *pass) write(set []byte) error {
	if err := p.pause(len(set)); err != nil {
		return err
	}
	return p.readError(p.target.Append(set))
}
