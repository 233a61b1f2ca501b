package txn

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/record"
)

// The records of __transaction_state:
//
//	key    i16 version 0, string transactional id
//	value  i16 version: 0, or 1 with feature transaction.version at 1 or above
//	       i64 producer id, i16 epoch, i32 timeout ms, i8 state
//	       [{string topic, [i32] partitions}], null when the state is Empty
//	       i64 last update ms, i64 start ms
//	       version 1: previous and next producer id, client transaction version
//	       as tags 0 to 2 where they are not -1, -1, 0
//
// A null value removes the id.

// errRecord says that a record cannot be read.
var errRecord = errors.New("not a record of a transaction's state")

func appendKey(dst []byte, id string) []byte {
	key := kmsg.NewTxnMetadataKey()
	key.TransactionalID = id
	return key.AppendTo(dst)
}

func appendValue(dst []byte, m *metadata, version int16) []byte {
	v := kmsg.NewTxnMetadataValue()
	v.Version = version
	v.ProducerID, v.ProducerEpoch = m.producerID, m.epoch
	v.PreviousProducerID, v.NextProducerID = m.previousID, m.nextID
	v.TimeoutMillis = m.timeoutMs
	v.State = kmsg.TransactionState(m.state)
	v.LastUpdateTimestamp, v.StartTimestamp = m.updateMs, m.startMs
	v.ClientTransactionVersion = int16(m.clientVersion)
	if m.state != Empty {
		v.Topics = m.partitions.topics()
	}
	return v.AppendTo(dst)
}

// topics groups the partitions, not nil.
func (s partitionSet) topics() []kmsg.TxnMetadataValueTopic {
	topics := []kmsg.TxnMetadataValueTopic{}
	at := make(map[string]int)
	for _, p := range s.list {
		i, ok := at[p.Topic]
		if !ok {
			i = len(topics)
			at[p.Topic] = i
			t := kmsg.NewTxnMetadataValueTopic()
			t.Topic = p.Topic
			topics = append(topics, t)
		}
		topics[i].Partitions = append(topics[i].Partitions, p.Partition)
	}
	return topics
}

// parseKey returns the transactional id, false when the record is of another kind.
func parseKey(b []byte) (id string, ok bool, err error) {
	if len(b) < 2 {
		return "", false, fmt.Errorf("%w: key of %d bytes", errRecord, len(b))
	}
	if binary.BigEndian.Uint16(b) != 0 {
		return "", false, nil
	}
	key := kmsg.NewTxnMetadataKey()
	if err := key.ReadFrom(b); err != nil {
		return "", false, fmt.Errorf("%w: key: %w", errRecord, err)
	}
	return key.TransactionalID, true, nil
}

// parseValue reads a value. Its lengths are bounded by the bytes there are.
func parseValue(b []byte) (metadata, error) {
	if len(b) < 2 {
		return metadata{}, fmt.Errorf("%w: value of %d bytes", errRecord, len(b))
	}
	if version := int16(binary.BigEndian.Uint16(b)); version < 0 || version > 1 {
		return metadata{}, fmt.Errorf("%w: value of version %d", errRecord, version)
	}
	v := kmsg.NewTxnMetadataValue()
	if err := v.ReadFrom(b); err != nil {
		return metadata{}, fmt.Errorf("%w: value: %w", errRecord, err)
	}
	m := metadata{
		producerID: v.ProducerID, previousID: v.PreviousProducerID, nextID: v.NextProducerID,
		epoch: v.ProducerEpoch, lastEpoch: noEpoch, timeoutMs: v.TimeoutMillis, state: State(v.State),
		startMs: v.StartTimestamp, updateMs: v.LastUpdateTimestamp, clientVersion: Version(v.ClientTransactionVersion),
	}
	if m.state < Empty || m.state > CompleteAbort {
		return metadata{}, fmt.Errorf("%w: state %d", errRecord, v.State)
	}
	if m.producerID < 0 || m.epoch < 0 {
		return metadata{}, fmt.Errorf("%w: producer id %d, epoch %d", errRecord, m.producerID, m.epoch)
	}
	if m.state == Empty {
		return m, nil
	}
	var list []Partition
	for i := range v.Topics {
		for _, p := range v.Topics[i].Partitions {
			list = append(list, Partition{Topic: v.Topics[i].Topic, Partition: p})
		}
	}
	if len(list) > 0 {
		m.partitions = m.partitions.with(list)
	}
	return m, nil
}

// stateBuilder is the memory of one batch of a state change, which is used again when the batch is in the log.
type stateBuilder struct {
	builder           record.Builder
	key, value, batch []byte
}

var stateBuilders = sync.Pool{New: func() any { return new(stateBuilder) }}

// build is the batch of one state change. It is good until the next.
func (s *stateBuilder) build(id string, m *metadata, version int16) (record.Batch, error) {
	s.builder.Reset(record.BuilderOptions{Into: s.batch})
	s.key, s.value = appendKey(s.key[:0], id), appendValue(s.value[:0], m, version)
	if err := s.builder.Append(record.Record{Timestamp: m.updateMs, Key: s.key, Value: s.value}); err != nil {
		return nil, err
	}
	batch, err := s.builder.Build()
	if err == nil {
		s.batch = batch
	}
	return batch, err
}

// PartitionFor is the partition of __transaction_state that keeps an id, of n:
// the size of Java's hash of the id modulo n.
func PartitionFor(id string, n int32) int32 {
	h := javaHash(id)
	if h == math.MinInt32 {
		return 0
	}
	return max(h, -h) % n
}

// javaHash is Java's String.hashCode: over UTF-16 units, in 32 bits.
func javaHash(s string) int32 {
	h := int32(0)
	for _, r := range s {
		if r >= 0x10000 {
			r -= 0x10000
			h = 31*h + (0xd800 + r>>10)
			r = 0xdc00 + r&0x3ff
		}
		h = 31*h + r
	}
	return h
}
