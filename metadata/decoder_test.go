package metadata

import (
	"fmt"
	"reflect"
	"testing"

	"minibroker/logstore"
)

// TestDecoderReusesRecords: a state made of records that were read into the same memory is the one that records of their own make,
// with transactions that hold records back too, and in place or not.
func TestDecoderReusesRecords(t *testing.T) {
	name := "t"
	var records []Record
	add := func(more ...Record) { records = append(records, more...) }
	for i := range 6 {
		if i == 2 {
			add(&BeginTransactionRecord{Name: &name})
		}
		id := logstore.UUID{0: byte(i + 1)}
		add(&TopicRecord{Name: fmt.Sprint("topic-", i), TopicID: id})
		for n := range int32(3) {
			add(&PartitionRecord{PartitionID: n, TopicID: id, Replicas: []int32{1, int32(i)}, ISR: []int32{1}, Leader: 1,
				RemovingReplicas: []int32{}, AddingReplicas: []int32{}, Directories: []logstore.UUID{{1: 1}, {1: byte(n)}}})
		}
		change := newPartitionChange(id, 1)
		change.ISR, change.Leader = []int32{int32(i)}, NoLeader
		add(change, newPartitionChange(id, 2))
		if i == 4 {
			add(&EndTransactionRecord{})
		}
	}
	add(&RemoveTopicRecord{TopicID: logstore.UUID{0: 3}})
	batch, err := buildBatch(records, levelMax, 1)
	if err != nil {
		t.Fatal(err)
	}
	var states [][]Topic
	for _, reuse := range []bool{false, true} {
		e, d := newImage(&Options{NodeID: 1}).edit(nil), new(decoder)
		if reuse {
			e.inPlace, d.edit = true, e
		}
		if err := d.batch(batch, func(r stored) error { return applyStored(e, r) }); err != nil {
			t.Fatal(err)
		}
		image, err := e.done()
		if err != nil {
			t.Fatal(err)
		}
		var topics []Topic
		for _, topic := range image.Topics() {
			topics = append(topics, *topic)
			if same, ok := image.TopicByID(topic.ID); !ok || same != topic {
				t.Errorf("%s by id: %v", topic.Name, same)
			}
		}
		states = append(states, topics)
	}
	if len(states[0]) != 5 || !reflect.DeepEqual(states[0], states[1]) {
		t.Errorf("records of their own:\n%v\nread into the same memory:\n%v", states[0], states[1])
	}
}
