package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
)

// A marker ends a transaction on a partition: a transactional control batch of
// one record.
//
//	key    i16 version 0, i16 type: 0 abort, 1 commit; others belong to other logs
//	value  i16 version 0, i32 epoch of the coordinator
const (
	// MarkerSize is the size of the whole batch in bytes.
	MarkerSize = 78

	controlAbort  = 0
	controlCommit = 1
)

// ErrNotMarker says that a batch does not end a transaction.
var ErrNotMarker = errors.New("not a transaction marker")

// Marker is how a transaction ended on a partition.
type Marker struct {
	Commit           bool // else aborted
	CoordinatorEpoch int32
}

// MarkerOptions describe the batch of a marker.
type MarkerOptions struct {
	Offset        int64
	LeaderEpoch   int32
	TimestampMs   int64
	ProducerID    int64
	ProducerEpoch int16
	Marker
}

// markerBuilders are used again: a broker with transactions builds many.
var markerBuilders = sync.Pool{New: func() any { return new(Builder) }}

// BuildMarker returns the batch of a marker, of MarkerSize bytes.
func BuildMarker(o MarkerOptions) Batch {
	var key [4]byte
	if o.Commit {
		binary.BigEndian.PutUint16(key[2:], controlCommit)
	}
	var value [6]byte
	binary.BigEndian.PutUint32(value[2:], uint32(o.CoordinatorEpoch))
	// Without a codec and a limit nothing of this can fail.
	b := markerBuilders.Get().(*Builder)
	defer markerBuilders.Put(b)
	b.Reset(BuilderOptions{BaseOffset: o.Offset, LeaderEpoch: o.LeaderEpoch,
		Transactional: true, Control: true, Into: make([]byte, 0, MarkerSize),
		Producer: &Producer{ID: o.ProducerID, Epoch: o.ProducerEpoch, BaseSequence: NoSequence}})
	_ = b.Append(Record{Timestamp: o.TimestampMs, Key: key[:], Value: value[:]})
	batch, _ := b.Build()
	return batch
}

// Marker returns the marker that the batch holds. ErrNotMarker when it holds
// none: no control batch, one that the cleaner emptied, or one of another kind.
func (b Batch) Marker() (Marker, error) {
	if !b.IsControl() || b.Count() == 0 {
		return Marker{}, ErrNotMarker
	}
	var m Marker
	first := true
	err := b.ForEach(0, func(r *Record) error {
		if !first {
			return nil
		}
		first = false
		if len(r.Key) < 4 {
			return fmt.Errorf("%w: control record with a key of %d bytes", ErrNotMarker, len(r.Key))
		}
		kind := binary.BigEndian.Uint16(r.Key[2:])
		if kind != controlAbort && kind != controlCommit {
			return fmt.Errorf("%w: control record of type %d", ErrNotMarker, kind)
		}
		if len(r.Value) < 6 {
			return fmt.Errorf("%w: value of %d bytes", ErrNotMarker, len(r.Value))
		}
		m = Marker{Commit: kind == controlCommit, CoordinatorEpoch: int32(binary.BigEndian.Uint32(r.Value[2:]))}
		return nil
	})
	return m, err
}
