package handlers

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/protocol"
)

func metadataRequest(topics ...kmsg.MetadataRequestTopic) *kmsg.MetadataRequest {
	request := kmsg.NewPtrMetadataRequest()
	request.Topics, request.AllowAutoTopicCreation = topics, false
	if request.Topics == nil {
		request.Topics = []kmsg.MetadataRequestTopic{}
	}
	return request
}

func named(name string) kmsg.MetadataRequestTopic { return kmsg.MetadataRequestTopic{Topic: &name} }

func TestMetadataShowsTopics(t *testing.T) {
	a := newAdminAPI(t, "broker.rack", "r1")
	id := a.create("t", 2)
	for version := int16(0); version <= 13; version++ {
		answer := ask[*kmsg.MetadataResponse](a, version, metadataRequest(named("t"), named("t")))
		if len(answer.Brokers) != 1 || answer.Brokers[0].NodeID != 1 || answer.Brokers[0].Host != "broker.example" || answer.Brokers[0].Port != 9092 {
			t.Errorf("v%d: brokers %+v", version, answer.Brokers)
		}
		if version >= 1 && (answer.ControllerID != 1 || answer.Brokers[0].Rack == nil || *answer.Brokers[0].Rack != "r1") {
			t.Errorf("v%d: controller %d, rack %v", version, answer.ControllerID, answer.Brokers[0].Rack)
		}
		if len(answer.Topics) != 1 || *answer.Topics[0].Topic != "t" || answer.Topics[0].ErrorCode != 0 || len(answer.Topics[0].Partitions) != 2 {
			t.Fatalf("v%d: topics %+v", version, answer.Topics)
		}
		if version >= 10 && answer.Topics[0].TopicID != id {
			t.Errorf("v%d: id %v", version, answer.Topics[0].TopicID)
		}
		p := answer.Topics[0].Partitions[1]
		if p.Partition != 1 || p.Leader != 1 || len(p.Replicas) != 1 || len(p.ISR) != 1 || len(p.OfflineReplicas) != 0 || version >= 7 && p.LeaderEpoch != 0 {
			t.Errorf("v%d: partition %+v", version, p)
		}
	}
}

func TestMetadataListsAllOrNone(t *testing.T) {
	a := newAdminAPI(t)
	a.create("b", 1)
	a.create("a", 1)
	all := metadataRequest()
	all.Topics = nil
	if answer := ask[*kmsg.MetadataResponse](a, 12, all); len(answer.Topics) != 2 {
		t.Errorf("null: %d topics, want 2", len(answer.Topics))
	}
	if answer := ask[*kmsg.MetadataResponse](a, 12, metadataRequest()); len(answer.Topics) != 0 {
		t.Errorf("none: %d topics", len(answer.Topics))
	}
	if answer := ask[*kmsg.MetadataResponse](a, 0, metadataRequest()); len(answer.Topics) != 2 {
		t.Errorf("version 0, none: %d topics, want all 2", len(answer.Topics))
	}
}

func TestMetadataByID(t *testing.T) {
	a := newAdminAPI(t)
	id := a.create("t", 1)
	byID := kmsg.MetadataRequestTopic{TopicID: id}
	for _, c := range []struct {
		version int16
		topics  []kmsg.MetadataRequestTopic
		code    int16
		name    string
		brokers int
	}{
		{12, []kmsg.MetadataRequestTopic{byID}, 0, "t", 1},
		{13, []kmsg.MetadataRequestTopic{byID, named("t"), named("other")}, 0, "t", 1},
		{12, []kmsg.MetadataRequestTopic{{TopicID: [16]byte{7}}}, 100, "", 1},
		{10, []kmsg.MetadataRequestTopic{{TopicID: id, Topic: new(string)}}, 42, "", 0},
		{12, []kmsg.MetadataRequestTopic{{}}, -1, "", 0},
	} {
		answer := ask[*kmsg.MetadataResponse](a, c.version, metadataRequest(c.topics...))
		if len(answer.Topics) != 1 || len(answer.Brokers) != c.brokers {
			t.Fatalf("%+v: %d topics, %d brokers", c, len(answer.Topics), len(answer.Brokers))
		}
		name := ""
		if answer.Topics[0].Topic != nil {
			name = *answer.Topics[0].Topic
		}
		if answer.Topics[0].ErrorCode != c.code || name != c.name {
			t.Errorf("%+v: code %d, name %q", c, answer.Topics[0].ErrorCode, name)
		}
		if c.brokers == 0 && (answer.ClusterID != nil || answer.ControllerID != -1) {
			t.Errorf("%+v: refused, but cluster %v and controller %d", c, answer.ClusterID, answer.ControllerID)
		}
	}
}

