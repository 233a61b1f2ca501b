package client

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/record"
)

// produceTimeoutMs is how long the broker may wait for replicas.
const produceTimeoutMs = 30_000

// Produce writes records to a partition as one batch and returns the offset of the first once all replicas in sync have them.
func (c *Client) Produce(ctx context.Context, t Topic, partition int32, codec record.Codec, records []record.Record) (int64, error) {
	b := record.NewBuilder(record.BuilderOptions{Codec: codec})
	for _, r := range records {
		if err := b.Append(r); err != nil {
			return 0, err
		}
	}
	batch, err := b.Build()
	if err != nil {
		return 0, err
	}
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, batch
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.TopicID, topic.Partitions = t.Name, t.ID, append(topic.Partitions, p)
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis, req.Topics = -1, produceTimeoutMs, append(req.Topics, topic)
	resp, err := asked[*kmsg.ProduceResponse](c.ask(ctx, t.Leaders[partition], req, -1))
	if err != nil {
		return 0, err
	}
	for _, answered := range resp.Topics {
		for _, p := range answered.Partitions {
			if err := Failed(p.ErrorCode, p.ErrorMessage); err != nil {
				return 0, fmt.Errorf("produce to %s-%d: %w", t.Name, partition, err)
			}
			return p.BaseOffset, nil
		}
	}
	return 0, ErrNoBroker
}

// PartitionOf is the partition that Kafka's producers choose for a key: murmur2 of it, without the sign, modulo the count.
func PartitionOf(key []byte, partitions int) int32 {
	return int32(murmur2(key)&0x7fffffff) % int32(partitions)
}

// murmur2 is the hash of Kafka's producers, with their seed.
func murmur2(data []byte) uint32 {
	const m, r, seed = 0x5bd1e995, 24, 0x9747b28c
	h := uint32(seed) ^ uint32(len(data))
	for len(data) >= 4 {
		k := binary.LittleEndian.Uint32(data) * m
		k ^= k >> r
		h = h*m ^ k*m
		data = data[4:]
	}
	for i := len(data) - 1; i >= 0; i-- {
		h ^= uint32(data[i]) << (8 * i)
	}
	if len(data) > 0 {
		h *= m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}
