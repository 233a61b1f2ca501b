package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/group"
	"minibroker/protocol"
)

// OffsetDelete, version 0.
//
// Unknown topics and partitions are answered without asking the group, but the
// group is asked in any case: an error of its own stands alone in the answer.

func (a *API) offsetDelete(_ context.Context, _ *protocol.Request, body *kmsg.OffsetDeleteRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrOffsetDeleteResponse()
	answer.Version = body.Version
	image := a.meta.Image()
	var known []group.PartitionName
	var codes []*int16
	for i := range body.Topics {
		from := &body.Topics[i]
		topic, ok := image.Topic(from.Topic)
		t := kmsg.NewOffsetDeleteResponseTopic()
		t.Topic = from.Topic
		t.Partitions = make([]kmsg.OffsetDeleteResponseTopicPartition, len(from.Partitions))
		for j := range from.Partitions {
			p := &t.Partitions[j]
			p.Default()
			p.Partition = from.Partitions[j].Partition
			if !ok || p.Partition < 0 || int(p.Partition) >= len(topic.Partitions) {
				p.ErrorCode = codeUnknownTopicOrPartition
				continue
			}
			known = append(known, group.PartitionName{Topic: from.Topic, Partition: p.Partition})
			codes = append(codes, &p.ErrorCode)
		}
		answer.Topics = append(answer.Topics, t)
	}
	errs, err := a.groups.DeleteOffsets(body.Group, known)
	if err != nil {
		answer.ErrorCode, answer.Topics = errorCode(err), nil
		return answer, nil
	}
	for i := range errs {
		*codes[i] = errorCode(errs[i])
	}
	return answer, nil
}
