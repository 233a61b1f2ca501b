package handlers

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// DescribeTopicPartitions, version 0.
//
// Topics come in the order of their names, at most as many partitions as the
// request and max.request.partition.size.limit allow, and at least one. The
// cursor of the answer says where the next request goes on. The authorized
// operations are always filled in.

func (a *API) describeTopicPartitions(_ context.Context, req *protocol.Request, body *kmsg.DescribeTopicPartitionsRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrDescribeTopicPartitionsResponse()
	answer.Version = body.Version
	image := a.meta.Image()
	names, ok := pageOfNames(image, body)
	if !ok {
		for i := range body.Topics {
			t := kmsg.NewDescribeTopicPartitionsResponseTopic()
			t.ErrorCode, t.Topic = codeInvalidRequest, &body.Topics[i].Topic
			answer.Topics = append(answer.Topics, t)
		}
		return answer, nil
	}
	limit := max(1, min(a.layers().Int("max.request.partition.size.limit"), int(body.ResponsePartitionLimit)))
	view := a.partitionView(req.Listener, req.Version+6) // the rules of later Metadata versions
	for _, name := range names {
		if limit == 0 {
			answer.NextCursor = nextCursor(name, 0)
			break
		}
		topic, ok := image.Topic(name)
		if !ok {
			answer.Topics = append(answer.Topics, undescribed(name))
			continue
		}
		first := 0
		if body.Cursor != nil && body.Cursor.Topic == name {
			first = min(int(body.Cursor.Partition), len(topic.Partitions))
		}
		end := min(first+limit, len(topic.Partitions))
		answer.Topics = append(answer.Topics, view.describe(topic, first, end))
		if end < len(topic.Partitions) {
			answer.NextCursor = nextCursor(name, end)
			break
		}
		limit -= end - first
	}
	return answer, nil
}

// pageOfNames returns the names that are asked for from the cursor on, sorted;
// false when the cursor is none of the request.
func pageOfNames(image *metadata.Image, body *kmsg.DescribeTopicPartitionsRequest) ([]string, bool) {
	from := ""
	if body.Cursor != nil {
		if body.Cursor.Partition < 0 {
			return nil, false
		}
		from = body.Cursor.Topic
	}
	var names []string
	if len(body.Topics) == 0 {
		for _, t := range image.Topics() {
			if t.Name >= from {
				names = append(names, t.Name)
			}
		}
		return names, true
	}
	for i := range body.Topics {
		if body.Topics[i].Topic >= from {
			names = append(names, body.Topics[i].Topic)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names, body.Cursor == nil || slices.Contains(names, from)
}

func nextCursor(topic string, partition int) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = topic, int32(partition)
	return &c
}

// undescribed answers a name that no topic has.
func undescribed(name string) kmsg.DescribeTopicPartitionsResponseTopic {
	t := kmsg.NewDescribeTopicPartitionsResponseTopic()
	t.Topic = &name
	t.IsInternal = isInternalTopic(name)
	t.AuthorizedOperations = topicOperations
	t.ErrorCode = codeUnknownTopicOrPartition
	if checkTopicName(name) != nil {
		t.ErrorCode = codeInvalidTopicException
	}
	return t
}

// describe answers the partitions from first up to end, which is not included.
func (v partitionView) describe(topic *metadata.Topic, first, end int) kmsg.DescribeTopicPartitionsResponseTopic {
	t := kmsg.NewDescribeTopicPartitionsResponseTopic()
	t.Topic, t.TopicID = &topic.Name, topic.ID
	t.IsInternal = isInternalTopic(topic.Name)
	t.AuthorizedOperations = topicOperations
	for i := first; i < end; i++ {
		seen := v.partition(&topic.Partitions[i])
		p := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
		p.Partition = seen.Partition // without a leader too there is no error
		p.LeaderID, p.LeaderEpoch = seen.Leader, seen.LeaderEpoch
		p.Replicas, p.ISR, p.OfflineReplicas = seen.Replicas, seen.ISR, seen.OfflineReplicas
		p.EligibleLeaderReplicas = notNull(topic.Partitions[i].ELR)
		p.LastKnownELR = notNull(topic.Partitions[i].LastKnownELR)
		t.Partitions = append(t.Partitions, p)
	}
	return t
}

// notNull makes an empty list of a missing one: where null is possible the two
// are different answers.
func notNull(ids []int32) []int32 {
	if ids == nil {
		return []int32{}
	}
	return ids
}
