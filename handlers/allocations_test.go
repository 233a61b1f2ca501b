package handlers

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/protocol"
	"minibroker/record"
)

// manyValues are those of so many records.
func manyValues(n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = strings.Repeat("v", 100)
	}
	return values
}

// asked is a request as the server hands it over, answered and encoded again and again.
func (a *dataAPI) asked(t testing.TB, version int16, body kmsg.Request) func() {
	body.SetVersion(version)
	request := &protocol.Request{Key: body.Key(), Version: version, Body: body, Listener: "PLAINTEXT"}
	var encoded []byte
	return func() {
		response, err := a.Handle(context.Background(), request)
		if err != nil {
			t.Fatal(err)
		}
		if response.Body != nil {
			encoded = response.Body.AppendTo(encoded[:0])
		}
		response.Release()
	}
}

// TestProduceAllocatesNothingPerRecord: a batch of a thousand records costs as many allocations as a batch of one, from the
// decoded request to the encoded answer, whatever codec the producer used.
func TestProduceAllocatesNothingPerRecord(t *testing.T) {
	for codec := record.None; codec <= record.Zstd; codec++ {
		t.Run(codec.String(), func(t *testing.T) {
			measure := func(n int) float64 {
				a := newDataAPI(t)
				id := a.topic("t", 1, func(c *logstore.Config) { c.IndexBytes = 1 << 20 })
				sent := batchOf(t, record.BuilderOptions{Codec: codec}, manyValues(n)...)
				body := produceTo("", id, -1, 0, make([]byte, len(sent)))
				produce := a.asked(t, 13, body)
				allocations := testing.AllocsPerRun(100, func() {
					copy(body.Topics[0].Partitions[0].Records, sent)
					produce()
				})
				if end := a.logOf("t", 0).EndOffset(); end != int64(101*n) { // AllocsPerRun runs once more, to warm up
					t.Fatalf("the log ends at %d", end)
				}
				return allocations
			}
			one, thousand := measure(1), measure(1000)
			t.Logf("%v allocations for a record, %v for a thousand", one, thousand)
			if thousand > one+allocationNoise {
				t.Errorf("%v allocations for a batch of one record, %v for one of a thousand", one, thousand)
			}
		})
	}
}

// TestFetchAllocatesNothingPerRecord: nor does an answer of a thousand records.
func TestFetchAllocatesNothingPerRecord(t *testing.T) {
	measure := func(n int) float64 {
		a := newDataAPI(t)
		id := a.topic("t", 1)
		a.mustProduce("t", 0, manyValues(n)...)
		return testing.AllocsPerRun(100, a.asked(t, 17, fetchFrom("", id, 0, 0)))
	}
	one, thousand := measure(1), measure(1000)
	t.Logf("%v allocations for a record, %v for a thousand", one, thousand)
	if thousand > one+allocationNoise {
		t.Errorf("%v allocations for a fetch of one record, %v for one of a thousand", one, thousand)
	}
}

// benchAsked measures a request.
func benchAsked(b *testing.B, ask func()) {
	b.ReportAllocs()
	for b.Loop() {
		ask()
	}
}

// BenchmarkListOffsets asks for the end, the start and a timestamp of ten partitions.
func BenchmarkListOffsets(b *testing.B) {
	a := newDataAPI(b)
	a.topic("t", 10)
	for i := range 100 {
		a.mustProduce("t", i%10, manyValues(10)...)
	}
	for name, timestamp := range map[string]int64{"latest": -1, "earliest": -2, "timestamp": 1005} {
		b.Run(name, func(b *testing.B) {
			r, t := kmsg.NewPtrListOffsetsRequest(), kmsg.NewListOffsetsRequestTopic()
			r.ReplicaID, t.Topic = -1, "t"
			for n := range 10 {
				p := kmsg.NewListOffsetsRequestTopicPartition()
				p.Partition, p.Timestamp, p.CurrentLeaderEpoch = int32(n), timestamp, -1
				t.Partitions = append(t.Partitions, p)
			}
			r.Topics = append(r.Topics, t)
			benchAsked(b, a.asked(b, 7, r))
		})
	}
}

