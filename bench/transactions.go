package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// transactions are how many transactions of one record a broker commits a second, by one and by ten producers, each with a
// partition of its own.
func transactions(t *trial) error {
	const topic, most = "transactions", 10
	i, err := t.broker()
	if err != nil {
		return err
	}
	if err := createTopic(t.ctx, i.addr(), topic, most, nil); err != nil {
		return err
	}
	committed := 0
	for _, producers := range []int{1, most} {
		if took, err := t.commit(i, topic, producers, t.sizes.transactions/5); err != nil { // to warm up
			return err
		} else {
			committed += len(took)
		}
		var took []time.Duration
		s, err := i.measure(func() (err error) {
			took, err = t.commit(i, topic, producers, t.sizes.transactions)
			return err
		})
		if err != nil {
			return err
		}
		committed += len(took)
		what := fmt.Sprintf("%d producers: ", producers)
		if producers == 1 {
			what = "1 producer: "
		}
		t.note(what+"committed", "1/s", more, float64(len(took))/s.wall.Seconds())
		t.note(what+"broker CPU per transaction", "µs", less, microseconds(s.broker)/float64(len(took)))
		t.tails(what, took)
		t.note(what+"peak RSS", "MiB", less, s.end.peak)
	}
	return readCommitted(t.ctx, i.addr(), topic, committed)
}

// commit lets producers commit one transaction after the other for a while.
func (t *trial) commit(i *instance, topic string, producers int, lasts time.Duration) ([]time.Duration, error) {
	end, took := time.Now().Add(lasts), make([][]time.Duration, producers)
	err := together(producers, func(k int) error {
		cl, err := newClient(i.addr(), kgo.TransactionalID(fmt.Sprintf("bench-%d", k)), kgo.ProducerLinger(0), kgo.RecordPartitioner(kgo.ManualPartitioner()))
		if err != nil {
			return err
		}
		defer cl.Close()
		value := newValues(100).at(k)
		for len(took[k]) < 10 || time.Now().Before(end) {
			begun := time.Now()
			if err := cl.BeginTransaction(); err != nil {
				return err
			}
			if err := cl.ProduceSync(t.ctx, &kgo.Record{Topic: topic, Partition: int32(k), Value: value}).FirstErr(); err != nil {
				return err
			}
			if err := cl.EndTransaction(t.ctx, kgo.TryCommit); err != nil {
				return err
			}
			took[k] = append(took[k], time.Since(begun))
		}
		return nil
	})
	return slices.Concat(took...), err
}

// readCommitted expects so many records that are committed.
func readCommitted(ctx context.Context, addr, topic string, want int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cl, err := newClient(addr, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return err
	}
	defer cl.Close()
	have := 0
	for have < want {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("%d records are committed in %d transactions: %w", have, want, err)
		}
		have += fetches.NumRecords()
	}
	if have > want {
		return fmt.Errorf("%d records are committed in %d transactions", have, want)
	}
	return nil
}
