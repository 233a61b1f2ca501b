package record

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Filter takes records out of batches, as the cleaner of a compacted log does.
// One goroutine uses it for batch after batch; its memory is that of the
// largest one.
//
// Select decides on the records of a batch; then AppendRebuilt writes a batch
// of those that stay. The result has the old batch's base offset, last offset
// delta, leader epoch, producer fields, codec and timestamp type, whatever
// records are gone.
type Filter struct {
	batch   Batch
	kept    []span
	records []byte // what kept points into: the batch's payload, or copies of decompressed records
	copied  []byte
	record  Record
	largest int64 // timestamp of those kept

	selection Selection
	out       sink
	scratch   []byte
}

// span is a kept record's body, without its length field.
type span struct {
	from, to int
	// timestamp is what the record says, or under LogAppendTime its batch.
	timestamp int64
}

// Selection is what Select found out.
type Selection struct {
	Kept, Total int
	Tombstone   bool // a record without a value is among those kept
}

// Select calls keep for each record of b in order, as ForEach does, and
// remembers those for which it is true. b must not change until the next call.
// maxDecompressed bounds one record of a compressed batch; 0 is no bound.
func (f *Filter) Select(b Batch, maxDecompressed int, keep func(*Record) bool) (Selection, error) {
	f.batch, f.kept, f.copied = b, f.kept[:0], f.copied[:0]
	f.largest, f.selection = NoTimestamp, Selection{}
	var err error
	if b.Codec() == None {
		err = f.selectPlain(keep)
	} else {
		err = f.selectCompressed(maxDecompressed, keep)
	}
	return f.selection, err
}

// note remembers a record that is kept.
func (f *Filter) note(r *Record, from, to int) {
	f.selection.Kept++
	f.selection.Tombstone = f.selection.Tombstone || r.Value == nil
	f.largest = max(f.largest, r.Timestamp)
	f.kept = append(f.kept, span{from: from, to: to, timestamp: r.Timestamp})
}

// selectPlain does not copy; it is ForEach with the record's place at hand and
// without an allocation.
func (f *Filter) selectPlain(keep func(*Record) bool) error {
	b := f.batch
	if b.Count() < 0 {
		return invalidRecord("negative number of records")
	}
	place, payload, at := b.placing(), b.Payload(), 0
	f.records = payload
	for range b.Count() {
		n, next := varint32(payload, at)
		if next < 0 || n < 0 || int(n) > len(payload)-next {
			return lengthFault(n, next, len(payload))
		}
		at = next + int(n)
		if !parseRecord(payload[next:at:at], &f.record) {
			return invalidRecord(textStructure)
		}
		place.set(&f.record)
		f.selection.Total++
		if keep(&f.record) {
			f.note(&f.record, next, at)
		}
	}
	if at != len(payload) {
		return invalidRecord(textRemaining)
	}
	return nil
}

// selectCompressed copies what is kept, since a decompressed record is there
// for a moment only.
func (f *Filter) selectCompressed(maxDecompressed int, keep func(*Record) bool) error {
	err := f.batch.ForEach(maxDecompressed, func(r *Record) error {
		f.selection.Total++
		if !keep(r) {
			return nil
		}
		from := len(f.copied)
		f.copied = appendRecordBody(f.copied, r, r.Timestamp, r.OffsetDelta)
		f.note(r, from, len(f.copied))
		return nil
	})
	f.records = f.copied
	return err
}

// AppendRebuilt appends a batch of the selected records, of which there must be
// one at least. With a delete horizon (ms, not NoTimestamp) the batch is marked
// with it; else its base timestamp is the first record's.
func (f *Filter) AppendRebuilt(dst []byte, horizonMs int64) ([]byte, error) {
	start := len(dst)
	dst = append(dst, f.batch[:HeaderSize]...)
	attrs := uint16(f.batch.Attributes()) & (attrCodecMask | attrLogAppendTime | attrTransactional | attrControl)
	base := f.kept[0].timestamp
	if horizonMs != NoTimestamp {
		base, attrs = horizonMs, attrs|attrDeleteHorizon
	}
	dst, err := f.appendRecords(dst, base)
	if err != nil {
		return dst[:start], err
	}
	b := Batch(dst[start:])
	if len(b) > math.MaxInt32 {
		return dst[:start], fmt.Errorf("%w: record batch of %d bytes", ErrMessageTooLarge, len(b))
	}
	largest := f.largest
	if f.batch.TimestampType() == LogAppendTime {
		largest = f.batch.MaxTimestamp()
	}
	b.finish(attrs, base, largest, len(f.kept))
	return dst, nil
}

func (f *Filter) appendRecords(dst []byte, base int64) ([]byte, error) {
	r := &f.record
	codec := f.batch.Codec()
	if codec == None {
		for _, k := range f.kept {
			if !parseRecord(f.records[k.from:k.to:k.to], r) {
				return dst, invalidRecord(textStructure)
			}
			dst = appendRecord(dst, r, k.timestamp-base, r.OffsetDelta)
		}
		return dst, nil
	}
	f.out = sink{buf: dst}
	w, err := openCompressor(codec, 0, &f.out)
	if err != nil {
		return dst, err
	}
	for _, k := range f.kept {
		if !parseRecord(f.records[k.from:k.to:k.to], r) {
			err = invalidRecord(textStructure)
			break
		}
		f.scratch = appendRecord(f.scratch[:0], r, k.timestamp-base, r.OffsetDelta)
		if _, err = w.Write(f.scratch); err != nil {
			break
		}
	}
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	return f.out.buf, err
}

// finish fills in what differs from the header that the batch was begun with.
func (b Batch) finish(attrs uint16, base, largest int64, count int) {
	binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-LogOverhead))
	binary.BigEndian.PutUint16(b[atAttributes:], attrs)
	binary.BigEndian.PutUint64(b[atBaseTimestamp:], uint64(base))
	binary.BigEndian.PutUint64(b[atMaxTimestamp:], uint64(largest))
	binary.BigEndian.PutUint32(b[atCount:], uint32(count))
	b.renewCRC()
}

// AppendEmptied appends what is left of b when all its records are gone and it
// has to stay for its producer's sake: a header with a count of 0, without
// codec, base timestamp and delete horizon.
func AppendEmptied(dst []byte, b Batch) []byte {
	start := len(dst)
	dst = append(dst, b[:HeaderSize]...)
	attrs := uint16(b.Attributes()) & (attrLogAppendTime | attrTransactional | attrControl)
	Batch(dst[start:]).finish(attrs, NoTimestamp, b.MaxTimestamp(), 0)
	return dst
}

// DeleteHorizon returns the time, in ms, after which the cleaner may drop the
// batch's tombstones or its marker; false when none is set yet.
func (b Batch) DeleteHorizon() (ms int64, ok bool) {
	if !b.HasDeleteHorizon() {
		return NoTimestamp, false
	}
	return b.BaseTimestamp(), true
}
