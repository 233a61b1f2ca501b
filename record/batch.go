package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// A record batch, format v2. All integers are big-endian.
//
//	at  size  field
//	 0  8     baseOffset i64            offset of the first record
//	 8  4     batchLength i32           bytes after this field
//	12  4     partitionLeaderEpoch i32
//	16  1     magic i8                  2
//	17  4     crc u32                   CRC-32C of the bytes from 21 to the end
//	21  2     attributes i16            see the attr constants
//	23  4     lastOffsetDelta i32
//	27  8     baseTimestamp i64         the first record's; with attrDeleteHorizon the horizon
//	35  8     maxTimestamp i64          ms; -1 none; with attrLogAppendTime the append time
//	43  8     producerId i64            -1 none
//	51  2     producerEpoch i16         -1 none
//	53  4     baseSequence i32          -1 none
//	57  4     recordCount i32
//	61  …     records                   plain, or one compressed block
const (
	// LogOverhead is the number of bytes that the batch length does not count:
	// base offset and length.
	LogOverhead = 12
	// HeaderSize is the size of everything before the records, in bytes.
	HeaderSize = 61
	// CurrentMagic is the format number of v2 batches.
	CurrentMagic = 2

	atLength          = 8
	atLeaderEpoch     = 12
	atMagic           = 16
	atCRC             = 17
	atAttributes      = 21
	atLastOffsetDelta = 23
	atBaseTimestamp   = 27
	atMaxTimestamp    = 35
	atProducerID      = 43
	atProducerEpoch   = 51
	atBaseSequence    = 53
	atCount           = 57
)

// Attribute bits of a batch. Bits 7 to 15 are unused.
const (
	attrCodecMask     = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
	attrDeleteHorizon = 0x40
)

// Values that say that a field is not set.
const (
	NoTimestamp     int64 = -1
	NoProducerID    int64 = -1
	NoProducerEpoch int16 = -1
	NoSequence      int32 = -1
)

// TimestampType says what the timestamps of a batch mean.
type TimestampType int8

// The timestamp types.
const (
	CreateTime    TimestampType = 0 // given by the producer
	LogAppendTime TimestampType = 1 // the broker's clock at append
)

// String returns Kafka's name, as in message.timestamp.type.
func (t TimestampType) String() string {
	if t == LogAppendTime {
		return "LogAppendTime"
	}
	return "CreateTime"
}

var (
	// ErrTruncated says that the bytes end before the batch does.
	ErrTruncated = errors.New("record batch is cut off")
	// ErrCorrupt says that the bytes cannot be a batch of format v2: an
	// impossible length or another format number.
	ErrCorrupt = errors.New("not a record batch of format v2")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is one whole batch of format v2, header and records. It is a view: the
// setters change the bytes. Methods may only be called on what Next,
// CheckRecordSet, Validate or a Builder returned, or on bytes of at least
// HeaderSize whose length field matches.
type Batch []byte

// BaseOffset returns the offset of the first record that the batch was written
// with.
func (b Batch) BaseOffset() int64 { return int64(binary.BigEndian.Uint64(b)) }

// Size returns the batch's size in bytes as its length field tells it.
func (b Batch) Size() int { return LogOverhead + int(int32(binary.BigEndian.Uint32(b[atLength:]))) }

// LeaderEpoch returns the leader epoch at the time of the append.
func (b Batch) LeaderEpoch() int32 { return int32(binary.BigEndian.Uint32(b[atLeaderEpoch:])) }

// Magic returns the format number, 2.
func (b Batch) Magic() int8 { return int8(b[atMagic]) }

// CRC returns the stored CRC-32C.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[atCRC:]) }

// Attributes returns the attribute bits.
func (b Batch) Attributes() int16 { return int16(binary.BigEndian.Uint16(b[atAttributes:])) }

// Codec returns how the records are compressed. It may be an unknown codec.
func (b Batch) Codec() Codec { return Codec(b.Attributes() & attrCodecMask) }

// TimestampType returns the type that the batch is marked with.
func (b Batch) TimestampType() TimestampType {
	if b.Attributes()&attrLogAppendTime != 0 {
		return LogAppendTime
	}
	return CreateTime
}

// IsTransactional tells whether the batch belongs to a transaction.
func (b Batch) IsTransactional() bool { return b.Attributes()&attrTransactional != 0 }

// IsControl tells whether the batch holds control records, which clients do
// not see.
func (b Batch) IsControl() bool { return b.Attributes()&attrControl != 0 }

// HasDeleteHorizon tells whether BaseTimestamp is the time after which the
// cleaner may drop the batch's tombstones.
func (b Batch) HasDeleteHorizon() bool { return b.Attributes()&attrDeleteHorizon != 0 }

// LastOffsetDelta returns the last offset less the base offset.
func (b Batch) LastOffsetDelta() int32 {
	return int32(binary.BigEndian.Uint32(b[atLastOffsetDelta:]))
}

// LastOffset returns the last offset that the batch covers.
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.LastOffsetDelta()) }

