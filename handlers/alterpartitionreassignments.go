package handlers

import (
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// AlterPartitionReassignments, versions 0 and 1.
//
// Replicas can be put on brokers that are registered: on this node, or on those
// of a former cluster, which never come, so that such a reassignment stays under
// way until it is cancelled. Taking the replicas of a former cluster's brokers
// away is over at once.

func (a *API) alterPartitionReassignments(_ context.Context, _ *protocol.Request, body *kmsg.AlterPartitionAssignmentsRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrAlterPartitionAssignmentsResponse()
	answer.Version, answer.AllowReplicationFactorChange = body.Version, body.AllowReplicationFactorChange
	if len(body.Topics) == 0 {
		answer.ErrorMessage = new(string)
	}
	image := a.meta.Image()
	var changes []metadata.Reassignment
	for i := range body.Topics {
		t := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		t.Topic = body.Topics[i].Topic
		for j := range body.Topics[i].Partitions {
			asked := &body.Topics[i].Partitions[j]
			change, err := planReassignment(image, t.Topic, asked, body.AllowReplicationFactorChange)
			if err == nil {
				changes = append(changes, change)
			}
			p := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = asked.Partition, errorCode(err), errorMessage(err)
			t.Partitions = append(t.Partitions, p)
		}
		answer.Topics = append(answer.Topics, t)
	}
	if err := a.meta.Reassign(changes); err != nil {
		err = changeError(err)
		a.log.Error("partitions were not reassigned", "error", err)
		answer.Topics = nil
		answer.ErrorCode, answer.ErrorMessage = errorCode(err), errorMessage(err)
	}
	return answer, nil
}

// planReassignment checks what is asked for one partition.
func planReassignment(image *metadata.Image, name string, asked *kmsg.AlterPartitionAssignmentsRequestTopicPartition, otherFactor bool) (r metadata.Reassignment, err error) {
	topic, ok := image.Topic(name)
	if !ok {
		return r, &apiError{codeUnknownTopicOrPartition, "Unable to find a topic named " + name + "."}
	}
	if !hasPartition(topic, asked.Partition) {
		return r, &apiError{codeUnknownTopicOrPartition, fmt.Sprintf("Unable to find partition %s:%d.", name, asked.Partition)}
	}
	p := &topic.Partitions[asked.Partition]
	r = metadata.Reassignment{PartitionID: metadata.PartitionID{TopicID: topic.ID, Partition: asked.Partition}}
	if asked.Replicas == nil {
		if len(p.Adding)+len(p.Removing) == 0 {
			return r, &apiError{code: codeNoReassignmentInProgress}
		}
		return r, nil
	}
	if err := checkReplicas(image, asked.Replicas); err != nil {
		return r, err
	}
	if was := len(p.Replicas) - len(p.Adding); !otherFactor && len(asked.Replicas) != was {
		return r, &apiError{codeInvalidReplicationFactor, fmt.Sprintf("The replication factor is changed from %d to %d", was, len(asked.Replicas))}
	}
	r.Replicas = slices.Clone(asked.Replicas)
	return r, nil
}

// checkReplicas checks the brokers that a partition is to be put on.
func checkReplicas(image *metadata.Image, replicas []int32) error {
	if len(replicas) == 0 {
		return &apiError{codeInvalidReplicaAssignment, "The manual partition assignment includes an empty replica list."}
	}
	sorted := slices.Sorted(slices.Values(replicas))
	for n, id := range sorted {
		if _, ok := image.Brokers()[id]; !ok {
			return &apiError{codeInvalidReplicaAssignment,
				fmt.Sprintf("The manual partition assignment includes broker %d, but no such broker is registered.", id)}
		}
		if n > 0 && sorted[n-1] == id {
			return &apiError{codeInvalidReplicaAssignment,
				fmt.Sprintf("The manual partition assignment includes the broker %d more than once.", id)}
		}
	}
	return nil
}
