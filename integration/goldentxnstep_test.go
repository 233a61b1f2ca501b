package integration

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/record"
)

// step takes one step and words the answer as case.json does.
func (r *txnReplay) step(s txnStep) string {
	r.t.Helper()
	switch s.Do {
	case "start":
		r.start()
	case "stop":
		r.stop(s.Kill)
	case "tamper":
		r.tamper(s.Files)
	case "sleep":
		<-time.After(time.Duration(s.Ms) * time.Millisecond) // segments age meanwhile
	case "capture":
		r.capture(s)
	case "create_topic":
		if err := r.conn.CreateTopic(s.Topic, max(s.Partitions, 1), s.Configs); err != nil {
			r.t.Fatal(err)
		}
		return "ok"
	case "produce":
		return r.produce(s)
	case "fetch":
		return r.fetch(s)
	case "list_offsets":
		return fmt.Sprintf("LEO:%s LSO:%s", r.latest(s, 0), r.latest(s, 1))
	case "find_coordinator", "wait_txn", "describe_txn", "describe_producers", "offset_commit", "offset_fetch":
		return r.ask(s)
	default:
		return r.transactional(s)
	}
	return ""
}

// transactional takes a step of a producer's.
func (r *txnReplay) transactional(s txnStep) string {
	p := r.producers[s.Producer]
	switch s.Do {
	case "init_producer":
		return r.initProducer(s)
	case "add_partitions":
		q := kmsg.NewPtrAddPartitionsToTxnRequest()
		q.TransactionalID, q.ProducerID, q.ProducerEpoch = s.TxnID, p.id, p.epoch
		t := kmsg.NewAddPartitionsToTxnRequestTopic()
		t.Topic, t.Partitions = s.Topic, []int32{s.Partition}
		q.Topics = append(q.Topics, t)
		return coded(request[*kmsg.AddPartitionsToTxnResponse](r, q, 3).Topics[0].Partitions[0].ErrorCode)
	case "add_offsets":
		q := kmsg.NewPtrAddOffsetsToTxnRequest()
		q.TransactionalID, q.ProducerID, q.ProducerEpoch, q.Group = s.TxnID, p.id, p.epoch, s.Group
		return coded(request[*kmsg.AddOffsetsToTxnResponse](r, q, 3).ErrorCode)
	case "txn_offset_commit":
		q := kmsg.NewPtrTxnOffsetCommitRequest()
		q.TransactionalID, q.ProducerID, q.ProducerEpoch, q.Group, q.Generation = s.TxnID, p.id, p.epoch, s.Group, -1
		t := kmsg.NewTxnOffsetCommitRequestTopic()
		t.Topic = s.Topic
		o := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		o.Partition, o.Offset, o.LeaderEpoch, o.Metadata = s.Partition, s.Offset, -1, kmsg.StringPtr("")
		t.Partitions = append(t.Partitions, o)
		q.Topics = append(q.Topics, t)
		return coded(request[*kmsg.TxnOffsetCommitResponse](r, q, versionOr(s.Version, 4)).Topics[0].Partitions[0].ErrorCode)
	case "end_txn":
		q := kmsg.NewPtrEndTxnRequest()
		q.TransactionalID, q.ProducerID, q.ProducerEpoch, q.Commit = s.TxnID, p.id, p.epoch, s.Commit
		version := versionOr(s.Version, 4)
		a := request[*kmsg.EndTxnResponse](r, q, version)
		if version >= 5 && a.ErrorCode == 0 {
			p.id, p.epoch = a.ProducerID, a.ProducerEpoch
			return fmt.Sprintf("ok id=%d epoch=%d", p.id, p.epoch)
		}
		return coded(a.ErrorCode)
	}
	r.t.Fatalf("unknown step %q", s.Do)
	return ""
}

func request[R kmsg.Response](r *txnReplay, q kmsg.Request, version int16) R {
	r.t.Helper()
	resp, err := r.conn.Request(q, version)
	if err != nil {
		r.t.Fatalf("%T: %v\n%s", q, err, r.broker.Output())
	}
	return resp.(R)
}

func versionOr(version, usual int16) int16 {
	if version == 0 {
		return usual
	}
	return version
}

