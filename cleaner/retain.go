package cleaner

import (
	"errors"
	"math"

	"minibroker/logstore"
	"minibroker/record"
)

// copyBatch adds to the pending output what stays of a batch: nothing, the
// batch as it is, one with fewer records or a new delete horizon, or an empty
// one. Of a batch that headerTells about the header is enough.
func (p *pass) copyBatch(b record.Batch, s logstore.Segment, at int64) error {
	p.stats.bytesIn += int64(b.Size())
	p.stats.messagesIn += int64(b.Count())
	discardable, err := p.txns.discardable(b)
	if err != nil {
		return p.located(s, at, err)
	}
	horizon, dated := b.DeleteHorizon()
	discard := discardable && (!b.IsControl() || dated && horizon <= p.now)
	stays := p.mustStay(b)
	if discard && !stays {
		return nil
	}
	kept, err := p.selectRecords(b, discard, dated, horizon)
	if err != nil {
		return p.located(s, at, err)
	}
	before := p.target.Size() + int64(len(p.pending))
	mark := !dated && (kept.Tombstone || discardable && b.IsControl())
	switch {
	case kept.Kept == 0 && !stays:
		return nil
	case kept.Kept == 0:
		p.pending = record.AppendEmptied(p.pending, b)
	case kept.Kept == kept.Total && !mark:
		if err := p.copyWhole(b); err != nil {
			return err
		}
	default:
		if mark {
			horizon = p.newHorizon()
		}
		if p.pending, err = p.filter.AppendRebuilt(p.pending, horizon); err != nil {
			return p.located(s, at, err)
		}
	}
	p.stats.bytesOut += p.target.Size() + int64(len(p.pending)) - before
	p.stats.messagesOut += int64(kept.Kept)
	return nil
}

// copyWhole adds a batch as it is. A large one does not take the way through
// the pending output.
func (p *pass) copyWhole(b record.Batch) error {
	if len(b) < p.bufferSize() {
		p.pending = append(p.pending, b...)
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	return p.write(b)
}

// located says where a fault of a batch's contents is; errors of files are
// passed on.
func (p *pass) located(s logstore.Segment, at int64, err error) error {
	if errors.Is(err, logstore.ErrStorage) || errors.Is(err, logstore.ErrSegmentGone) {
		return err
	}
	return s.Corrupt(at, err)
}

// newHorizon is until when tombstones and markers seen by this pass stay;
// record.NoTimestamp for good, when delete.retention.ms is so large that the
// sum is no time: Apache Kafka 4.4.0 then sets no horizon.
func (p *pass) newHorizon() int64 {
	if p.config.DeleteRetentionMs > math.MaxInt64-p.now {
		return record.NoTimestamp
	}
	return p.now + p.config.DeleteRetentionMs
}

// mustStay reports whether a batch stays even without records: as the newest
// trace of a producer that may go on, or because it ends the whole log.
func (p *pass) mustStay(b record.Batch) bool {
	if b.ProducerID() >= 0 {
		if last, known := p.producers[b.ProducerID()]; known {
			switch {
			case last.Offset >= 0 && last.Offset == b.LastOffset():
				return true
			case last.Offset < 0 && b.IsControl() && last.Epoch == b.ProducerEpoch():
				return true
			}
		}
	}
	return b.NextOffset() == p.settled
}

// selectRecords picks the records of a batch that stay. dated and horizon are
// of the batch as the pass found it, so that a tombstone always survives the
// pass that sets its horizon.
func (p *pass) selectRecords(b record.Batch, discard, dated bool, horizon int64) (record.Selection, error) {
	if discard {
		return record.Selection{Total: int(b.Count())}, nil
	}
	if b.IsControl() {
		return p.filter.Select(b, 0, func(*record.Record) bool { return true })
	}
	expired := dated && horizon <= p.now
	switch p.verdict(b) {
	case allLeave:
		return record.Selection{Total: int(b.Count())}, nil
	case allStay:
		return record.Selection{Total: int(b.Count()), Kept: int(b.Count())}, nil
	case lookUp:
		return p.lookUpRecords(b, expired)
	}
	return p.filter.Select(b, p.config.MaxDecompressedBytes, func(r *record.Record) bool {
		newest := r.Offset
		if p.noted.leaves(r.Offset) {
			newest++
		}
		return p.retains(r, newest, expired)
	})
}

// verdict is what the first part of the pass has found out about a data batch.
// A batch that the map speaks for in part only has none.
func (p *pass) verdict(b record.Batch) verdict {
	if b.LastOffset() > p.offset.Latest() {
		return lookUp
	}
	return p.noted.of(b)
}

// headerTells reports whether copyBatch does not look behind a batch's header.
func (p *pass) headerTells(b record.Batch) bool { return !b.IsControl() && p.verdict(b) == allLeave }

// lookUpRecords is selectRecords for a data batch without a verdict: it looks
// each record's key up.
func (p *pass) lookUpRecords(b record.Batch, expired bool) (record.Selection, error) {
	if b.Codec() != record.None { // to decompress twice costs more than it brings
		return p.filter.Select(b, p.config.MaxDecompressedBytes, func(r *record.Record) bool {
			newest := int64(-1)
			if r.Key != nil {
				newest = p.offset.Get(r.Key)
			}
			return p.retains(r, newest, expired)
		})
	}
	p.probes = p.probes[:0]
	if _, err := p.filter.Select(b, 0, func(r *record.Record) bool {
		p.probes = append(p.probes, probe{hash: hashKey(r.Key)})
		return false
	}); err != nil {
		return record.Selection{}, err
	}
	p.offset.getAll(p.probes)
	i := -1
	return p.filter.Select(b, 0, func(r *record.Record) bool {
		i++
		return p.retains(r, p.probes[i].offset, expired)
	})
}

// retains decides on a record of a data batch that counts: newest is where the
// map has its key, expired says that its batch's tombstones go.
func (p *pass) retains(r *record.Record, newest int64, expired bool) bool {
	if r.Offset > p.offset.Latest() {
		return true
	}
	if r.Key == nil {
		p.stats.invalid++
		return false
	}
	return r.Offset >= newest && (r.Value != nil || !expired)
}
