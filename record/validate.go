package record

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Compression is what compression.type asks for.
type Compression struct {
	Producer bool  // keep what the producer used; Codec is not looked at
	Codec    Codec // None is compression.type=uncompressed
	Level    int   // 0 is the codec's default; otherwise as in compression.<codec>.level
}

// ValidateOptions are a topic's rules for what clients may append.
type ValidateOptions struct {
	TopicPartition       string // for messages, as in "orders-0"
	NowMs                int64  // the append time, ms since 1970
	TimestampType        TimestampType
	BeforeMaxMs          int64 // message.timestamp.before.max.ms
	AfterMaxMs           int64 // message.timestamp.after.max.ms
	Compacted            bool  // records must have keys
	MaxDecompressedBytes int   // largest record in a compressed batch; 0 = no limit
	Compression          Compression
	MaxBatchBytes        int // a rebuilt batch may not be larger; 0 = no limit
}

// Validated is a batch that may be appended, once its offset and leader epoch
// are set.
type Validated struct {
	Batch                     Batch // the given one, patched in place, or a rebuilt one
	MaxTimestampMs            int64 // -1 none
	OffsetOfMaxTimestampDelta int32 // of the first record that has it; under LogAppendTime of the last record
	LogAppendTimeMs           int64 // NowMs under LogAppendTime, else -1

	memory *[]byte // of a rebuilt batch, in the pool otherwise
}

// mostRebuilt is the largest memory for a rebuilt batch that is kept for the next one, in bytes.
const mostRebuilt = 2 << 20

var rebuiltMemory = sync.Pool{New: func() any { return new([]byte) }}

// Release gives back the memory of a batch that was rebuilt. Batch must not be used afterwards. Without it the
// collector takes it.
func (v *Validated) Release() {
	if v.memory == nil {
		return
	}
	if *v.memory = v.Batch[:0]; cap(*v.memory) <= mostRebuilt {
		rebuiltMemory.Put(v.memory)
	}
	v.memory, v.Batch = nil, nil
}

// Validate applies the rules that Kafka's log applies to one batch of a client,
// in Kafka's order; the batch has passed CheckRecordSet. Where timestamp type
// or largest timestamp are not what they should be they are corrected in place,
// checksum included; where compression.type asks for another codec the batch is
// rebuilt. Base offset and leader epoch are the caller's to set.
//
// Errors are *ValidationError; the batch is then as it was. Nothing is
// allocated for an uncompressed batch without faults that stays so.
func Validate(b Batch, o ValidateOptions) (Validated, error) {
	source := b.Codec()
	if !source.Known() {
		return Validated{}, &ValidationError{Kind: ErrUnsupportedCompression, Detail: source.String()}
	}
	if err := checkHeader(b, &o); err != nil {
		return Validated{}, err
	}
	target := o.Compression.Codec
	if o.Compression.Producer {
		target = source
	}
	c := checker{o: o, first: b.BaseTimestamp(), maxTimestamp: NoTimestamp,
		marked: b.TimestampType() == LogAppendTime, markedTime: b.MaxTimestamp()}
	if source != target {
		return rebuild(b, target, &c)
	}
	var err error
	if source == None {
		err = c.plain(b)
	} else {
		err = c.compressed(b)
	}
	if err == nil {
		err = c.result()
	}
	if err != nil {
		return Validated{}, err
	}
	v := c.validated(b)
	b.SetMaxTimestamp(o.TimestampType, v.MaxTimestampMs)
	return v, nil
}

// checkHeader checks what the header alone tells.
func checkHeader(b Batch, o *ValidateOptions) error {
	delta, count := b.LastOffsetDelta(), b.Count()
	switch {
	case delta < 0:
		return invalidRecord(fmt.Sprintf("batch has an invalid offset range: last offset delta %d in %s", delta, o.TopicPartition))
	case count <= 0:
		return invalidRecord(fmt.Sprintf("invalid reported count for record batch: %d in %s", count, o.TopicPartition))
	case int64(count) != int64(delta)+1:
		return invalidRecord(fmt.Sprintf("last offset delta %d does not go with a count of %d records in %s", delta, count, o.TopicPartition))
	case b.IsControl():
		return invalidRecord("clients are not allowed to write control records in " + o.TopicPartition)
	case b.ProducerID() != NoProducerID && b.ProducerID() >= 0 && b.BaseSequence() < 0:
		return invalidRecord(fmt.Sprintf("invalid sequence number %d in record batch with producer id %d in %s",
			b.BaseSequence(), b.ProducerID(), o.TopicPartition))
	}
	return nil
}

