package handlers

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// ElectLeaders, versions 0 to 2.
//
// A partition has a replica on this node and is led by it, so that an election
// is not needed, but for partitions of a former cluster. Their preferred leader
// is not available when it is another broker; an unclean election makes this
// node lead what it has a replica of. Null topics mean all partitions; those that
// need no election are left out then.

const (
	electPreferred int8 = 0
	electUnclean   int8 = 1
)

func (a *API) electLeaders(_ context.Context, _ *protocol.Request, body *kmsg.ElectLeadersRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrElectLeadersResponse()
	answer.Version = body.Version
	var refused error
	if body.ElectionType != electPreferred && body.ElectionType != electUnclean {
		refused = &apiError{codeInvalidRequest, fmt.Sprintf("Unknown election type %d", body.ElectionType)}
		answer.ErrorCode = codeInvalidRequest
	}
	image := a.meta.Image()
	var elected []metadata.PartitionID
	for _, t := range electionTopics(image, body, refused != nil) {
		out := kmsg.NewElectLeadersResponseTopic()
		out.Topic = t.Topic
		for _, number := range t.Partitions {
			err := refused
			if err == nil {
				var id metadata.PartitionID
				if id, err = a.electable(image, t.Topic, number, body.ElectionType); err == nil {
					elected = append(elected, id)
				}
			}
			if body.Topics == nil && errorCode(err) == codeElectionNotNeeded {
				continue
			}
			p := kmsg.NewElectLeadersResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = number, errorCode(err), errorMessage(err)
			out.Partitions = append(out.Partitions, p)
		}
		answer.Topics = append(answer.Topics, out)
	}
	if len(elected) == 0 {
		return answer, nil
	}
	if err := a.meta.ElectUnclean(elected); err != nil {
		answer = kmsg.NewPtrElectLeadersResponse()
		answer.Version, answer.ErrorCode = body.Version, errorCode(changeError(err))
		a.log.Error("leaders were not elected", "error", err)
	}
	return answer, nil
}

// electionTopics lists the partitions that an election is asked for.
func electionTopics(image *metadata.Image, body *kmsg.ElectLeadersRequest, refused bool) []kmsg.ElectLeadersRequestTopic {
	if body.Topics != nil || refused {
		return body.Topics
	}
	var all []kmsg.ElectLeadersRequestTopic
	for _, topic := range image.Topics() {
		t := kmsg.ElectLeadersRequestTopic{Topic: topic.Name}
		for n := range topic.Partitions {
			t.Partitions = append(t.Partitions, int32(n))
		}
		all = append(all, t)
	}
	return all
}

// electable finds a partition that an unclean election gives a leader, or the
// reason why none is held.
func (a *API) electable(image *metadata.Image, name string, number int32, kind int8) (id metadata.PartitionID, err error) {
	topic, ok := image.Topic(name)
	if !ok {
		return id, &apiError{codeUnknownTopicOrPartition, "No such topic as " + name}
	}
	if !hasPartition(topic, number) {
		return id, &apiError{codeUnknownTopicOrPartition, fmt.Sprintf("No such partition as %s-%d", name, number)}
	}
	p := &topic.Partitions[number]
	id = metadata.PartitionID{TopicID: topic.ID, Partition: number}
	switch {
	case kind == electPreferred && len(p.Replicas) > 0 && p.Leader == p.Replicas[0], kind == electUnclean && p.Leader >= 0:
		return id, usualError(codeElectionNotNeeded)
	case kind == electPreferred:
		// This node leads all that it may lead: the preferred one is down.
		return id, usualError(codePreferredLeaderNotAvailable)
	}
	for _, replica := range p.Replicas {
		if image.MayLead(p, replica) {
			return id, nil
		}
	}
	return id, usualError(codeEligibleLeadersNotAvailable)
}
