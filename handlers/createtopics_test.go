package handlers

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func createRequest(topics ...kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics, request.TimeoutMillis = topics, 5000
	return request
}

func withReplicas(name string, partitions int32, factor int16, replicas ...[]int32) kmsg.CreateTopicsRequestTopic {
	t := wishedTopic(name, partitions, factor)
	for i, ids := range replicas {
		t.ReplicaAssignment = append(t.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(i), Replicas: ids})
	}
	return t
}

func TestCreateTopicsRefusals(t *testing.T) {
	a := newAdminAPI(t)
	a.create("old.one", 1)
	numbered := withReplicas("x", -1, -1, []int32{1}, []int32{1})
	numbered.ReplicaAssignment[1].Partition = 2
	twice := withReplicas("x", -1, -1, []int32{1}, []int32{1})
	twice.ReplicaAssignment[1].Partition = 0
	null := wishedTopic("x", 1, 1, "retention.ms", "1", "segment.ms", "1")
	null.Configs[0].Value, null.Configs[1].Value = nil, nil
	for _, c := range []struct {
		topic kmsg.CreateTopicsRequestTopic
		want  string
	}{
		{wishedTopic("old.one", 0, 1), "36 Topic 'old.one' already exists."},
		{wishedTopic("old_one", 0, 1), "17 Topic 'old_one' collides with existing topic: old.one"},
		{wishedTopic("__cluster_metadata", 1, 1), "42 Creation of internal topic __cluster_metadata is prohibited."},
		{wishedTopic("", 1, 1), "17 Topic name is invalid: the empty string is not allowed"},
		{wishedTopic("x", 0, 1), "37 Number of partitions was set to an invalid non-positive value."},
		{wishedTopic("x", 0, 3), "37 Number of partitions was set to an invalid non-positive value."},
		{wishedTopic("x", -2, -2), "38 Replication factor must be larger than 0, or -1 to use the default value."},
		{wishedTopic("x", 10001, 1), "44 Excessively large number of partitions per request."},
		{wishedTopic("x", 10000, 1), "44 Unable to perform excessively large batch operation."},
		{wishedTopic("x", 1, 3), "38 Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached " +
			"because only 1 broker(s) are registered or some brokers have all their log directories cordoned."},
		{wishedTopic("x", 0, 1, "retention.ms", "abc"), "40 Invalid value abc for configuration retention.ms: Not a number of type LONG"},
		{wishedTopic("x", 1, 1, "no.such", "1"), "40 Unknown topic config name: no.such"},
		{null, "40 Null value not supported for topic configs: retention.ms,segment.ms"},
		{withReplicas("x", -1, 1, []int32{1}), "42 A manual partition assignment was specified, but replication factor was not set to -1."},
		{withReplicas("x", 1, -1, []int32{1}), "42 A manual partition assignment was specified, but numPartitions was not set to -1."},
		{withReplicas("x", -1, -1, []int32{}), "39 The manual partition assignment includes an empty replica list."},
		{withReplicas("x", -1, -1, []int32{9}), "39 The manual partition assignment includes broker 9, but no such broker is registered."},
		{withReplicas("x", -1, -1, []int32{1, 1}), "39 The manual partition assignment includes the broker 1 more than once."},
		{numbered, "39 partitions should be a consecutive 0-based integer sequence"},
		{twice, "39 Found multiple manual partition assignments for partition 0"},
	} {
		answer := ask[*kmsg.CreateTopicsResponse](a, 7, createRequest(c.topic)).Topics[0]
		if got := said(answer.ErrorCode, answer.ErrorMessage); got != c.want {
			t.Errorf("%s (%d, %d): %q, want %q", c.topic.Topic, c.topic.NumPartitions, c.topic.ReplicationFactor, got, c.want)
		}
		if answer.Configs == nil || len(answer.Configs) != 0 {
			t.Errorf("%s: configs %v, want an empty list", c.topic.Topic, answer.Configs)
		}
	}
	if topics := a.meta.Image().Topics(); len(topics) != 1 {
		t.Errorf("%d topics after refusals, want 1", len(topics))
	}
}

func TestCreateTopicsTogether(t *testing.T) {
	a := newAdminAPI(t)
	answer := ask[*kmsg.CreateTopicsResponse](a, 7, createRequest(
		wishedTopic("twice", 1, 1), wishedTopic("good", 3, 1, "retention.ms", "1", "retention.ms", "2"),
		wishedTopic("twice", 2, 1), wishedTopic("bad", 0, 1),
		withReplicas("placed", -1, -1, []int32{1}, []int32{1}), wishedTopic("defaults", -1, -1)))
	got := map[string]string{}
	for _, topic := range answer.Topics {
		got[topic.Topic] = said(topic.ErrorCode, topic.ErrorMessage)
		if topic.ErrorCode != 0 {
			continue
		}
		stored, ok := a.meta.Image().Topic(topic.Topic)
		if !ok || [16]byte(stored.ID) != topic.TopicID || len(stored.Partitions) != int(topic.NumPartitions) || topic.ReplicationFactor != 1 {
			t.Errorf("%s: answered %d partitions, id %v; stored %+v", topic.Topic, topic.NumPartitions, topic.TopicID, stored)
		}
	}
	for name, want := range map[string]string{
		"twice": "42 Duplicate topic name.", "good": "0 null", "placed": "0 null", "defaults": "0 null",
		"bad": "37 Number of partitions was set to an invalid non-positive value.",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if len(answer.Topics) != 5 {
		t.Errorf("%d answers, want 5", len(answer.Topics))
	}
	configs := answer.Topics[0].Configs
	i := slices.IndexFunc(configs, func(c kmsg.CreateTopicsResponseTopicConfig) bool { return c.Name == "retention.ms" })
	if i < 0 || *configs[i].Value != "2" || configs[i].Source != 1 {
		t.Errorf("configs of good: %+v", configs)
	}
}

func TestCreateTopicsWithoutEffect(t *testing.T) {
	a := newAdminAPI(t)
	request := createRequest(wishedTopic("x", 1, 1))
	request.ValidateOnly = true
	if answer := ask[*kmsg.CreateTopicsResponse](a, 7, request).Topics[0]; answer.ErrorCode != 0 || answer.TopicID == [16]byte{} {
		t.Errorf("validate only: %+v", answer)
	}
	request = createRequest(wishedTopic("x", 1, 1))
	request.TimeoutMillis = 0
	if answer := ask[*kmsg.CreateTopicsResponse](a, 7, request).Topics[0]; said(answer.ErrorCode, answer.ErrorMessage) != "7 null" {
		t.Errorf("timeout 0: %+v", answer)
	}
	if topics := a.meta.Image().Topics(); len(topics) != 0 {
		t.Errorf("%d topics, want none", len(topics))
	}
}
