package handlers

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func growRequest(topics ...kmsg.CreatePartitionsRequestTopic) *kmsg.CreatePartitionsRequest {
	request := kmsg.NewPtrCreatePartitionsRequest()
	request.Topics, request.TimeoutMillis = topics, 5000
	return request
}

func placed(replicas ...[]int32) []kmsg.CreatePartitionsRequestTopicAssignment {
	assignment := []kmsg.CreatePartitionsRequestTopicAssignment{}
	for _, ids := range replicas {
		assignment = append(assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: ids})
	}
	return assignment
}

func TestCreatePartitionsRefusals(t *testing.T) {
	a := newAdminAPI(t)
	a.create("t", 2)
	for _, c := range []struct {
		topic kmsg.CreatePartitionsRequestTopic
		want  string
	}{
		{kmsg.CreatePartitionsRequestTopic{Topic: "absent", Count: 2}, "3 null"},
		{kmsg.CreatePartitionsRequestTopic{Topic: "t", Count: 2}, "37 Topic already has 2 partition(s)."},
		{kmsg.CreatePartitionsRequestTopic{Topic: "t", Count: -1}, "37 The topic t currently has 2 partition(s); -1 would not be an increase."},
		{kmsg.CreatePartitionsRequestTopic{Topic: "t", Count: 10003}, "44 Excessively large number of additional partitions per request."},
		{kmsg.CreatePartitionsRequestTopic{Topic: "t", Count: 4, Assignment: placed([]int32{1})},
			"39 Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified."},
		{kmsg.CreatePartitionsRequestTopic{Topic: "t", Count: 3, Assignment: placed()},
			"39 Attempted to add 1 additional partition(s), but only 0 assignment(s) were specified."},
		{kmsg.CreatePartitionsRequestTopic{Topic: "t", Count: 3, Assignment: placed([]int32{9})},
			"39 The manual partition assignment includes broker 9, but no such broker is registered."},
	} {
		answer := ask[*kmsg.CreatePartitionsResponse](a, 3, growRequest(c.topic)).Topics[0]
		if got := said(answer.ErrorCode, answer.ErrorMessage); got != c.want {
			t.Errorf("%+v: %q, want %q", c.topic, got, c.want)
		}
	}
	if topic, _ := a.meta.Image().Topic("t"); len(topic.Partitions) != 2 {
		t.Errorf("%d partitions after refusals", len(topic.Partitions))
	}
}

func TestCreatePartitions(t *testing.T) {
	a := newAdminAPI(t)
	a.create("t", 1)
	a.create("u", 1)
	answer := ask[*kmsg.CreatePartitionsResponse](a, 3, growRequest(
		kmsg.CreatePartitionsRequestTopic{Topic: "t", Count: 4},
		kmsg.CreatePartitionsRequestTopic{Topic: "u", Count: 2},
		kmsg.CreatePartitionsRequestTopic{Topic: "u", Count: 3}))
	if len(answer.Topics) != 2 || answer.Topics[0].ErrorCode != 0 ||
		said(answer.Topics[1].ErrorCode, answer.Topics[1].ErrorMessage) != "42 Duplicate topic name." {
		t.Errorf("answer %+v", answer.Topics)
	}
	check := growRequest(kmsg.CreatePartitionsRequestTopic{Topic: "u", Count: 5})
	check.ValidateOnly = true
	if answer := ask[*kmsg.CreatePartitionsResponse](a, 3, check); answer.Topics[0].ErrorCode != 0 {
		t.Errorf("validate only: %+v", answer.Topics)
	}
	topic, _ := a.meta.Image().Topic("t")
	other, _ := a.meta.Image().Topic("u")
	if len(topic.Partitions) != 4 || len(other.Partitions) != 1 {
		t.Errorf("%d and %d partitions, want 4 and 1", len(topic.Partitions), len(other.Partitions))
	}
}