// coded is "ok" or the name and number of an error.
func coded(code int16) string {
	if code == 0 {
		return "ok"
	}
	return fmt.Sprintf("%s(%d)", kerr.TypedErrorForCode(code).Message, code)
}

func (r *txnReplay) initProducer(s txnStep) string {
	q := kmsg.NewPtrInitProducerIDRequest()
	if s.TxnID != "" {
		q.TransactionalID = &s.TxnID
	}
	q.TransactionTimeoutMillis = s.TimeoutMs
	if s.TimeoutMs == 0 {
		q.TransactionTimeoutMillis = 60_000
	}
	var a *kmsg.InitProducerIDResponse
	await(patience, func() bool { // an open transaction is aborted first
		a = request[*kmsg.InitProducerIDResponse](r, q, versionOr(s.Version, 4))
		return a.ErrorCode != 51 || s.Want == coded(51)
	})
	if a.ErrorCode != 0 {
		return coded(a.ErrorCode)
	}
	r.producers[s.Producer] = &txnProducer{a.ProducerID, a.ProducerEpoch}
	return fmt.Sprintf("ok id=%d epoch=%d", a.ProducerID, a.ProducerEpoch)
}

// ask takes the steps that only look, and plain commits.
func (r *txnReplay) ask(s txnStep) string {
	switch s.Do {
	case "find_coordinator":
		q := kmsg.NewPtrFindCoordinatorRequest()
		q.CoordinatorType, q.CoordinatorKeys = 1, []string{s.TxnID}
		if s.Group != "" {
			q.CoordinatorType, q.CoordinatorKeys = 0, []string{s.Group}
		}
		return coded(request[*kmsg.FindCoordinatorResponse](r, q, 4).Coordinators[0].ErrorCode)
	case "wait_txn":
		var state string
		await(patience, func() bool {
			state = r.describe(s.TxnID).State
			return strings.HasPrefix(state, "Complete") || state == "Empty"
		})
		return state
	case "describe_txn":
		d := r.describe(s.TxnID)
		return fmt.Sprintf("%s state=%s epoch=%d", coded(d.ErrorCode), d.State, d.ProducerEpoch)
	case "describe_producers":
		return r.describeProducers(s)
	case "offset_commit":
		q := kmsg.NewPtrOffsetCommitRequest()
		q.Group, q.Generation = s.Group, -1
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = s.Topic
		o := kmsg.NewOffsetCommitRequestTopicPartition()
		o.Partition, o.Offset, o.LeaderEpoch, o.Metadata = s.Partition, s.Offset, -1, kmsg.StringPtr("")
		t.Partitions = append(t.Partitions, o)
		q.Topics = append(q.Topics, t)
		return coded(request[*kmsg.OffsetCommitResponse](r, q, 8).Topics[0].Partitions[0].ErrorCode)
	}
	return r.committed(s, false) + "; " + r.committed(s, true)
}

func (r *txnReplay) describe(id string) kmsg.DescribeTransactionsResponseTransactionState {
	q := kmsg.NewPtrDescribeTransactionsRequest()
	q.TransactionalIDs = []string{id}
	return request[*kmsg.DescribeTransactionsResponse](r, q, 0).TransactionStates[0]
}

func (r *txnReplay) describeProducers(s txnStep) string {
	q := kmsg.NewPtrDescribeProducersRequest()
	t := kmsg.NewDescribeProducersRequestTopic()
	t.Topic, t.Partitions = s.Topic, []int32{s.Partition}
	q.Topics = append(q.Topics, t)
	p := request[*kmsg.DescribeProducersResponse](r, q, 0).Topics[0].Partitions[0]
	var all []string
	for _, a := range p.ActiveProducers {
		all = append(all, fmt.Sprintf("id=%d epoch=%d lastSeq=%d coordEpoch=%d txnStart=%d",
			a.ProducerID, a.ProducerEpoch, a.LastSequence, a.CoordinatorEpoch, a.CurrentTxnStartOffset))
	}
	slices.Sort(all)
	return coded(p.ErrorCode) + " " + strings.Join(all, "; ")
}

