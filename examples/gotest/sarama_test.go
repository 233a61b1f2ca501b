package gotest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/IBM/sarama"
)

type saramaClient struct{}

func saramaConfig() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.V4_0_0_0
	c.Producer.Return.Successes = true
	c.Producer.Retry.Backoff = 10 * time.Millisecond
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Return.Errors = true
	c.Metadata.Retry.Backoff = 10 * time.Millisecond
	return c
}

func (saramaClient) produce(t *testing.T, addr, topic string, values ...string) {
	t.Helper()
	p, err := sarama.NewSyncProducer([]string{addr}, saramaConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		if _, _, err := p.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(v)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

// reader is a group handler that reads n values.
type reader struct {
	n      int
	values []string
	done   context.CancelFunc
}

func (r *reader) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (r *reader) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (r *reader) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for m := range claim.Messages() {
		r.values = append(r.values, string(m.Value))
		s.MarkMessage(m, "")
		if len(r.values) == r.n {
			s.Commit()
			r.done()
		}
	}
	return nil
}

func (saramaClient) consume(t *testing.T, addr, topic, group string, n int) []string {
	t.Helper()
	g, err := sarama.NewConsumerGroup([]string{addr}, group, saramaConfig())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r := &reader{n: n, done: cancel}
	for ctx.Err() == nil {
		if err := g.Consume(ctx, []string{topic}, r); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	return r.values
}