// NextOffset returns the offset after the last one that the batch covers.
func (b Batch) NextOffset() int64 { return b.LastOffset() + 1 }

// BaseTimestamp returns the timestamp, in ms, that the records' deltas count
// from.
func (b Batch) BaseTimestamp() int64 {
	return int64(binary.BigEndian.Uint64(b[atBaseTimestamp:]))
}

// MaxTimestamp returns the largest timestamp in ms, -1 when there is none.
func (b Batch) MaxTimestamp() int64 { return int64(binary.BigEndian.Uint64(b[atMaxTimestamp:])) }

// ProducerID returns the producer's id, NoProducerID when it has none.
func (b Batch) ProducerID() int64 { return int64(binary.BigEndian.Uint64(b[atProducerID:])) }

// ProducerEpoch returns the producer's epoch.
func (b Batch) ProducerEpoch() int16 { return int16(binary.BigEndian.Uint16(b[atProducerEpoch:])) }

// BaseSequence returns the sequence number of the first record.
func (b Batch) BaseSequence() int32 { return int32(binary.BigEndian.Uint32(b[atBaseSequence:])) }

// LastSequence returns the sequence number of the last record; after 2³¹−1
// comes 0. It is NoSequence when the batch has none.
func (b Batch) LastSequence() int32 { return lastSequence(b.BaseSequence(), b.LastOffsetDelta()) }

// Count returns the number of records that the header tells.
func (b Batch) Count() int32 { return int32(binary.BigEndian.Uint32(b[atCount:])) }

// Payload returns the bytes after the header.
func (b Batch) Payload() []byte { return b[HeaderSize:] }

// SetBaseOffset places the batch in the log. The checksum does not cover it.
func (b Batch) SetBaseOffset(offset int64) { binary.BigEndian.PutUint64(b, uint64(offset)) }

// SetLeaderEpoch notes the leader epoch. The checksum does not cover it.
func (b Batch) SetLeaderEpoch(epoch int32) {
	binary.BigEndian.PutUint32(b[atLeaderEpoch:], uint32(epoch))
}

// SetMaxTimestamp sets timestamp type and largest timestamp (in ms) and renews
// the checksum. A batch that has both already is not touched; otherwise unused
// attribute bits are cleared, as Kafka does.
func (b Batch) SetMaxTimestamp(t TimestampType, ms int64) {
	if b.TimestampType() == t && b.MaxTimestamp() == ms {
		return
	}
	attrs := b.Attributes() & (attrCodecMask | attrTransactional | attrControl | attrDeleteHorizon)
	if t == LogAppendTime {
		attrs |= attrLogAppendTime
	}
	binary.BigEndian.PutUint16(b[atAttributes:], uint16(attrs))
	binary.BigEndian.PutUint64(b[atMaxTimestamp:], uint64(ms))
	b.renewCRC()
}

// ChecksumOK tells whether the stored CRC is that of the bytes.
func (b Batch) ChecksumOK() bool { return b.CRC() == b.computeCRC() }

func (b Batch) computeCRC() uint32 { return crc32.Checksum(b[atAttributes:], castagnoli) }

func (b Batch) renewCRC() { binary.BigEndian.PutUint32(b[atCRC:], b.computeCRC()) }

func lastSequence(base, delta int32) int32 {
	if base == NoSequence {
		return NoSequence
	}
	if base > math.MaxInt32-delta {
		return delta - (math.MaxInt32 - base) - 1
	}
	return base + delta
}

