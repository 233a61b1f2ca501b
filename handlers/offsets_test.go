package handlers

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/record"
)

// listFrom asks for offsets of a topic: partition, timestamp, ...
func listFrom(topic string, asks ...int) *kmsg.ListOffsetsRequest {
	request := kmsg.NewPtrListOffsetsRequest()
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for i := 0; i < len(asks); i += 2 {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = int32(asks[i]), int64(asks[i+1])
		t.Partitions = append(t.Partitions, p)
	}
	request.Topics = append(request.Topics, t)
	return request
}

// listed writes a ListOffsets answer as "partition:code=offset@timestamp/epoch".
func listed(r *kmsg.ListOffsetsResponse) string {
	var all []string
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			p := &r.Topics[i].Partitions[j]
			all = append(all, fmt.Sprintf("%d:%d=%d@%d/%d", p.Partition, p.ErrorCode, p.Offset, p.Timestamp, p.LeaderEpoch))
		}
	}
	return strings.Join(all, " ")
}

func TestListOffsets(t *testing.T) {
	a := newDataAPI(t)
	a.topic("t", 2)
	a.topic("empty", 1)
	a.mustProduce("t", 0, "0", "1", "2") // at 1000, 1001, 1002
	a.removePartition("t", 1)
	const nothing = "0:0=-1@-1/-1"
	const unsupported = "0:35=-1@-1/-1"
	cases := []struct {
		name    string
		version int16
		request *kmsg.ListOffsetsRequest
		want    string
	}{
		{"latest", 11, listFrom("t", 0, -1), "0:0=3@-1/0"},
		{"earliest", 11, listFrom("t", 0, -2), "0:0=0@-1/0"},
		{"largest timestamp", 11, listFrom("t", 0, -3), "0:0=2@1002/0"},
		{"local start", 11, listFrom("t", 0, -4), "0:0=0@-1/0"},
		{"latest tiered", 11, listFrom("t", 0, -5), nothing},
		{"earliest pending", 11, listFrom("t", 0, -6), nothing},
		{"no such time", 11, listFrom("t", 0, -7), unsupported},
		{"largest timestamp, too old", 6, listFrom("t", 0, -3), unsupported},
		{"local start, too old", 7, listFrom("t", 0, -4), unsupported},
		{"latest tiered, too old", 8, listFrom("t", 0, -5), unsupported},
		{"earliest pending, too old", 10, listFrom("t", 0, -6), unsupported},
		{"before all", 11, listFrom("t", 0, 0), "0:0=0@1000/0"},
		{"in between", 11, listFrom("t", 0, 1001), "0:0=1@1001/0"},
		{"after all", 11, listFrom("t", 0, 1003), nothing},
		{"empty, latest", 7, listFrom("empty", 0, -1), "0:0=0@-1/0"},
		{"empty, earliest", 7, listFrom("empty", 0, -2), "0:0=0@-1/0"},
		{"empty, largest timestamp", 7, listFrom("empty", 0, -3), nothing},
		{"empty, time", 7, listFrom("empty", 0, 5), nothing},
		{"unknown", 7, listFrom("t", 4, -1, 0, -1), "4:3=-1@-1/-1 0:0=3@-1/0"},
		{"twice", 7, listFrom("t", 0, -1, 0, -2), "0:42=-1@-1/-1"},
		{"not served", 7, listFrom("t", 1, -1), "1:6=-1@-1/-1"},
		{"nothing", 7, listFrom("t"), ""},
	}
	for _, c := range cases {
		if got := listed(answered[*kmsg.ListOffsetsResponse](a, c.version, c.request)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	request := listFrom("t", 0, -1)
	request.IsolationLevel = 7
	if got := listed(answered[*kmsg.ListOffsetsResponse](a, 7, request)); got != "0:-1=-1@-1/-1" {
		t.Errorf("unknown isolation: %s", got)
	}
	request = listFrom("t", 0, -1)
	request.Topics[0].Partitions[0].CurrentLeaderEpoch = 9
	if got := listed(answered[*kmsg.ListOffsetsResponse](a, 7, request)); got != "0:75=-1@-1/-1" {
		t.Errorf("unknown leader epoch: %s", got)
	}
}

// deleteFrom asks to delete records of a topic: partition, offset, ...
func deleteFrom(topic string, asks ...int) *kmsg.DeleteRecordsRequest {
	request := kmsg.NewPtrDeleteRecordsRequest()
	t := kmsg.NewDeleteRecordsRequestTopic()
	t.Topic = topic
	for i := 0; i < len(asks); i += 2 {
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Partition, p.Offset = int32(asks[i]), int64(asks[i+1])
		t.Partitions = append(t.Partitions, p)
	}
	request.Topics = append(request.Topics, t)
	return request
}

func TestDeleteRecords(t *testing.T) {
	a := newDataAPI(t)
	a.topic("t", 1)
	a.topic("__consumer_offsets", 1)
	a.topic("compacted", 1, func(c *logstore.Config) { c.Compact, c.Delete = true, false })
	a.topic("both", 1, func(c *logstore.Config) { c.Compact, c.Delete = true, true })
	a.mustProduce("t", 0, "0", "1", "2", "3")
	cases := []struct {
		name    string
		request *kmsg.DeleteRecordsRequest
		want    string
	}{
		{"to an offset", deleteFrom("t", 0, 2), "0:0<2"},
		{"already gone", deleteFrom("t", 0, 1), "0:0<2"},
		{"too far", deleteFrom("t", 0, 5), "0:1<-1"},
		{"negative", deleteFrom("t", 0, -2), "0:1<-1"},
		{"twice, the last counts", deleteFrom("t", 0, 9, 0, 3), "0:0<3"},
		{"all", deleteFrom("t", 0, -1), "0:0<4"},
		{"unknown partitions", deleteFrom("t", 1, 0, -1, 0), "1:3<-1 -1:3<-1"},
		{"unknown topic", deleteFrom("none", 0, 0), "0:3<-1"},
		{"internal", deleteFrom("__consumer_offsets", 0, 0), "0:17<-1"},
		{"compacted", deleteFrom("compacted", 0, 0), "0:44<-1"},
		{"compacted and deleted", deleteFrom("both", 0, 0), "0:0<0"},
		{"nothing", deleteFrom("t"), ""},
	}
	for _, c := range cases {
		answer := answered[*kmsg.DeleteRecordsResponse](a, 2, c.request)
		var all []string
		for i := range answer.Topics {
			for _, p := range answer.Topics[i].Partitions {
				all = append(all, fmt.Sprintf("%d:%d<%d", p.Partition, p.ErrorCode, p.LowWatermark))
			}
		}
		if got := strings.Join(all, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestOffsetForLeaderEpoch(t *testing.T) {
	a := newDataAPI(t)
	a.topic("t", 1)
	a.mustProduce("t", 0, "0", "1")
	cases := []struct {
		topic          string
		partition      int32
		current, epoch int32
		code           int16
		wantEpoch      int32
		wantEnd        int64
	}{
		{"t", 0, -1, 0, 0, 0, 2},
		{"t", 0, 0, 0, 0, 0, 2},
		{"t", 0, 0, 5, 0, -1, -1},
		{"t", 0, 5, 0, codeUnknownLeaderEpoch, -1, -1},
		{"t", 0, -1, -1, 0, -1, -1},
		{"t", 8, -1, 0, codeUnknownTopicOrPartition, -1, -1},
		{"none", 0, -1, 0, codeUnknownTopicOrPartition, -1, -1},
	}
	for _, c := range cases {
		request := kmsg.NewPtrOffsetForLeaderEpochRequest()
		topic := kmsg.NewOffsetForLeaderEpochRequestTopic()
		topic.Topic = c.topic
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = c.partition, c.current, c.epoch
		topic.Partitions = append(topic.Partitions, p)
		request.Topics = append(request.Topics, topic)
		for version := int16(2); version <= 4; version++ {
			got := answered[*kmsg.OffsetForLeaderEpochResponse](a, version, request).Topics[0].Partitions[0]
			if got.Partition != c.partition || got.ErrorCode != c.code || got.LeaderEpoch != c.wantEpoch || got.EndOffset != c.wantEnd {
				t.Errorf("v%d %+v: %+v", version, c, got)
			}
		}
	}
}

func TestInitProducerID(t *testing.T) {
	a := newDataAPI(t)
	ask := func(version int16, change func(*kmsg.InitProducerIDRequest)) *kmsg.InitProducerIDResponse {
		request := kmsg.NewPtrInitProducerIDRequest()
		request.TransactionTimeoutMillis = 60_000
		change(request)
		return answered[*kmsg.InitProducerIDResponse](a, version, request)
	}
	last := int64(-1)
	for i := range 2500 { // more than two blocks
		answer := ask(int16(i%6), func(*kmsg.InitProducerIDRequest) {})
		if answer.ErrorCode != 0 || answer.ProducerEpoch != 0 || answer.ProducerID <= last {
			t.Fatalf("id %d after %d: %+v", i, last, answer)
		}
		last = answer.ProducerID
	}
	empty, name := "", "txn"
	cases := []struct {
		what string
		do   func(*kmsg.InitProducerIDRequest)
		want int16
	}{
		{"empty id", func(r *kmsg.InitProducerIDRequest) { r.TransactionalID = &empty }, codeInvalidRequest},
		{"long timeout", func(r *kmsg.InitProducerIDRequest) { r.TransactionalID, r.TransactionTimeoutMillis = &name, 900_001 }, codeInvalidTransactionTimeout},
		{"no timeout", func(r *kmsg.InitProducerIDRequest) { r.TransactionalID, r.TransactionTimeoutMillis = &name, 0 }, codeInvalidTransactionTimeout},
		{"no epoch", func(r *kmsg.InitProducerIDRequest) { r.ProducerID = 7 }, codeInvalidRequest},
		{"no producer", func(r *kmsg.InitProducerIDRequest) { r.ProducerEpoch = 7 }, codeInvalidRequest},
		{"transactional", func(r *kmsg.InitProducerIDRequest) { r.TransactionalID = &name }, codeNotCoordinator},
	}
	for _, c := range cases {
		if answer := ask(4, c.do); answer.ErrorCode != c.want || answer.ProducerID != -1 || answer.ProducerEpoch != -1 {
			t.Errorf("%s: %+v, want code %d", c.what, answer, c.want)
		}
	}
}

func TestDescribeProducers(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 1)
	set := batchOf(t, record.BuilderOptions{Producer: &record.Producer{ID: 9, Epoch: 2, BaseSequence: 5}}, "a", "b")
	answered[*kmsg.ProduceResponse](a, 9, produceTo("t", id, -1, 0, set))
	describe := func(topic string, number int32) kmsg.DescribeProducersResponseTopicPartition {
		request := kmsg.NewPtrDescribeProducersRequest()
		ask := kmsg.NewDescribeProducersRequestTopic()
		ask.Topic, ask.Partitions = topic, []int32{number}
		request.Topics = append(request.Topics, ask)
		return answered[*kmsg.DescribeProducersResponse](a, 0, request).Topics[0].Partitions[0]
	}
	p := describe("t", 0)
	if len(p.ActiveProducers) != 1 {
		t.Fatalf("producers %+v", p)
	}
	got := p.ActiveProducers[0]
	if got.ProducerID != 9 || got.ProducerEpoch != 2 || got.LastSequence != 6 || got.LastTimestamp != 1001 || got.CoordinatorEpoch != -1 || got.CurrentTxnStartOffset != -1 {
		t.Errorf("producer %+v", got)
	}
	if p := describe("t", 5); p.ErrorCode != codeUnknownTopicOrPartition || p.ErrorMessage != nil {
		t.Errorf("unknown partition: %+v", p)
	}
	if p := describe("none", 0); p.ErrorCode != codeUnknownTopicOrPartition || p.ErrorMessage == nil {
		t.Errorf("unknown topic: %+v", p)
	}
	if p := describe("bad name", 0); p.ErrorCode != codeInvalidTopicException || p.ErrorMessage == nil {
		t.Errorf("bad name: %+v", p)
	}
}
