package handlers

// DeleteRecords, versions 0 to 2.
//
// Honoured: offsets up to the high watermark, -1 for all. Of a partition that
// comes twice the last offset counts. Internal topics and topics that are only
// compacted are refused. The timeout is not needed: the low watermark of a single
// replica is its log start offset. Throttle time is always 0.

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

func (a *API) deleteRecords(_ context.Context, _ *protocol.Request, body *kmsg.DeleteRecordsRequest) (kmsg.Response, error) {
	resp := body.ResponseKind().(*kmsg.DeleteRecordsResponse)
	var topics firstSeen[string]
	var partitions firstSeen[partitionKey]
	var offsets []int64
	for i := range body.Topics {
		t := &body.Topics[i]
		if len(t.Partitions) == 0 {
			continue
		}
		topic, known := topics.add(t.Topic)
		if !known {
			resp.Topics = append(resp.Topics, kmsg.DeleteRecordsResponseTopic{Topic: t.Topic})
		}
		for j := range t.Partitions {
			n, seen := partitions.add(partitionKey{topic: topic, partition: t.Partitions[j].Partition})
			if !seen {
				offsets = append(offsets, 0)
			}
			offsets[n] = t.Partitions[j].Offset
		}
	}
	image := a.meta.Image()
	for n, key := range partitions.keys {
		out := &resp.Topics[key.topic]
		p := kmsg.DeleteRecordsResponseTopicPartition{Partition: key.partition, LowWatermark: -1}
		topic, _ := image.Topic(out.Topic)
		low, err := a.deleteUpTo(topic, key.partition, offsets[n])
		if err == nil {
			p.LowWatermark = low
		}
		p.ErrorCode = errorCode(err)
		if p.ErrorCode == codeUnknownServerError || p.ErrorCode == codeKafkaStorageError {
			a.log.Error("delete records", "topic", out.Topic, "partition", key.partition, "offset", offsets[n], "error", err)
		}
		out.Partitions = append(out.Partitions, p)
	}
	return resp, nil
}

// deleteUpTo deletes the records of one partition below an offset and returns
// the low watermark.
func (a *API) deleteUpTo(topic *metadata.Topic, number int32, offset int64) (int64, error) {
	if topic != nil && hasPartition(topic, number) && isInternalTopic(topic.Name) {
		return -1, &apiError{code: codeInvalidTopicException}
	}
	p, err := a.servedPartition(topic, number)
	if err != nil {
		return -1, err
	}
	if c := p.Log().Config(); c.Compact && !c.Delete {
		return -1, &apiError{code: codePolicyViolation}
	}
	return p.DeleteRecords(offset)
}