// Header is the fixed part of a batch, for walks over files that do not load
// the records.
type Header struct {
	BaseOffset      int64
	Length          int32 // bytes after the length field
	LeaderEpoch     int32
	Magic           int8
	CRC             uint32
	Attributes      int16
	LastOffsetDelta int32
	BaseTimestamp   int64 // ms
	MaxTimestamp    int64 // ms
	ProducerID      int64
	ProducerEpoch   int16
	BaseSequence    int32
	Count           int32
}

// ParseHeader reads a header from the first HeaderSize bytes of b.
// ErrTruncated when there are fewer, ErrCorrupt when the length is impossible
// or the format is another one.
func ParseHeader(b []byte) (Header, error) {
	if err := checkLengthAndMagic(b); err != nil {
		return Header{}, err
	}
	if len(b) < HeaderSize {
		return Header{}, ErrTruncated
	}
	v := Batch(b)
	return Header{
		BaseOffset:      v.BaseOffset(),
		Length:          int32(binary.BigEndian.Uint32(b[atLength:])),
		LeaderEpoch:     v.LeaderEpoch(),
		Magic:           v.Magic(),
		CRC:             v.CRC(),
		Attributes:      v.Attributes(),
		LastOffsetDelta: v.LastOffsetDelta(),
		BaseTimestamp:   v.BaseTimestamp(),
		MaxTimestamp:    v.MaxTimestamp(),
		ProducerID:      v.ProducerID(),
		ProducerEpoch:   v.ProducerEpoch(),
		BaseSequence:    v.BaseSequence(),
		Count:           v.Count(),
	}, nil
}

// Size returns the whole batch's size in bytes.
func (h Header) Size() int { return LogOverhead + int(h.Length) }

// LastOffset returns the last offset that the batch covers.
func (h Header) LastOffset() int64 { return h.BaseOffset + int64(h.LastOffsetDelta) }

// NextOffset returns the offset after the last one that the batch covers.
func (h Header) NextOffset() int64 { return h.LastOffset() + 1 }

// LastSequence returns the sequence number of the last record, as
// Batch.LastSequence does.
func (h Header) LastSequence() int32 { return lastSequence(h.BaseSequence, h.LastOffsetDelta) }

// Codec returns how the records are compressed.
func (h Header) Codec() Codec { return Codec(h.Attributes & attrCodecMask) }

// IsTransactional tells whether the batch belongs to a transaction.
func (h Header) IsTransactional() bool { return h.Attributes&attrTransactional != 0 }

// IsControl tells whether the batch holds control records.
func (h Header) IsControl() bool { return h.Attributes&attrControl != 0 }

// HasDeleteHorizon tells whether BaseTimestamp is a delete horizon.
func (h Header) HasDeleteHorizon() bool { return h.Attributes&attrDeleteHorizon != 0 }

// TimestampType returns the type that the batch is marked with.
func (h Header) TimestampType() TimestampType {
	if h.Attributes&attrLogAppendTime != 0 {
		return LogAppendTime
	}
	return CreateTime
}

// checkLengthAndMagic looks at the first 17 bytes, as far as they are there.
func checkLengthAndMagic(b []byte) error {
	if len(b) < LogOverhead {
		return ErrTruncated
	}
	if n := int32(binary.BigEndian.Uint32(b[atLength:])); n < HeaderSize-LogOverhead || n > math.MaxInt32-LogOverhead {
		return fmt.Errorf("%w: length field %d", ErrCorrupt, n)
	}
	if len(b) > atMagic && b[atMagic] != CurrentMagic {
		return fmt.Errorf("%w: magic %d", ErrCorrupt, int8(b[atMagic]))
	}
	return nil
}

// Next splits the first batch off b. The batch is cut to its size; neither its
// checksum nor its records are looked at. ErrTruncated when b holds no whole
// batch (also when b is empty), ErrCorrupt when it never will.
func Next(b []byte) (batch Batch, rest []byte, err error) {
	if err := checkLengthAndMagic(b); err != nil {
		return nil, b, err
	}
	size := Batch(b).Size()
	if len(b) < size {
		return nil, b, ErrTruncated
	}
	return Batch(b[:size:size]), b[size:], nil
}