// checker goes over the records of one batch.
type checker struct {
	o          ValidateOptions
	first      int64 // the batch's base timestamp
	marked     bool  // the client marked the batch LogAppendTime: all records have markedTime
	markedTime int64

	maxTimestamp int64
	maxAt        int32 // number of the first record with maxTimestamp

	faults      int
	badTime     bool
	recordFault []RecordError
}

// plain walks over an uncompressed batch.
func (c *checker) plain(b Batch) error {
	payload, at := b.Payload(), 0
	var r brief
	for i := range b.Count() {
		n, next := varint32(payload, at)
		if next < 0 || n < 0 || int(n) > len(payload)-next {
			return lengthFault(n, next, len(payload))
		}
		at = next + int(n)
		if body := payload[next:at]; !skipUsual(body, &r) && !skipAny(body, &r) {
			return invalidRecord(textStructure)
		}
		c.record(i, &r)
	}
	if at != len(payload) {
		return invalidRecord(textRemaining)
	}
	return nil
}

func lengthFault(n int32, next, size int) error {
	switch {
	case next == varintTooLong:
		return &ValidationError{Kind: ErrUnreadable, Detail: "the length of a record is no number"}
	case next == varintCut:
		return invalidRecord(textPremature)
	}
	return invalidRecord(fmt.Sprintf("invalid record size %d with %d bytes left", n, size-next))
}

// compressed walks over a compressed batch that is to stay as it is.
func (c *checker) compressed(b Batch) error {
	s, err := openStream(b.Codec(), b.Payload(), c.o.MaxDecompressedBytes)
	if err != nil {
		return &ValidationError{Kind: ErrBadCompression, Detail: err.Error()}
	}
	defer s.release()
	var r brief
	ordered := true
	for i := range b.Count() {
		if err := s.skipRecord(&r); err != nil {
			return err
		}
		if c.record(i, &r) && r.offsetDelta != i {
			ordered = false
		}
	}
	if err := s.end(); err != nil {
		return err
	}
	if err := c.result(); err != nil {
		return err
	}
	if !ordered {
		// Kafka sets out to rebuild such a batch and fails.
		return &ValidationError{Kind: ErrUnreadable, Detail: "the offset deltas of a compressed batch are not 0, 1, 2, …"}
	}
	return nil
}

// record checks one record and notes its timestamp. It runs for every record
// that is produced: what is wrong is worded elsewhere.
func (c *checker) record(i int32, r *brief) bool {
	timestamp := c.first + r.timestampDelta
	if c.marked {
		timestamp = c.markedTime
	}
	if timestamp > c.maxTimestamp {
		c.maxTimestamp, c.maxAt = timestamp, i
	}
	if c.o.Compacted && r.keyLength < 0 {
		c.keyFault(i)
		return false
	}
	if c.o.TimestampType == CreateTime && timestamp != NoTimestamp {
		if age := c.o.NowMs - timestamp; age > c.o.BeforeMaxMs || -age > c.o.AfterMaxMs {
			c.timeFault(i, timestamp, r.offsetDelta)
			return false
		}
	} else if c.marked {
		c.typeFault(i, timestamp, r)
		return false
	}
	return true
}

func (c *checker) fault(i int32, message string) {
	c.faults++
	if len(c.recordFault) < maxRecordErrors {
		c.recordFault = append(c.recordFault, RecordError{BatchIndex: i, Message: message})
	}
}

func (c *checker) keyFault(i int32) {
	if len(c.recordFault) > 0 && len(c.recordFault) >= maxRecordErrors {
		c.faults++
		return
	}
	c.fault(i, "Compacted topic cannot accept message without key in topic partition "+c.o.TopicPartition)
}

