package gotest

import (
	"testing"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

// confluent is librdkafka, linked by cgo.
type confluent struct{}

func (confluent) produce(t *testing.T, addr, topic string, values ...string) {
	t.Helper()
	// Without the last setting librdkafka lets 30 to 50 ms pass between its first connection and the one that it writes to.
	p, err := kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": addr, "linger.ms": 0, "retry.backoff.ms": 10,
		"topic.metadata.refresh.fast.interval.ms": 50, "enable.sparse.connections": false})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	delivered := make(chan kafka.Event, 1)
	for _, v := range values {
		m := &kafka.Message{TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: kafka.PartitionAny}, Value: []byte(v)}
		if err := p.Produce(m, delivered); err != nil {
			t.Fatal(err)
		}
		if m, ok := (<-delivered).(*kafka.Message); !ok || m.TopicPartition.Error != nil {
			t.Fatalf("delivery of %s: %v", v, m)
		}
	}
}

func (confluent) consume(t *testing.T, addr, topic, group string, n int) (values []string) {
	t.Helper()
	c, err := kafka.NewConsumer(&kafka.ConfigMap{"bootstrap.servers": addr, "group.id": group, "auto.offset.reset": "earliest",
		"enable.auto.commit": false, "retry.backoff.ms": 10})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Subscribe(topic, nil); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); len(values) < n; {
		m, err := c.ReadMessage(time.Until(end))
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, string(m.Value))
	}
	if _, err := c.Commit(); err != nil {
		t.Fatal(err)
	}
	return values
}
