package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/group"
	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/protocol"
)

// ConsumerGroupDescribe, versions 0 and 1.
//
// Consumer groups only. Partitions of topics that were deleted are left out.
// From version 1 on the answer tells which protocol each member speaks.

// The types of members.
const (
	memberTypeClassic  int8 = 0
	memberTypeConsumer int8 = 1
)

func (a *API) consumerGroupDescribe(_ context.Context, _ *protocol.Request, body *kmsg.ConsumerGroupDescribeRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrConsumerGroupDescribeResponse()
	answer.Version = body.Version
	image := a.meta.Image()
	for _, id := range body.Groups {
		g := a.describeConsumerGroup(id, image)
		if body.IncludeAuthorizedOperations && g.ErrorCode == codeNone {
			g.AuthorizedOperations = groupOperations
		}
		answer.Groups = append(answer.Groups, g)
	}
	return answer, nil
}

func (a *API) describeConsumerGroup(id string, image *metadata.Image) kmsg.ConsumerGroupDescribeResponseGroup {
	g := kmsg.NewConsumerGroupDescribeResponseGroup()
	g.Group = id
	d, err := a.groups.ConsumerDescribe(id)
	if err != nil {
		g.ErrorCode, g.ErrorMessage = errorCode(err), errorMessage(err)
		return g
	}
	g.State, g.Epoch, g.AssignmentEpoch, g.AssignorName = d.State, d.Epoch, d.AssignmentEpoch, d.Assignor
	for i := range d.Members {
		g.Members = append(g.Members, describeConsumerMember(&d.Members[i], image))
	}
	return g
}

func describeConsumerMember(from *group.ConsumerMemberDescription, image *metadata.Image) kmsg.ConsumerGroupDescribeResponseGroupMember {
	m := kmsg.NewConsumerGroupDescribeResponseGroupMember()
	m.MemberID, m.InstanceID, m.RackID, m.MemberEpoch = from.ID, from.InstanceID, from.RackID, from.Epoch
	m.ClientID, m.ClientHost, m.SubscribedTopics, m.SubscribedTopicRegex = from.ClientID, from.ClientHost, from.Topics, &from.Regex
	m.Assignment, m.TargetAssignment = describeAssignment(from.Assigned, image), describeAssignment(from.Target, image)
	m.MemberType = memberTypeConsumer
	if from.Classic {
		m.MemberType = memberTypeClassic
	}
	return m
}

func describeAssignment(list []group.TopicPartitions, image *metadata.Image) kmsg.Assignment {
	a := kmsg.NewAssignment()
	for _, t := range list {
		topic, ok := image.TopicByID(logstore.UUID(t.TopicID))
		if !ok {
			continue
		}
		of := kmsg.NewAssignmentTopicPartition()
		of.TopicID, of.Topic, of.Partitions = t.TopicID, topic.Name, t.Partitions
		a.TopicPartitions = append(a.TopicPartitions, of)
	}
	return a
}
