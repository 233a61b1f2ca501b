package integration

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/record"
)

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

// transactor takes the steps of a transactional producer one at a time, so that a test can stop between any two.
type transactor struct {
	t     *testing.T
	conn  *Conn
	id    string // transactional id
	bumps bool   // transaction version 2: the epoch is raised with each end
	stamp int64  // timestamp of the records, 0 for now
	// timeoutMs is the transaction's.
	timeoutMs int32

	producer  record.Producer
	sequences map[place]int32
}

func newTransactor(t *testing.T, addr, id string, bumps bool) *transactor {
	t.Helper()
	x := &transactor{t: t, id: id, bumps: bumps, timeoutMs: 900_000, sequences: map[place]int32{}}
	x.use(addr)
	return x
}

// use goes on with the broker at another address, or with one that was started again.
func (x *transactor) use(addr string) {
	x.t.Helper()
	if x.conn != nil {
		x.conn.Close()
	}
	conn, err := dial(addr)
	if err != nil {
		x.t.Fatal(err)
	}
	x.conn = conn
	x.t.Cleanup(conn.Close)
}

// version is the version of a request for the producer's kind of transactions.
func (x *transactor) version(plain, bumping int16) int16 {
	if x.bumps {
		return bumping
	}
	return plain
}

// answer sends a request.
func answer[R kmsg.Response](x *transactor, q kmsg.Request, version int16) R {
	x.t.Helper()
	resp, err := x.conn.Request(q, version)
	if err != nil {
		x.t.Fatalf("%T of %s: %v", q, x.id, err)
	}
	return resp.(R)
}

// passing are the errors after which a client asks again: the coordinator loads, is looked for, or ends a transaction.
func passing(code int16) bool {
	return slices.Contains([]int16{14, 15, 16, kerr.ConcurrentTransactions.Code}, code)
}

// must asks until there is an answer that lasts, which must be no error.
func (x *transactor) must(what string, step func() int16) {
	x.t.Helper()
	var code int16
	await(2*patience, func() bool {
		code = step()
		return !passing(code)
	})
	if code != 0 {
		x.t.Fatalf("%s of %s: %s", what, x.id, coded(code))
	}
}

// coordinator makes the topic that keeps the coordinator's state by asking for the coordinator; kind 0 is that of a group.
func (x *transactor) coordinator(kind int8, key string) {
	x.t.Helper()
	x.must("find coordinator", func() int16 {
		q := kmsg.NewPtrFindCoordinatorRequest()
		q.CoordinatorType, q.CoordinatorKeys = kind, []string{key}
		return answer[*kmsg.FindCoordinatorResponse](x, q, 4).Coordinators[0].ErrorCode
	})
}

// begin gets the next epoch.
func (x *transactor) begin() {
	x.t.Helper()
	x.coordinator(1, x.id)
	x.must("init", x.init)
}

// init asks for a producer id once.
func (x *transactor) init() int16 {
	x.t.Helper()
	q := kmsg.NewPtrInitProducerIDRequest()
	q.TransactionalID, q.TransactionTimeoutMillis = &x.id, x.timeoutMs
	a := answer[*kmsg.InitProducerIDResponse](x, q, 4)
	if a.ErrorCode == 0 {
		x.continueAs(a.ProducerID, a.ProducerEpoch)
	}
	return a.ErrorCode
}

func (x *transactor) continueAs(id int64, epoch int16) {
	x.producer = record.Producer{ID: id, Epoch: epoch}
	clear(x.sequences)
}

// write produces values to a partition, which joins the transaction.
func (x *transactor) write(p place, values ...string) {
	x.t.Helper()
	if !x.bumps {
		x.must("add partition", func() int16 { return x.add(p) })
	}
	x.must("produce", func() int16 { return x.send(p, values...) })
}

// add makes a partition part of the transaction, as producers of version 1 do.
func (x *transactor) add(p place) int16 { return x.addAs(p, 3) }

func (x *transactor) addAs(p place, version int16) int16 {
	x.t.Helper()
	q := kmsg.NewPtrAddPartitionsToTxnRequest()
	q.TransactionalID, q.ProducerID, q.ProducerEpoch = x.id, x.producer.ID, x.producer.Epoch
	t := kmsg.NewAddPartitionsToTxnRequestTopic()
	t.Topic, t.Partitions = p.topic, []int32{p.partition}
	q.Topics = append(q.Topics, t)
	return answer[*kmsg.AddPartitionsToTxnResponse](x, q, version).Topics[0].Partitions[0].ErrorCode
}