func (r *txnReplay) committed(s txnStep, stable bool) string {
	q := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = s.Group
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.Partitions = s.Topic, []int32{s.Partition}
	g.Topics = append(g.Topics, t)
	q.Groups, q.RequireStable = append(q.Groups, g), stable
	p := request[*kmsg.OffsetFetchResponse](r, q, 8).Groups[0].Topics[0].Partitions[0]
	return fmt.Sprintf("stable=%v offset=%d %s", stable, p.Offset, coded(p.ErrorCode))
}

func (r *txnReplay) latest(s txnStep, isolation int8) string {
	q := kmsg.NewPtrListOffsetsRequest()
	q.ReplicaID, q.IsolationLevel = -1, isolation
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = s.Topic
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = s.Partition, -1
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	a := request[*kmsg.ListOffsetsResponse](r, q, 7).Topics[0].Partitions[0]
	return fmt.Sprintf("%d %s", a.Offset, coded(a.ErrorCode))
}

// produce sends each batch of the step's file in a request of its own.
func (r *txnReplay) produce(s txnStep) string {
	c, ok := r.c.files[s.File]
	if !ok {
		r.t.Fatalf("no input %s", s.File)
	}
	rest := append(slices.Clone(c.Data), make([]byte, c.Size-int64(len(c.Data)))...)
	var all []string
	for len(rest) > 0 {
		b, tail, err := record.Next(rest)
		if err != nil {
			b, tail = rest, nil
		}
		all = append(all, r.produceBatch(s, b))
		rest = tail
	}
	if len(all) > 6 {
		all = []string{all[0], fmt.Sprintf("... %d batches ...", len(all)), all[len(all)-1]}
	}
	return strings.Join(all, "; ")
}

func (r *txnReplay) produceBatch(s txnStep, b []byte) string {
	if p := r.producers[s.Producer]; p != nil {
		binary.BigEndian.PutUint64(b[43:], uint64(p.id))
		binary.BigEndian.PutUint16(b[51:], uint16(p.epoch))
		binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	}
	q := kmsg.NewPtrProduceRequest()
	if s.TxnID != "" {
		q.TransactionID = &s.TxnID
	}
	q.Acks, q.TimeoutMillis = -1, 10_000
	t := kmsg.NewProduceRequestTopic()
	t.Topic = s.Topic
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = s.Partition, b
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	a := request[*kmsg.ProduceResponse](r, q, versionOr(s.Version, 9)).Topics[0].Partitions[0]
	words := fmt.Sprintf("%s base=%d", coded(a.ErrorCode), a.BaseOffset)
	if a.ErrorCode != 0 {
		words += " msg=" + text(a.ErrorMessage)
	}
	return words
}

func (r *txnReplay) fetch(s txnStep) string {
	q := kmsg.NewPtrFetchRequest()
	q.MaxWaitMillis, q.MaxBytes, q.IsolationLevel, q.SessionEpoch = 50, 1<<26, s.Isolation, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic = s.Topic
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = s.Partition, s.Offset, max(s.MaxBytes, 1)
	t.Partitions = append(t.Partitions, p)
	q.Topics = append(q.Topics, t)
	a := request[*kmsg.FetchResponse](r, q, 12).Topics[0].Partitions[0]
	var batches, aborted []string
	rest := a.RecordBatches
	for len(rest) > 0 {
		b, tail, err := record.Next(rest)
		if err != nil {
			break
		}
		batches = append(batches, fmt.Sprintf("%d-%d/%d", b.BaseOffset(), b.LastOffset(), b.Count()))
		rest = tail
	}
	words := fmt.Sprintf("%s bytes=%d batches=%v partial=%d HW=%d LSO=%d start=%d", coded(a.ErrorCode), len(a.RecordBatches), batches,
		len(rest), a.HighWatermark, a.LastStableOffset, a.LogStartOffset)
	for _, x := range a.AbortedTransactions {
		aborted = append(aborted, fmt.Sprintf("%d@%d", x.ProducerID, x.FirstOffset))
	}
	switch {
	case a.AbortedTransactions != nil:
		words += fmt.Sprintf(" aborted=%v", aborted)
	case s.Isolation == 1:
		words += " aborted=null"
	}
	return words
}