func TestMetadataCreatesTopics(t *testing.T) {
	a := newAdminAPI(t, "num.partitions", "3")
	a.create("taken.name", 1)
	request := metadataRequest(named("new"), named("taken_name"), named("bad name"), named(offsetsTopic))
	request.AllowAutoTopicCreation = true
	type seen struct {
		code       int16
		partitions int
		internal   bool
	}
	look := func() map[string]seen {
		topics := map[string]seen{}
		for _, t := range ask[*kmsg.MetadataResponse](a, 9, request).Topics {
			topics[*t.Topic] = seen{t.ErrorCode, len(t.Partitions), t.IsInternal}
		}
		return topics
	}
	want := map[string]seen{"new": {3, 0, false}, "taken_name": {3, 0, false}, "bad name": {17, 0, false}, offsetsTopic: {3, 0, true}}
	if got := look(); !maps.Equal(got, want) {
		t.Errorf("first answer %v, want %v", got, want)
	}
	request.AllowAutoTopicCreation = false
	want["new"], want[offsetsTopic] = seen{0, 3, false}, seen{0, 50, true}
	if got := look(); !maps.Equal(got, want) {
		t.Errorf("second answer %v, want %v", got, want)
	}
}

func TestMetadataCreatesNothingWhereForbidden(t *testing.T) {
	a := newAdminAPI(t, "auto.create.topics.enable", "false")
	request := metadataRequest(named("new"))
	request.AllowAutoTopicCreation = true
	if answer := ask[*kmsg.MetadataResponse](a, 9, request); answer.Topics[0].ErrorCode != 3 {
		t.Errorf("answer %+v", answer.Topics)
	}
	if topics := a.meta.Image().Topics(); len(topics) != 0 {
		t.Errorf("%d topics", len(topics))
	}
}

// A directory that was part of a cluster of several nodes has partitions with
// replicas, and perhaps leaders, that are not here.
func TestPartitionsOfABiggerCluster(t *testing.T) {
	here := Endpoint{Host: "h", Port: 1}
	for _, c := range []struct {
		view       partitionView
		partition  metadata.Partition
		code       int16
		leader     int32
		replicas   int
		offline    int
		isrVisible int
	}{
		{partitionView{&metadata.Image{}, 1, here, true, 9}, metadata.Partition{Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2}, Leader: 1}, 0, 1, 3, 2, 2},
		{partitionView{&metadata.Image{}, 1, here, true, 0}, metadata.Partition{Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2}, Leader: 1}, 9, 1, 1, 2, 1},
		{partitionView{&metadata.Image{}, 1, here, true, 9}, metadata.Partition{Replicas: []int32{2, 3}, ISR: []int32{2}, Leader: 2}, 5, -1, 2, 2, 1},
		{partitionView{&metadata.Image{}, 1, here, true, 9}, metadata.Partition{Replicas: []int32{1}, ISR: []int32{1}, Leader: -1}, 5, -1, 1, 0, 1},
		{partitionView{&metadata.Image{}, 1, here, false, 9}, metadata.Partition{Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}, 72, -1, 1, 1, 1},
		{partitionView{&metadata.Image{}, 1, here, false, 5}, metadata.Partition{Replicas: []int32{1}, ISR: []int32{1}, Leader: 1}, 5, -1, 1, 1, 1},
	} {
		p := c.view.partition(&c.partition)
		if p.ErrorCode != c.code || p.Leader != c.leader || len(p.Replicas) != c.replicas ||
			len(p.OfflineReplicas) != c.offline || len(p.ISR) != c.isrVisible {
			t.Errorf("%+v of %+v: %+v", c.view, c.partition, p)
		}
	}
}

func BenchmarkMetadataOfManyTopics(b *testing.B) {
	a := newAdminAPI(b)
	topics := make([]metadata.NewTopic, 5000)
	for i := range topics {
		topics[i] = metadata.NewTopic{Name: fmt.Sprintf("topic-%04d", i), ID: logstore.UUID{1, byte(i >> 8), byte(i)}, Partitions: 1}
	}
	if _, err := a.meta.CreateTopics(topics); err != nil {
		b.Fatal(err)
	}
	body := kmsg.NewPtrMetadataRequest()
	body.Version = 12
	request := &protocol.Request{Key: body.Key(), Version: 12, Body: body, Listener: "PLAINTEXT"}
	var wire []byte
	b.ReportAllocs()
	for b.Loop() {
		answer, err := a.Handle(context.Background(), request)
		if err != nil {
			b.Fatal(err)
		}
		wire = answer.Body.AppendTo(wire[:0])
	}
	b.SetBytes(int64(len(wire)))
}