// send produces a transactional batch.
func (x *transactor) send(p place, values ...string) int16 {
	x.t.Helper()
	producer := x.producer
	producer.BaseSequence = x.sequences[p]
	b := record.NewBuilder(record.BuilderOptions{Transactional: true, Producer: &producer})
	now := x.stamp
	if now == 0 {
		now = time.Now().UnixMilli()
	}
	for _, v := range values {
		if err := b.Append(record.Record{Timestamp: now, Value: []byte(v)}); err != nil {
			x.t.Fatal(err)
		}
	}
	batch, err := b.Build()
	if err != nil {
		x.t.Fatal(err)
	}
	q := kmsg.NewPtrProduceRequest()
	q.TransactionID, q.Acks, q.TimeoutMillis = &x.id, -1, 30_000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = p.topic
	part := kmsg.NewProduceRequestTopicPartition()
	part.Partition, part.Records = p.partition, batch
	t.Partitions = append(t.Partitions, part)
	q.Topics = append(q.Topics, t)
	code := answer[*kmsg.ProduceResponse](x, q, x.version(9, 12)).Topics[0].Partitions[0].ErrorCode
	if code == 0 {
		x.sequences[p] += int32(len(values))
	}
	return code
}

// commitOffset commits a group's offset for a partition in the transaction.
func (x *transactor) commitOffset(group string, p place, offset int64) {
	x.t.Helper()
	x.coordinator(0, group)
	if !x.bumps {
		x.must("add offsets", func() int16 {
			q := kmsg.NewPtrAddOffsetsToTxnRequest()
			q.TransactionalID, q.ProducerID, q.ProducerEpoch, q.Group = x.id, x.producer.ID, x.producer.Epoch, group
			return answer[*kmsg.AddOffsetsToTxnResponse](x, q, 3).ErrorCode
		})
	}
	x.must("commit offset", func() int16 {
		q := kmsg.NewPtrTxnOffsetCommitRequest()
		q.TransactionalID, q.ProducerID, q.ProducerEpoch, q.Group, q.Generation = x.id, x.producer.ID, x.producer.Epoch, group, -1
		t := kmsg.NewTxnOffsetCommitRequestTopic()
		t.Topic = p.topic
		o := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		o.Partition, o.Offset, o.LeaderEpoch, o.Metadata = p.partition, offset, -1, kmsg.StringPtr("")
		t.Partitions = append(t.Partitions, o)
		q.Topics = append(q.Topics, t)
		return answer[*kmsg.TxnOffsetCommitResponse](x, q, x.version(4, 5)).Topics[0].Partitions[0].ErrorCode
	})
}

// tryEnd ends the transaction: what the answer is is the caller's to judge.
func (x *transactor) tryEnd(commit bool) int16 {
	x.t.Helper()
	q := kmsg.NewPtrEndTxnRequest()
	q.TransactionalID, q.ProducerID, q.ProducerEpoch, q.Commit = x.id, x.producer.ID, x.producer.Epoch, commit
	a := answer[*kmsg.EndTxnResponse](x, q, x.version(3, 5))
	if a.ErrorCode == 0 && x.bumps {
		x.continueAs(a.ProducerID, a.ProducerEpoch)
	}
	return a.ErrorCode
}

// end ends the transaction and waits until it is complete.
func (x *transactor) end(commit bool) {
	x.t.Helper()
	x.must("end", func() int16 { return x.tryEnd(commit) })
	x.awaitState("CompleteCommit", "CompleteAbort")
}

// awaitState waits until the coordinator says that the transaction is in one of the states, and returns it.
func (x *transactor) awaitState(states ...string) string {
	x.t.Helper()
	var state string
	if !await(2*patience, func() bool {
		q := kmsg.NewPtrDescribeTransactionsRequest()
		q.TransactionalIDs = []string{x.id}
		state = answer[*kmsg.DescribeTransactionsResponse](x, q, 0).TransactionStates[0].State
		return slices.Contains(states, state)
	}) {
		x.t.Fatalf("the transaction of %s is %q, want one of %q", x.id, state, states)
	}
	return state
}
