package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/group"
	"minibroker/protocol"
)

// ConsumerGroupHeartbeat, versions 0 and 1.
//
// From version 1 on the client makes its member id itself, and may subscribe
// with a regular expression.

func (a *API) consumerGroupHeartbeat(_ context.Context, req *protocol.Request, body *kmsg.ConsumerGroupHeartbeatRequest) (kmsg.Response, error) {
	r := group.ConsumerHeartbeat{
		GroupID: body.Group, MemberID: body.MemberID, Epoch: body.MemberEpoch, InstanceID: body.InstanceID, RackID: body.RackID,
		ClientID: clientID(req), ClientHost: clientHost(req), RebalanceTimeoutMs: body.RebalanceTimeoutMillis,
		Topics: body.SubscribedTopicNames, Regex: body.SubscribedTopicRegex, Assignor: body.ServerAssignor,
		NeedsID: body.Version >= 1,
	}
	if body.Topics != nil {
		r.Owned = make([]group.TopicPartitions, len(body.Topics))
		for i := range body.Topics {
			r.Owned[i] = group.TopicPartitions{TopicID: body.Topics[i].TopicID, Partitions: body.Topics[i].Partitions}
		}
	}
	answer := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	answer.Version = body.Version
	result, err := a.groups.ConsumerHeartbeat(&r)
	if err != nil {
		answer.ErrorCode, answer.ErrorMessage = errorCode(err), errorMessage(err)
		return answer, nil
	}
	answer.MemberID, answer.MemberEpoch, answer.HeartbeatIntervalMillis = &result.MemberID, result.Epoch, result.HeartbeatIntervalMs
	if result.Assignment != nil {
		assignment := kmsg.NewConsumerGroupHeartbeatResponseAssignment()
		for _, t := range *result.Assignment {
			topic := kmsg.NewConsumerGroupHeartbeatResponseAssignmentTopic()
			topic.TopicID, topic.Partitions = t.TopicID, t.Partitions
			assignment.Topics = append(assignment.Topics, topic)
		}
		answer.Assignment = &assignment
	}
	return answer, nil
}