// BenchmarkMetadata is what each client asks for again and again: one topic of ten partitions.
func BenchmarkMetadata(b *testing.B) {
	a := newDataAPI(b)
	a.topic("t", 10)
	r, t := kmsg.NewPtrMetadataRequest(), kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr("t")
	r.Topics = append(r.Topics, t)
	benchAsked(b, a.asked(b, 12, r))
}

// BenchmarkGroup measures what a member of a group that is settled asks for.
func BenchmarkGroup(b *testing.B) {
	admin, _ := newGroupAPI(b)
	a := &dataAPI{adminAPI: admin}
	j := a.joined("g")
	s := kmsg.NewPtrSyncGroupRequest()
	s.Group, s.Generation, s.MemberID = "g", j.Generation, j.MemberID
	s.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: j.MemberID, MemberAssignment: []byte("all")}}
	if got := ask[*kmsg.SyncGroupResponse](admin, 4, s); got.ErrorCode != 0 {
		b.Fatalf("sync: error %d", got.ErrorCode)
	}
	b.Run("heartbeat", func(b *testing.B) {
		r := kmsg.NewPtrHeartbeatRequest()
		r.Group, r.Generation, r.MemberID = "g", j.Generation, j.MemberID
		benchAsked(b, a.asked(b, 4, r))
	})
	for _, partitions := range []int{1, 2} {
		b.Run(fmt.Sprintf("commit of %d", partitions), func(b *testing.B) {
			r := commitRequest("g")
			for n := range partitions {
				p := kmsg.NewOffsetCommitRequestTopicPartition()
				p.Partition, p.Offset = int32(n), 7
				r.Topics[0].Partitions = append(r.Topics[0].Partitions, p)
			}
			r.Generation, r.MemberID = j.Generation, j.MemberID
			benchAsked(b, a.asked(b, 8, r))
		})
	}
	b.Run("offset fetch", func(b *testing.B) {
		r := kmsg.NewPtrOffsetFetchRequest()
		r.Group, r.Topics = "g", []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0, 1}}}
		benchAsked(b, a.asked(b, 6, r))
	})
}

// BenchmarkTransaction is a transaction of one record in each of some partitions, from the first record to the last marker.
func BenchmarkTransaction(b *testing.B) {
	for _, partitions := range []int{1, 10} {
		b.Run(fmt.Sprintf("%d partitions", partitions), func(b *testing.B) {
			a := newDataAPI(b)
			a.txnLog.partitions = 1
			a.txns.Lead(0)
			id := a.topic("t", int32(partitions))
			name := "txn"
			init := kmsg.NewPtrInitProducerIDRequest()
			init.TransactionalID, init.TransactionTimeoutMillis, init.ProducerID, init.ProducerEpoch = &name, 60_000, -1, -1
			producer := answered[*kmsg.InitProducerIDResponse](a, 4, init)
			epoch := producer.ProducerEpoch
			b.ReportAllocs()
			for b.Loop() {
				request := produceTo("t", id, -1)
				request.TransactionID = &name
				set := batchOf(b, record.BuilderOptions{Transactional: true, Producer: &record.Producer{ID: producer.ProducerID, Epoch: epoch}}, "x")
				for n := range partitions {
					p := kmsg.NewProduceRequestTopicPartition()
					p.Partition, p.Records = int32(n), set
					request.Topics[0].Partitions = append(request.Topics[0].Partitions, p)
				}
				for _, p := range answered[*kmsg.ProduceResponse](a, 12, request).Topics[0].Partitions {
					if p.ErrorCode != codeNone {
						b.Fatalf("produce to %d: error %d", p.Partition, p.ErrorCode)
					}
				}
				end := kmsg.NewPtrEndTxnRequest()
				end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = name, producer.ProducerID, epoch, true
				ended := answered[*kmsg.EndTxnResponse](a, 5, end)
				if ended.ErrorCode != codeNone {
					b.Fatalf("end: error %d", ended.ErrorCode)
				}
				epoch = ended.ProducerEpoch
			}
		})
	}
}
