package gotest

import (
	"context"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

type segmentio struct{}

func (segmentio) produce(t *testing.T, addr, topic string, values ...string) {
	t.Helper()
	transport := &kafka.Transport{MetadataTTL: 50 * time.Millisecond}
	w := &kafka.Writer{Addr: kafka.TCP(addr), Topic: topic, BatchTimeout: time.Millisecond, RequiredAcks: kafka.RequireAll,
		WriteBackoffMin: 10 * time.Millisecond, Transport: transport}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, v := range values {
		if err := w.WriteMessages(ctx, kafka.Message{Value: []byte(v)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	transport.CloseIdleConnections()
}

func (segmentio) consume(t *testing.T, addr, topic, group string, n int) (values []string) {
	t.Helper()
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{addr}, Topic: topic, GroupID: group, StartOffset: kafka.FirstOffset,
		MaxWait: 100 * time.Millisecond, JoinGroupBackoff: 10 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for len(values) < n {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, string(m.Value))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return values
}
