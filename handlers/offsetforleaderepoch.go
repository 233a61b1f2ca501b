package handlers

// OffsetForLeaderEpoch, versions 2 to 4. The replica id makes no difference on
// a single node. Throttle time is always 0.

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

func (a *API) offsetForLeaderEpoch(_ context.Context, _ *protocol.Request, body *kmsg.OffsetForLeaderEpochRequest) (kmsg.Response, error) {
	resp := body.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	image := a.meta.Image()
	for i := range body.Topics {
		t := &body.Topics[i]
		topic, _ := image.Topic(t.Topic)
		out := kmsg.OffsetForLeaderEpochResponseTopic{Topic: t.Topic}
		for j := range t.Partitions {
			out.Partitions = append(out.Partitions, a.epochEnd(topic, &t.Partitions[j]))
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp, nil
}

// epochEnd answers where one epoch of one partition ended; -1 and -1 when that
// is not known.
func (a *API) epochEnd(topic *metadata.Topic, ask *kmsg.OffsetForLeaderEpochRequestTopicPartition) kmsg.OffsetForLeaderEpochResponseTopicPartition {
	out := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	out.Partition, out.LeaderEpoch, out.EndOffset = ask.Partition, -1, -1
	p, err := a.servedPartition(topic, ask.Partition)
	if err == nil {
		err = p.CheckLeaderEpoch(ask.CurrentLeaderEpoch)
	}
	if err != nil {
		out.ErrorCode = errorCode(err)
		return out
	}
	end := p.EpochEnd(ask.LeaderEpoch)
	out.LeaderEpoch, out.EndOffset = end.Epoch, end.EndOffset
	return out
}
