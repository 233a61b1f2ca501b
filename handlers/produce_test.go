package handlers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/protocol"
	"minibroker/record"
	"minibroker/txn"
)

// outcomes writes what a Produce answer says as "partition:code@offset".
func outcomes(r *kmsg.ProduceResponse) string {
	var all []string
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			p := &r.Topics[i].Partitions[j]
			all = append(all, fmt.Sprintf("%s%d:%d@%d", r.Topics[i].Topic, p.Partition, p.ErrorCode, p.BaseOffset))
		}
	}
	return strings.Join(all, " ")
}

func TestProduceInEveryVersion(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 1)
	for version := int16(3); version <= 13; version++ {
		request := produceTo("t", id, -1, 0, records(t, "a", "b"))
		answer := answered[*kmsg.ProduceResponse](a, version, request)
		p := answer.Topics[0].Partitions[0]
		if p.ErrorCode != 0 || p.BaseOffset != 2*int64(version-3) || p.LogAppendTime != -1 {
			t.Errorf("v%d: %+v", version, p)
		}
		if version >= 5 && p.LogStartOffset != 0 {
			t.Errorf("v%d: log start %d", version, p.LogStartOffset)
		}
		if version >= 13 && answer.Topics[0].TopicID != id {
			t.Errorf("v%d: topic id %x", version, answer.Topics[0].TopicID)
		}
	}
}

func TestProduceRefusals(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 3)
	a.topic("__consumer_offsets", 1)
	a.topic("compacted", 1, func(c *logstore.Config) { c.Compact, c.Delete = true, false })
	a.removePartition("t", 2)
	good := func() []byte { return records(t, "x") }
	wrong := func(change func([]byte)) []byte {
		set := good()
		change(set)
		return set
	}
	two := append(good(), good()...)
	zstd := batchOf(t, record.BuilderOptions{Codec: record.Zstd}, "x")
	txn := batchOf(t, record.BuilderOptions{Transactional: true, Producer: &record.Producer{ID: 5}}, "x")
	badMagic := wrong(func(b []byte) { b[16] = 3 })
	cases := []struct {
		name    string
		version int16
		request *kmsg.ProduceRequest
		want    string
	}{
		{"unknown topic", 9, produceTo("none", id, 1, 0, good()), "none0:3@-1"},
		{"unknown partitions", 9, produceTo("t", id, 1, 7, good(), -1, good()), "t7:3@-1 t-1:3@-1"},
		{"unknown id", 13, produceTo("", [16]byte{1}, 1, 0, good()), "0:100@-1"},
		{"unknown partition of an id", 13, produceTo("", id, 1, 9, good()), "9:3@-1"},
		{"acks", 9, produceTo("t", id, 2, 0, good()), "t0:21@-1"},
		{"internal topic", 9, produceTo("__consumer_offsets", id, 1, 0, good()), "__consumer_offsets0:17@-1"},
		{"two batches", 9, produceTo("t", id, 1, 0, two), "t0:87@-1"},
		{"no batch", 9, produceTo("t", id, 1, 0, []byte{}), "t0:87@-1"},
		{"null", 9, produceTo("t", id, 1, 0, nil), "t0:87@-1"},
		{"checksum", 9, produceTo("t", id, 1, 0, wrong(func(b []byte) { b[17]++ })), "t0:2@-1"},
		{"old zstd", 6, produceTo("t", id, 1, 0, zstd), "t0:76@-1"},
		{"one bad magic fails all", 9, produceTo("t", id, 1, 0, good(), 1, badMagic), "t0:2@-1 t1:2@-1"},
		{"transactional without an id", 9, produceTo("t", id, 1, 0, good(), 1, txn), "t0:53@-1 t1:53@-1"},
		{"not served", 9, produceTo("t", id, 1, 2, good()), "t2:6@-1"},
		{"no key", 9, produceTo("compacted", id, 1, 0, good()), "compacted0:87@-1"},
		{"nothing", 9, produceTo("t", id, 1), ""},
	}
	for _, c := range cases {
		if got := outcomes(answered[*kmsg.ProduceResponse](a, c.version, c.request)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	for _, name := range []string{"t", "__consumer_offsets", "compacted"} {
		p, err := a.partitions.Get(logstore.TopicPartition{Topic: name})
		if err != nil || p.EndOffset() != 0 {
			t.Errorf("%s has records up to %d, error %v", name, p.EndOffset(), err)
		}
	}
}

func TestProduceTellsWhichRecordIsWrong(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 1, func(c *logstore.Config) { c.Compact, c.Delete = true, false })
	p := answered[*kmsg.ProduceResponse](a, 9, produceTo("t", id, 1, 0, records(t, "a", "b"))).Topics[0].Partitions[0]
	const sentence = "Compacted topic cannot accept message without key in topic partition t-0"
	if len(p.ErrorRecords) != 2 || p.ErrorRecords[1].RelativeOffset != 1 || *p.ErrorRecords[1].ErrorMessage != sentence {
		t.Errorf("error records %d, the last says %q", len(p.ErrorRecords), *p.ErrorRecords[len(p.ErrorRecords)-1].ErrorMessage)
	}
	if p.ErrorMessage == nil || !strings.HasPrefix(*p.ErrorMessage, "One or more records have been rejected due to 2 record errors") || p.LogStartOffset != 0 {
		t.Errorf("answer %+v", p)
	}
}

