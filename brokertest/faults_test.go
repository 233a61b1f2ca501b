package brokertest

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// endOffset is the end offset of a partition.
func endOffset(t *testing.T, client *kgo.Client, topic string, partition int32) int64 {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	rt := kmsg.NewListOffsetsRequestTopic()
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rt.Topic, rp.Partition, rp.Timestamp = topic, partition, -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(deadline(t), client)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Topics[0].Partitions[0].Offset
}

// TestProduceFaults: a client with retries gets over errors and lost answers, and each record is stored once.
func TestProduceFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]Fault{
		"not leader":      {API: "Produce", Topic: "orders", Error: "NOT_LEADER_OR_FOLLOWER", Times: 2},
		"other partition": {API: "Produce", Topic: "orders", Partition: Partition(1), Error: "NOT_LEADER_OR_FOLLOWER", Times: 1},
		"answer lost":     {API: "Produce", Drop: true, After: true, Times: 1},
		"timed out":       {API: "Produce", Error: "NOT_ENOUGH_REPLICAS_AFTER_APPEND", After: true, Times: 1},
		"connection lost": {API: "Produce", Drop: true, Times: 1},
		"metadata":        {API: "Metadata", Topic: "orders", Error: "LEADER_NOT_AVAILABLE", Times: 2},
		"late":            {API: "Produce", Delay: 20 * time.Millisecond, Times: 1},
		"every API":       {Error: "UNKNOWN_SERVER_ERROR", ClientID: "nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := New(t, Topic("orders", 2))
			injected := b.Fail(fault)
			client := newClient(t, b)
			records := []*kgo.Record{{Topic: "orders", Partition: 0, Value: []byte("a")}, {Topic: "orders", Partition: 1, Value: []byte("b")}}
			if err := client.ProduceSync(deadline(t), records...).FirstErr(); err != nil {
				t.Fatal(err)
			}
			for p := range int32(2) {
				if end := endOffset(t, client, "orders", p); end != 1 {
					t.Errorf("partition %d ends at %d", p, end)
				}
			}
			if injected.Count() != fault.Times {
				t.Errorf("the fault was met %d times, want %d", injected.Count(), fault.Times)
			}
		})
	}
}

// TestFetchFaults: an error for one partition leaves the other readable, with sessions that began before.
func TestFetchFaults(t *testing.T) {
	t.Parallel()
	b := New(t, Topic("orders", 2))
	writer := newClient(t, b)
	produce(t, writer, "orders", 0, "a")
	produce(t, writer, "orders", 1, "b")
	reader := newClient(t, b, kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(20*time.Millisecond))
	read := func(n int) (values []string) {
		t.Helper()
		for len(values) < n {
			fetches := reader.PollFetches(deadline(t))
			if err := fetches.Err(); err != nil {
				t.Fatal(err)
			}
			fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
		}
		slices.Sort(values)
		return values
	}
	if got := read(2); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("before: %q", got)
	}
	injected := b.Fail(Fault{API: "Fetch", Topic: "orders", Partition: Partition(0), Error: "KAFKA_STORAGE_ERROR"})
	produce(t, writer, "orders", 0, "c")
	produce(t, writer, "orders", 1, "d")
	if got := read(1); !slices.Equal(got, []string{"d"}) {
		t.Errorf("with the fault: %q", got)
	}
	b.Heal()
	if got := read(1); !slices.Equal(got, []string{"c"}) || injected.Count() == 0 {
		t.Errorf("after it: %q, met %d times", got, injected.Count())
	}
}

// TestCommitFaults: of one request, one partition is refused and the other committed; faults outlast a restart.
func TestCommitFaults(t *testing.T) {
	t.Parallel()
	b := New(t, Topic("a", 2))
	b.Fail(Fault{API: "OffsetCommit", Topic: "a", Partition: Partition(1), Error: "REBALANCE_IN_PROGRESS"})
	b.Restart()
	client := newClient(t, b)
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey, find.CoordinatorKeys = "g", []string{"g"}
	if _, err := find.RequestWith(deadline(t), client); err != nil {
		t.Fatal(err)
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = "g", -1
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID = "a", topicID(t, client, "a")
	for p := range int32(2) {
		part := kmsg.NewOffsetCommitRequestTopicPartition()
		part.Partition, part.Offset = p, 0
		topic.Partitions = append(topic.Partitions, part)
	}
	req.Topics = append(req.Topics, topic)
	codes := map[int32]int16{}
	resp, err := req.RequestWith(deadline(t), client)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range resp.Topics[0].Partitions {
		codes[p.Partition] = p.ErrorCode
	}
	if len(resp.Topics) != 1 || len(codes) != 2 || codes[0] != 0 || codes[1] != 27 {
		t.Errorf("answer %+v", resp)
	}
}

func topicID(t *testing.T, client *kgo.Client, name string) [16]byte {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &name
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(deadline(t), client)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Topics[0].TopicID
}
