package metadata

import (
	"fmt"

	"minibroker/record"
)

// Bounds of one batch, as Kafka's controller keeps them.
const (
	maxBatchRecords = 10_000
	maxBatchBytes   = 8 << 20
)

// stored is one record of the log or a snapshot: a metadata record or a
// control record.
type stored struct {
	offset    int64
	timestamp int64 // ms
	record    Record
	control   ControlRecord
	version   int16 // of the record's schema
}

// buildBatch makes a data batch of records at a time in ms. Offset and leader
// epoch are given by the log.
func buildBatch(records []Record, level int16, nowMs int64) (record.Batch, error) {
	b := record.NewBuilder(record.BuilderOptions{})
	var value []byte
	for _, r := range records {
		value = AppendRecord(value[:0], r, writtenVersion(r, level))
		if err := b.Append(record.Record{Timestamp: nowMs, Value: value}); err != nil {
			return nil, err
		}
	}
	return b.Build()
}

// buildControl makes a control batch.
func buildControl(records []ControlRecord, nowMs int64) (record.Batch, error) {
	b := record.NewBuilder(record.BuilderOptions{Control: true})
	for _, r := range records {
		key, value := encodeControl(r, 0)
		if err := b.Append(record.Record{Timestamp: nowMs, Key: key, Value: value}); err != nil {
			return nil, err
		}
	}
	return b.Build()
}

// decodeBatch calls fn for each record of a batch. Compressed batches are read
// too; Kafka does not write them.
func decodeBatch(b record.Batch, fn func(stored) error) error { return new(decoder).batch(b, fn) }

// batch calls fn for each record of a batch.
func (d *decoder) batch(b record.Batch, fn func(stored) error) error {
	control := b.IsControl()
	return b.ForEach(maxBatchBytes, func(r *record.Record) error {
		s := stored{offset: r.Offset, timestamp: r.Timestamp}
		var err error
		if control {
			s.control, s.version, err = DecodeControl(r.Key, r.Value)
		} else {
			s.record, s.version, err = d.decode(r.Value)
		}
		if err != nil {
			return fmt.Errorf("offset %d: %w", r.Offset, err)
		}
		return fn(s)
	})
}
