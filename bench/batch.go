package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/record"
)

// oneRecord is a batch of one record.
func oneRecord(value []byte) ([]byte, error) {
	b := record.NewBuilder(record.BuilderOptions{})
	if err := b.Append(record.Record{Timestamp: 1, Value: value}); err != nil {
		return nil, err
	}
	return b.Build()
}

// produce sends a batch, and waits until it is acknowledged by all.
func (c *conn) produce(topic string, partition int32, batch []byte) error {
	r, t, p := kmsg.NewPtrProduceRequest(), kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, batch
	t.Topic, t.Partitions = topic, []kmsg.ProduceRequestTopicPartition{p}
	r.Acks, r.TimeoutMillis, r.Topics = -1, 30000, []kmsg.ProduceRequestTopic{t}
	var resp kmsg.ProduceResponse
	if err := c.ask(r, 8, &resp); err != nil {
		return err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return fmt.Errorf("produce to %s-%d is answered for %d topics", topic, partition, len(resp.Topics))
	}
	return kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
}