func (c *checker) timeFault(i int32, timestamp int64, offset int32) {
	c.badTime = true
	c.fault(i, fmt.Sprintf("Timestamp %d of message with offset %d is out of range. The timestamp should be within [%d, %d]",
		timestamp, offset, c.o.NowMs-c.o.BeforeMaxMs, c.o.NowMs+c.o.AfterMaxMs))
}

func (c *checker) typeFault(i int32, timestamp int64, r *brief) {
	c.badTime = true
	c.fault(i, fmt.Sprintf("Invalid timestamp type in message DefaultRecord(offset=%d, timestamp=%d, key=%d bytes, value=%d bytes)."+
		" Producer should not set timestamp type to LogAppendTime.", r.offsetDelta, timestamp, max(r.keyLength, 0), max(r.valueLength, 0)))
}

// result returns the error for the faults that were found.
func (c *checker) result() error {
	if c.faults == 0 {
		return nil
	}
	if c.badTime {
		return &ValidationError{Kind: ErrInvalidTimestamp, Records: c.recordFault,
			Message: "One or more records have been rejected due to invalid timestamp"}
	}
	shown := make([]string, 0, 3)
	for _, r := range c.recordFault[:min(3, len(c.recordFault))] {
		shown = append(shown, fmt.Sprintf("RecordError(batchIndex=%d, message='%s')", r.BatchIndex, r.Message))
	}
	return &ValidationError{Kind: ErrInvalidRecord, Records: c.recordFault,
		Message: fmt.Sprintf("One or more records have been rejected due to %d record errors in total, "+
			"and only showing the first three errors at most: [%s]", c.faults, strings.Join(shown, ", "))}
}

func (c *checker) validated(b Batch) Validated {
	v := Validated{Batch: b, MaxTimestampMs: c.maxTimestamp, OffsetOfMaxTimestampDelta: c.maxAt, LogAppendTimeMs: -1}
	if c.o.TimestampType == LogAppendTime {
		v.MaxTimestampMs, v.LogAppendTimeMs = c.o.NowMs, c.o.NowMs
		v.OffsetOfMaxTimestampDelta = b.LastOffsetDelta()
	}
	return v
}

// rebuild validates a batch while it writes the records afresh with another
// codec.
func rebuild(b Batch, target Codec, c *checker) (Validated, error) {
	opts := BuilderOptions{Codec: target, Level: c.o.Compression.Level, TimestampType: c.o.TimestampType,
		LogAppendTimeMs: c.o.NowMs, Transactional: b.IsTransactional(), MaxBytes: c.o.MaxBatchBytes,
		Producer: &Producer{ID: b.ProducerID(), Epoch: b.ProducerEpoch(), BaseSequence: b.BaseSequence()}}
	memory := rebuiltMemory.Get().(*[]byte)
	opts.Into = *memory
	build := NewBuilder(opts)
	index := int32(0)
	err := b.ForEach(c.o.MaxDecompressedBytes, func(r *Record) error {
		fields := brief{timestampDelta: r.Timestamp - c.first, offsetDelta: r.OffsetDelta,
			keyLength: nullableLength(r.Key), valueLength: nullableLength(r.Value)}
		c.record(index, &fields)
		index++
		if c.faults > 0 {
			return nil // only further faults are of interest
		}
		return build.Append(*r)
	})
	if err == nil {
		err = c.result()
	}
	if err != nil {
		build.discard()
		var refused *ValidationError
		if !errors.As(err, &refused) {
			err = &ValidationError{Kind: ErrBadCompression, Detail: err.Error()}
		}
		return Validated{}, err
	}
	rebuilt, err := build.Build()
	if errors.Is(err, ErrMessageTooLarge) {
		err = &ValidationError{Kind: ErrMessageTooLarge, Scope: ScopePartition, Detail: err.Error()}
	}
	if err != nil {
		return Validated{}, err
	}
	v := c.validated(rebuilt)
	v.memory = memory
	return v, nil
}

func nullableLength(b []byte) int32 {
	if b == nil {
		return -1
	}
	return int32(len(b))
}
