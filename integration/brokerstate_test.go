package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// newClient makes a client that asks one broker.
func newClient(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// ask sends a request and waits for its answer.
func ask[R kmsg.Response](t *testing.T, cl *kgo.Client, req kmsg.Request) R {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	resp, err := cl.Request(ctx, req)
	if err != nil {
		t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	return resp.(R)
}

// topicsOf lists all topics of a broker by name.
func topicsOf(t *testing.T, cl *kgo.Client) []kmsg.MetadataResponseTopic {
	t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	topics := ask[*kmsg.MetadataResponse](t, cl, req).Topics
	slices.SortFunc(topics, func(a, b kmsg.MetadataResponseTopic) int { return strings.Compare(*a.Topic, *b.Topic) })
	return topics
}

// brokerState describes what clients see of a broker, a line each: topics with ids and partitions, their own settings,
// every record, and what the groups have committed. Two brokers with equal lines hold the same data.
func brokerState(t *testing.T, addr string, groups ...string) []string {
	t.Helper()
	cl := newClient(t, addr)
	var lines []string
	topics := topicsOf(t, cl)
	for _, topic := range topics {
		lines = append(lines, fmt.Sprintf("topic %s id %x partitions %d", *topic.Topic, topic.TopicID, len(topic.Partitions)))
		for _, p := range topic.Partitions {
			if p.ErrorCode != 0 || p.Leader < 0 {
				t.Errorf("%s-%d: error %d, leader %d", *topic.Topic, p.Partition, p.ErrorCode, p.Leader)
			}
		}
	}
	lines = append(lines, ownSettings(t, cl, topics)...)
	lines = append(lines, allRecords(t, addr, topics)...)
	for _, group := range groups {
		lines = append(lines, committed(t, cl, group)...)
	}
	return lines
}

// ownSettings lists the settings that topics have for themselves.
func ownSettings(t *testing.T, cl *kgo.Client, topics []kmsg.MetadataResponseTopic) []string {
	t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, topic := range topics {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, *topic.Topic
		req.Resources = append(req.Resources, r)
	}
	var lines []string
	for _, r := range ask[*kmsg.DescribeConfigsResponse](t, cl, req).Resources {
		for _, c := range r.Configs {
			if c.Source == kmsg.ConfigSourceDynamicTopicConfig {
				lines = append(lines, fmt.Sprintf("setting %s %s=%s", r.ResourceName, c.Name, *c.Value))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// endOffsets asks for the end of every partition.
func endOffsets(t *testing.T, cl *kgo.Client, topics []kmsg.MetadataResponseTopic) map[string]map[int32]int64 {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	for _, topic := range topics {
		rt := kmsg.NewListOffsetsRequestTopic()
		rt.Topic = *topic.Topic
		for _, p := range topic.Partitions {
			rp := kmsg.NewListOffsetsRequestTopicPartition()
			rp.Partition, rp.Timestamp = p.Partition, -1
			rt.Partitions = append(rt.Partitions, rp)
		}
		req.Topics = append(req.Topics, rt)
	}
	ends := map[string]map[int32]int64{}
	for _, topic := range ask[*kmsg.ListOffsetsResponse](t, cl, req).Topics {
		ends[topic.Topic] = map[int32]int64{}
		for _, p := range topic.Partitions {
			if p.ErrorCode != 0 {
				t.Errorf("end of %s-%d: error %d", topic.Topic, p.Partition, p.ErrorCode)
			}
			ends[topic.Topic][p.Partition] = p.Offset
		}
	}
	return ends
}

// allRecords reads the topics that are not internal from their start to their end.
func allRecords(t *testing.T, addr string, topics []kmsg.MetadataResponseTopic) []string {
	t.Helper()
	start := map[string]map[int32]kgo.Offset{}
	topics = slices.DeleteFunc(slices.Clone(topics), func(topic kmsg.MetadataResponseTopic) bool { return strings.HasPrefix(*topic.Topic, "__") })
	left := endOffsets(t, newClient(t, addr), topics)
	waiting := 0
	for topic, partitions := range left {
		for p, end := range partitions {
			if end == 0 {
				continue
			}
			if start[topic] == nil {
				start[topic] = map[int32]kgo.Offset{}
			}
			start[topic][p] = kgo.NewOffset().AtStart()
			waiting++
		}
	}
	if waiting == 0 {
		return nil
	}
	cl := newClient(t, addr, kgo.ConsumePartitions(start), kgo.KeepControlRecords(), kgo.FetchMaxWait(100_000_000))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var lines []string
	for waiting > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%d partitions not read to their end: %v", waiting, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			lines = append(lines, fmt.Sprintf("record %s-%d @%d %d %d/%d %q=%q", r.Topic, r.Partition, r.Offset, r.Timestamp.UnixMilli(), r.ProducerID, r.ProducerEpoch, r.Key, r.Value))
			if r.Offset+1 >= left[r.Topic][r.Partition] {
				waiting--
			}
		})
	}
	slices.Sort(lines)
	return lines
}

// committed lists the offsets that a group has committed.
func committed(t *testing.T, cl *kgo.Client, group string) []string {
	t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	var lines []string
	for _, topic := range ask[*kmsg.OffsetFetchResponse](t, cl, req).Topics {
		for _, p := range topic.Partitions {
			lines = append(lines, fmt.Sprintf("group %s at %s-%d %d", group, topic.Topic, p.Partition, p.Offset))
		}
	}
	slices.Sort(lines)
	return lines
}

// topicID looks a topic's id up.
func topicID(t *testing.T, cl *kgo.Client, name string) [16]byte {
	t.Helper()
	for _, topic := range topicsOf(t, cl) {
		if *topic.Topic == name {
			return topic.TopicID
		}
	}
	t.Fatalf("no topic %s", name)
	return [16]byte{}
}

// commit commits one offset of a group without members.
func commit(t *testing.T, cl *kgo.Client, group, topic string, offset int64) {
	t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	rt, rp := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
	rt.Topic, rt.TopicID, rp.Offset = topic, topicID(t, cl, topic), offset
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	for _, topic := range ask[*kmsg.OffsetCommitResponse](t, cl, req).Topics {
		if code := topic.Partitions[0].ErrorCode; code != 0 {
			t.Fatalf("commit %s of %s: error %d", topic.Topic, group, code)
		}
	}
}

// newTopic creates a topic and returns the error code.
func newTopic(t *testing.T, cl *kgo.Client, name string, partitions int32, settings ...string) (code int16, message string) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, partitions, 1
	for i := 0; i < len(settings); i += 2 {
		rt.Configs = append(rt.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: settings[i], Value: &settings[i+1]})
	}
	req.Topics, req.TimeoutMillis = append(req.Topics, rt), 10_000
	made := ask[*kmsg.CreateTopicsResponse](t, cl, req).Topics[0]
	if made.ErrorMessage != nil {
		message = *made.ErrorMessage
	}
	return made.ErrorCode, message
}

// compareStates reports what one description has and the other has not.
func compareStates(t *testing.T, when string, want, got []string) {
	t.Helper()
	if slices.Equal(want, got) {
		t.Logf("%s: %d lines equal", when, len(want))
		return
	}
	only := func(in, notIn []string, who string) {
		n := 0
		for _, line := range in {
			if slices.Contains(notIn, line) {
				continue
			}
			if n++; n <= 8 {
				t.Errorf("%s: only %s: %s", when, who, line)
			}
		}
	}
	only(want, got, "before")
	only(got, want, "after")
}
