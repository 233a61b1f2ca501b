package handlers

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func deleteRequest(topics ...kmsg.DeleteTopicsRequestTopic) *kmsg.DeleteTopicsRequest {
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.Topics, request.TimeoutMillis = topics, 5000
	return request
}

func TestDeleteTopicsRefusals(t *testing.T) {
	a := newAdminAPI(t)
	id := a.create("there", 1)
	there, absent, bad := "there", "absent", "bad name"
	for _, c := range []struct {
		topics []kmsg.DeleteTopicsRequestTopic
		want   string
	}{
		{[]kmsg.DeleteTopicsRequestTopic{{Topic: &absent}}, "3 This server does not host this topic-partition."},
		{[]kmsg.DeleteTopicsRequestTopic{{Topic: &bad}}, "3 This server does not host this topic-partition."},
		{[]kmsg.DeleteTopicsRequestTopic{{TopicID: [16]byte{9}}}, "100 This server does not host this topic ID."},
		{[]kmsg.DeleteTopicsRequestTopic{{}}, "42 Neither topic name nor id were specified."},
		{[]kmsg.DeleteTopicsRequestTopic{{Topic: &there, TopicID: id}}, "42 You may not specify both topic name and topic id."},
		{[]kmsg.DeleteTopicsRequestTopic{{TopicID: id}, {Topic: &there}}, "42 The provided topic name maps to an ID that was already supplied."},
		{[]kmsg.DeleteTopicsRequestTopic{{Topic: &there}, {Topic: &there}}, "42 Duplicate topic name."},
		{[]kmsg.DeleteTopicsRequestTopic{{TopicID: id}, {TopicID: id}}, "42 Duplicate topic id."},
	} {
		answers := ask[*kmsg.DeleteTopicsResponse](a, 6, deleteRequest(c.topics...)).Topics
		if len(answers) != 1 {
			t.Fatalf("%d answers, want 1 with %q", len(answers), c.want)
		}
		if got := said(answers[0].ErrorCode, answers[0].ErrorMessage); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if _, ok := a.meta.Image().Topic("there"); !ok {
		t.Error("topic is gone after refusals")
	}
}

func TestDeleteTopics(t *testing.T) {
	a := newAdminAPI(t)
	id := a.create("by-id", 1)
	a.create("by-name", 1)
	a.create("old-version", 1)
	name := "by-name"
	for _, answer := range ask[*kmsg.DeleteTopicsResponse](a, 6, deleteRequest(
		kmsg.DeleteTopicsRequestTopic{TopicID: id}, kmsg.DeleteTopicsRequestTopic{Topic: &name})).Topics {
		if answer.ErrorCode != 0 || answer.Topic == nil || answer.TopicID == [16]byte{} {
			t.Errorf("answer %+v, want name and id", answer)
		}
	}
	old := kmsg.NewPtrDeleteTopicsRequest()
	old.TopicNames, old.TimeoutMillis = []string{"old-version"}, 5000
	if answer := ask[*kmsg.DeleteTopicsResponse](a, 1, old).Topics; len(answer) != 1 || answer[0].ErrorCode != 0 {
		t.Errorf("version 1: %+v", answer)
	}
	if topics := a.meta.Image().Topics(); len(topics) != 0 {
		t.Errorf("%d topics left", len(topics))
	}
}

func TestDeleteTopicsDisabled(t *testing.T) {
	a := newAdminAPI(t, "delete.topic.enable", "false")
	a.create("kept", 1)
	name := "kept"
	answer := ask[*kmsg.DeleteTopicsResponse](a, 6, deleteRequest(kmsg.DeleteTopicsRequestTopic{Topic: &name})).Topics[0]
	if got := said(answer.ErrorCode, answer.ErrorMessage); got != "73 null" {
		t.Errorf("%q, want 73", got)
	}
	if _, ok := a.meta.Image().Topic("kept"); !ok {
		t.Error("topic was deleted")
	}
}
