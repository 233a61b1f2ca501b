package handlers

// DescribeProducers, version 0: the producers that a partition remembers, with
// the transaction that each has open. Throttle time is always 0.

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

func (a *API) describeProducers(_ context.Context, _ *protocol.Request, body *kmsg.DescribeProducersRequest) (kmsg.Response, error) {
	resp := body.ResponseKind().(*kmsg.DescribeProducersResponse)
	image := a.meta.Image()
	for i := range body.Topics {
		t := &body.Topics[i]
		out := kmsg.DescribeProducersResponseTopic{Topic: t.Topic}
		err := checkTopicName(t.Topic)
		topic, known := image.Topic(t.Topic)
		if err == nil && !known {
			err = usualError(codeUnknownTopicOrPartition)
		}
		for _, number := range t.Partitions {
			if err != nil {
				p := kmsg.NewDescribeProducersResponseTopicPartition()
				p.Partition, p.ErrorCode, p.ErrorMessage = number, errorCode(err), errorMessage(err)
				out.Partitions = append(out.Partitions, p)
				continue
			}
			out.Partitions = append(out.Partitions, a.producersOf(topic, number))
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp, nil
}

// producersOf lists the producers of one partition. Its errors carry no
// message, unlike those of the topic.
func (a *API) producersOf(topic *metadata.Topic, number int32) kmsg.DescribeProducersResponseTopicPartition {
	out := kmsg.NewDescribeProducersResponseTopicPartition()
	out.Partition = number
	p, err := a.servedPartition(topic, number)
	if err != nil {
		out.ErrorCode = errorCode(err)
		return out
	}
	for _, producer := range p.Log().ActiveProducers() {
		out.ActiveProducers = append(out.ActiveProducers, kmsg.DescribeProducersResponseTopicPartitionActiveProducer{
			ProducerID:            producer.ProducerID,
			ProducerEpoch:         int32(producer.ProducerEpoch),
			LastSequence:          producer.LastSequence,
			LastTimestamp:         producer.LastTimestampMs,
			CoordinatorEpoch:      producer.CoordinatorEpoch,
			CurrentTxnStartOffset: producer.TxnStartOffset,
		})
	}
	return out
}
