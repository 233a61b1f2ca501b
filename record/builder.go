package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// errBuilt says that a Builder was used after its end.
var errBuilt = errors.New("record batch is built already")

// Producer are the fields of an idempotent or transactional producer.
type Producer struct {
	ID           int64
	Epoch        int16
	BaseSequence int32 // NoSequence in control batches
}

// BuilderOptions describe a batch before its records.
type BuilderOptions struct {
	BaseOffset      int64
	LeaderEpoch     int32
	Codec           Codec
	Level           int // 0 is the codec's default
	TimestampType   TimestampType
	LogAppendTimeMs int64     // under LogAppendTime the batch's largest timestamp
	Producer        *Producer // nil: none
	Transactional   bool
	Control         bool
	DeleteHorizonMs *int64 // not nil: the base timestamp, marked as the horizon
	Into            []byte // memory for the batch, as far as it reaches; what it holds is written over
	MaxBytes        int    // Build fails with ErrMessageTooLarge when the batch is larger; 0 = no limit
}

// Builder builds one batch. Its memory is the batch, one record and what the
// codec needs. After Build it is of no use, but for Reset.
type Builder struct {
	opts    BuilderOptions
	out     sink // header and payload
	codec   compressor
	scratch []byte

	count         int32
	lastDelta     int32
	baseTimestamp int64
	maxTimestamp  int64
	done          bool
	err           error // the first; Build returns it
}

// NewBuilder starts a batch. An unknown codec or level fails all that follows.
func NewBuilder(o BuilderOptions) *Builder {
	b := new(Builder)
	b.Reset(o)
	return b
}

// Reset starts a batch as NewBuilder does, in a new Builder or in one whose batch has been built. That stays as it is, unless it is
// what o names as Into.
func (b *Builder) Reset(o BuilderOptions) {
	*b = Builder{opts: o, scratch: b.scratch, lastDelta: -1, baseTimestamp: NoTimestamp, maxTimestamp: NoTimestamp}
	b.out.limit = o.MaxBytes
	if o.Into != nil {
		b.out.buf = append(o.Into[:0], make([]byte, HeaderSize)...)
	} else {
		b.out.buf = make([]byte, HeaderSize, HeaderSize+64)
	}
	if o.DeleteHorizonMs != nil {
		b.baseTimestamp = *o.DeleteHorizonMs
	}
	if o.Codec != None {
		b.codec, b.err = openCompressor(o.Codec, o.Level, &b.out)
	}
}

// Append adds a record at the next offset. Of r, Offset and OffsetDelta are not
// looked at; nothing of it is kept.
func (b *Builder) Append(r Record) error {
	r.OffsetDelta = b.lastDelta + 1
	return b.AppendAt(r)
}

// AppendAt adds a record at the base offset plus r.OffsetDelta, which must be
// larger than the last one's. Offset is not looked at; nothing of r is kept.
func (b *Builder) AppendAt(r Record) error {
	if b.err != nil {
		return b.err
	}
	if b.done {
		return errBuilt
	}
	delta := r.OffsetDelta
	if delta <= b.lastDelta || b.count == math.MaxInt32 {
		return fmt.Errorf("record at offset delta %d after one at %d", delta, b.lastDelta)
	}
	if b.count == 0 && b.opts.DeleteHorizonMs == nil {
		b.baseTimestamp = r.Timestamp
	}
	b.count++
	b.lastDelta = delta
	b.maxTimestamp = max(b.maxTimestamp, r.Timestamp)
	if b.out.over {
		return nil // it only has to be refused at the end
	}
	if b.codec == nil && b.out.limit == 0 {
		b.out.buf = appendRecord(b.out.buf, &r, r.Timestamp-b.baseTimestamp, delta)
		return nil
	}
	b.scratch = appendRecord(b.scratch[:0], &r, r.Timestamp-b.baseTimestamp, delta)
	if b.codec == nil {
		_, b.err = b.out.Write(b.scratch)
	} else {
		_, b.err = b.codec.Write(b.scratch)
	}
	return b.err
}

// Len returns the bytes of the batch so far; with a codec that holds bytes back
// it is less than what Build returns.
func (b *Builder) Len() int { return len(b.out.buf) }

// Count returns the number of records so far.
func (b *Builder) Count() int32 { return b.count }

// CoverTo makes the batch cover the offsets up to base offset plus delta, as
// the cleaner's batches do whose last records are gone.
func (b *Builder) CoverTo(delta int32) { b.lastDelta = max(b.lastDelta, delta) }

// discard gives up the batch.
func (b *Builder) discard() {
	if b.codec != nil && !b.done {
		b.codec.Close()
	}
	b.done = true
}

// Build ends the batch and returns it.
func (b *Builder) Build() (Batch, error) {
	if b.err != nil {
		b.discard()
		return nil, b.err
	}
	if b.done {
		return nil, errBuilt
	}
	b.done = true
	if b.codec != nil {
		if err := b.codec.Close(); err != nil {
			return nil, fmt.Errorf("compress record batch: %w", err)
		}
	}
	size := len(b.out.buf)
	switch {
	case b.out.over, b.out.limit > 0 && size > b.out.limit:
		return nil, fmt.Errorf("%w: record batch exceeds the maximum of %d bytes", ErrMessageTooLarge, b.out.limit)
	case size > math.MaxInt32:
		return nil, fmt.Errorf("%w: record batch of %d bytes", ErrMessageTooLarge, size)
	}
	return b.header(), nil
}

func (b *Builder) header() Batch {
	o, batch := &b.opts, Batch(b.out.buf)
	attrs := uint16(o.Codec)
	for _, bit := range []struct {
		on  bool
		bit uint16
	}{
		{o.TimestampType == LogAppendTime, attrLogAppendTime},
		{o.Transactional, attrTransactional},
		{o.Control, attrControl},
		{o.DeleteHorizonMs != nil, attrDeleteHorizon},
	} {
		if bit.on {
			attrs |= bit.bit
		}
	}
	largest := b.maxTimestamp
	if o.TimestampType == LogAppendTime {
		largest = o.LogAppendTimeMs
	}
	producer := Producer{ID: NoProducerID, Epoch: NoProducerEpoch, BaseSequence: NoSequence}
	if o.Producer != nil {
		producer = *o.Producer
	}
	batch.SetBaseOffset(o.BaseOffset)
	batch.SetLeaderEpoch(o.LeaderEpoch)
	binary.BigEndian.PutUint32(batch[atLength:], uint32(len(batch)-LogOverhead))
	batch[atMagic] = CurrentMagic
	binary.BigEndian.PutUint16(batch[atAttributes:], attrs)
	binary.BigEndian.PutUint32(batch[atLastOffsetDelta:], uint32(b.lastDelta))
	binary.BigEndian.PutUint64(batch[atBaseTimestamp:], uint64(b.baseTimestamp))
	binary.BigEndian.PutUint64(batch[atMaxTimestamp:], uint64(largest))
	binary.BigEndian.PutUint64(batch[atProducerID:], uint64(producer.ID))
	binary.BigEndian.PutUint16(batch[atProducerEpoch:], uint16(producer.Epoch))
	binary.BigEndian.PutUint32(batch[atBaseSequence:], uint32(producer.BaseSequence))
	binary.BigEndian.PutUint32(batch[atCount:], uint32(b.count))
	batch.renewCRC()
	return batch
}
