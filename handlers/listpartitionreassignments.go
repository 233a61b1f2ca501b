package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// ListPartitionReassignments, version 0.
//
// Lists what AlterPartitionReassignments left under way. Null topics mean all;
// what is not being reassigned, or not there, is left out.

func (a *API) listPartitionReassignments(_ context.Context, _ *protocol.Request, body *kmsg.ListPartitionReassignmentsRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrListPartitionReassignmentsResponse()
	answer.Version = body.Version
	image := a.meta.Image()
	if body.Topics == nil {
		for _, topic := range image.Topics() {
			numbers := make([]int32, len(topic.Partitions))
			for n := range numbers {
				numbers[n] = int32(n)
			}
			answer.Topics = appendReassignments(answer.Topics, topic, numbers)
		}
		return answer, nil
	}
	for i := range body.Topics {
		if topic, ok := image.Topic(body.Topics[i].Topic); ok {
			answer.Topics = appendReassignments(answer.Topics, topic, body.Topics[i].Partitions)
		}
	}
	return answer, nil
}

// appendReassignments adds a topic if one of the numbered partitions is being
// reassigned.
func appendReassignments(all []kmsg.ListPartitionReassignmentsResponseTopic, topic *metadata.Topic, numbers []int32) []kmsg.ListPartitionReassignmentsResponseTopic {
	t := kmsg.NewListPartitionReassignmentsResponseTopic()
	t.Topic = topic.Name
	for _, n := range numbers {
		if !hasPartition(topic, n) {
			continue
		}
		state := &topic.Partitions[n]
		if len(state.Adding)+len(state.Removing) == 0 {
			continue
		}
		p := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
		p.Partition, p.Replicas, p.AddingReplicas, p.RemovingReplicas = n, state.Replicas, state.Adding, state.Removing
		t.Partitions = append(t.Partitions, p)
	}
	if len(t.Partitions) == 0 {
		return all
	}
	return append(all, t)
}