func TestProduceNamesTheLeader(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 1)
	a.removePartition("t", 0)
	for version := int16(9); version <= 13; version++ {
		answer := answered[*kmsg.ProduceResponse](a, version, produceTo("t", id, 1, 0, records(t, "x")))
		p := answer.Topics[0].Partitions[0]
		if p.ErrorCode != codeNotLeaderOrFollower {
			t.Fatalf("v%d: code %d", version, p.ErrorCode)
		}
		if version < 10 {
			if p.CurrentLeader.LeaderID != -1 || len(answer.Brokers) != 0 {
				t.Errorf("v%d names a leader: %+v", version, answer)
			}
			continue
		}
		if p.CurrentLeader.LeaderID != 1 || p.CurrentLeader.LeaderEpoch != 0 || len(answer.Brokers) != 1 ||
			answer.Brokers[0].Host != "broker.example" || answer.Brokers[0].Port != 9092 {
			t.Errorf("v%d: %+v", version, answer)
		}
	}
}

func TestProduceTheSamePartitionTwice(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 2)
	first, second := records(t, "first"), records(t, "the second")
	request := produceTo("t", id, 1, 0, first, 1, records(t, "x"))
	request.Topics = append(request.Topics, produceTo("t", id, 1, 0, second).Topics[0])
	if got := outcomes(answered[*kmsg.ProduceResponse](a, 9, request)); got != "t0:0@0 t1:0@0" {
		t.Errorf("outcomes %s", got)
	}
	p, err := a.partitions.Get(logstore.TopicPartition{Topic: "t"})
	if err != nil || p.Log().Size() != int64(len(second)) {
		t.Errorf("the log has %d bytes, want those of the second set, %d", p.Log().Size(), len(second))
	}
}

func TestProduceWithoutAnAnswer(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 1)
	if answer, err := a.serve(9, produceTo("t", id, 0, 0, records(t, "x")), "test"); answer != nil || err != nil {
		t.Errorf("acks=0 is answered by %v, error %v", answer, err)
	}
	for _, request := range []*kmsg.ProduceRequest{
		produceTo("none", id, 0, 0, records(t, "x")),
		produceTo("t", id, 0, 0, []byte("garbage")),
	} {
		if answer, err := a.serve(9, request, "test"); err == nil {
			t.Errorf("a failed acks=0 leaves the connection open, answer %v", answer)
		}
	}
}

func TestOnlyTheAdminClientWritesInternalTopics(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("__consumer_offsets", 1)
	answer, err := a.serve(9, produceTo("__consumer_offsets", id, 1, 0, records(t, "x")), adminClientID)
	if err != nil || outcomes(answer.(*kmsg.ProduceResponse)) != "__consumer_offsets0:0@0" {
		t.Errorf("answer %+v, error %v", answer, err)
	}
}

func TestIdempotentProduce(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 1)
	send := func(epoch int16, sequence int32) string {
		producer := &record.Producer{ID: 9, Epoch: epoch, BaseSequence: sequence}
		set := batchOf(t, record.BuilderOptions{Producer: producer}, "a", "b")
		return outcomes(answered[*kmsg.ProduceResponse](a, 9, produceTo("t", id, -1, 0, set)))
	}
	for _, s := range []struct {
		epoch    int16
		sequence int32
		want     string
	}{
		{0, 0, "t0:0@0"}, {0, 0, "t0:0@0"}, {0, 2, "t0:0@2"}, {0, 5, "t0:45@-1"}, {1, 0, "t0:0@4"}, {0, 4, "t0:47@-1"}, {2, 7, "t0:45@-1"},
	} {
		if got := send(s.epoch, s.sequence); got != s.want {
			t.Errorf("epoch %d sequence %d: %s, want %s", s.epoch, s.sequence, got, s.want)
		}
	}
}

func TestTransactionalProduceOutsideATransaction(t *testing.T) {
	a := newDataAPI(t)
	a.txnLog.partitions = 1
	a.txns.Lead(0)
	id := a.topic("t", 1)
	name := "txn"
	producer, err := a.txns.InitProducerID(txn.InitRequest{ID: name, TimeoutMs: 60_000})
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[int16]string{9: "t0:48@-1", 10: "t0:48@-1", 11: "t0:120@-1"} {
		request := produceTo("t", id, -1, 0, batchOf(t, record.BuilderOptions{Transactional: true, Producer: &record.Producer{ID: producer.ID}}, "x"))
		request.TransactionID = &name
		if got := outcomes(answered[*kmsg.ProduceResponse](a, version, request)); got != want {
			t.Errorf("v%d: %s, want %s", version, got, want)
		}
	}
	// The bit without a producer, and the id without the bit, are taken.
	for i, set := range [][]byte{batchOf(t, record.BuilderOptions{Transactional: true}, "x"), records(t, "x")} {
		request := produceTo("t", id, -1, 0, set)
		request.TransactionID = &name
		if got, want := outcomes(answered[*kmsg.ProduceResponse](a, 9, request)), fmt.Sprintf("t0:0@%d", i); got != want {
			t.Errorf("set %d: %s, want %s", i, got, want)
		}
	}
}

// BenchmarkProduce measures one partition's batch from the decoded request to
// the encoded answer.
func BenchmarkProduce(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			a := newDataAPI(b)
			id := a.topic("t", 1)
			var values []string
			for n := 0; n < size; n += 108 {
				values = append(values, strings.Repeat("v", 100))
			}
			sent := records(b, values...)
			body := produceTo("", id, -1, 0, make([]byte, len(sent)))
			body.Version = 13
			request := &protocol.Request{Key: 0, Version: 13, Body: body, Listener: "PLAINTEXT"}
			var encoded []byte
			b.SetBytes(int64(len(sent)))
			b.ReportAllocs()
			for b.Loop() {
				copy(body.Topics[0].Partitions[0].Records, sent)
				response, err := a.Handle(b.Context(), request)
				if err != nil {
					b.Fatal(err)
				}
				encoded = response.Body.AppendTo(encoded[:0])
				response.Release()
			}
		})
	}
}
