package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// tails notes how long things took: the middle, and what one of a hundred, one of a thousand and the slowest took.
func (t *trial) tails(what string, took []time.Duration) {
	slices.Sort(took)
	at := func(part float64) float64 { return milliseconds(took[min(len(took)-1, int(part*float64(len(took))))]) }
	t.note(what+"p50", "ms", less, at(0.5))
	t.note(what+"p99", "ms", less, at(0.99))
	t.note(what+"p99.9", "ms", less, at(0.999))
	t.note(what+"slowest", "ms", data, at(1))
}

// warm gets a broker that has been used: a JVM's first records tell nothing of its later ones.
func (t *trial) warm(topic string) (*instance, error) {
	i, err := t.broker()
	if err != nil {
		return nil, err
	}
	if _, err := t.written(i, newTraffic("warm", 1, t.sizes.produceMiB/8, 1024, kgo.NoCompression())); err != nil {
		return nil, err
	}
	return i, createTopic(t.ctx, i.addr(), topic, 1, nil)
}

// syncProduce sends records one after the other, each when the one before is acknowledged.
func syncProduce(t *trial) error {
	i, err := t.warm("sync")
	if err != nil {
		return err
	}
	cl, err := newClient(i.addr(), kgo.DefaultProduceTopic("sync"), kgo.ProducerLinger(0), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return err
	}
	defer cl.Close()
	f := traffic{topic: "sync", partitions: 1, values: newValues(1024)}
	send := func(n int) (took []time.Duration, err error) {
		for range n {
			begun := time.Now()
			r, err := cl.ProduceSync(t.ctx, &kgo.Record{Value: f.values.at(f.records)}).First()
			if err != nil {
				return nil, err
			}
			if r.Offset != int64(f.records) {
				return nil, fmt.Errorf("record %d has offset %d", f.records, r.Offset)
			}
			f.records++
			took = append(took, time.Since(begun))
		}
		return took, nil
	}
	if _, err := send(t.sizes.syncs / 10); err != nil {
		return err
	}
	var took []time.Duration
	s, err := i.measure(func() (err error) {
		took, err = send(t.sizes.syncs)
		return err
	})
	if err != nil {
		return err
	}
	t.tails("", took)
	t.note("broker CPU per record", "µs", less, microseconds(s.broker)/float64(len(took)))
	t.note("peak RSS", "MiB", less, s.end.peak)
	return f.read(t.ctx, i.addr(), f.records)
}

// endToEnd sends at a pace, and times each record from when it was due until a consumer has it.
func endToEnd(t *trial) error { return t.delivered(1) }

// fanOut does so with many consumers, which all get every record.
func fanOut(t *trial) error { return t.delivered(t.sizes.readers) }

func (t *trial) delivered(readers int) error {
	i, err := t.warm("paced")
	if err != nil {
		return err
	}
	total := int(t.sizes.endToEnd.Seconds() * float64(t.sizes.perSecond))
	began := time.Now().Add(500 * time.Millisecond) // all consumers wait by then
	due := func(n int) time.Time {
		return began.Add(time.Duration(n) * time.Second / time.Duration(t.sizes.perSecond))
	}
	took, late := make([][]time.Duration, readers), 0
	s, err := i.measure(func() error {
		ctx, cancel := context.WithTimeout(t.ctx, t.sizes.endToEnd+time.Minute)
		defer cancel()
		return together(readers+1, func(k int) (err error) {
			if k == readers {
				late, err = paced(ctx, i.addr(), total, due)
				return err
			}
			took[k], err = arrivals(ctx, i.addr(), total, due)
			return err
		})
	})
	if err != nil {
		return err
	}
	var all []time.Duration
	for _, of := range took {
		all = append(all, of[total/5:]...) // the first fifth is for warming up
	}
	t.tails("", all)
	t.note("broker CPU per record and consumer", "µs", less, microseconds(s.broker)/float64(total*readers))
	t.note("records that the client sent 5 ms late", "", data, float64(late))
	t.note("peak RSS", "MiB", less, s.end.peak)
	return nil
}

// paced produces records when they are due, each with its number.
func paced(ctx context.Context, addr string, total int, due func(int) time.Time) (late int, err error) {
	cl, err := newClient(addr, kgo.DefaultProduceTopic("paced"), kgo.ProducerLinger(0), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	values, a := newValues(1024), acknowledged{next: make([]int64, 1)}
	for n := range total {
		wait := time.Until(due(n))
		if wait > 0 {
			if err := pause(ctx, wait); err != nil {
				return late, err
			}
		} else if wait < -5*time.Millisecond {
			late++
		}
		value := slices.Clone(values.at(n))
		binary.BigEndian.PutUint64(value, uint64(n))
		cl.Produce(ctx, &kgo.Record{Value: value}, a.one)
	}
	if err := cl.Flush(ctx); err != nil {
		return late, err
	}
	return late, a.all(total)
}

// arrivals consumes the records and gives how long after they were due each came.
func arrivals(ctx context.Context, addr string, total int, due func(int) time.Time) (took []time.Duration, err error) {
	cl, err := newClient(addr, kgo.ConsumeTopics("paced"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	for len(took) < total {
		fetches := cl.PollFetches(ctx)
		now := time.Now()
		if err := fetches.Err(); err != nil {
			return nil, fmt.Errorf("after %d of %d records: %w", len(took), total, err)
		}
		for it := fetches.RecordIter(); !it.Done(); {
			r := it.Next()
			n := len(took)
			if n == total || r.Offset != int64(n) || binary.BigEndian.Uint64(r.Value) != uint64(n) {
				return nil, errors.New("records came in another order than they were sent in")
			}
			took = append(took, now.Sub(due(n)))
		}
	}
	return took, nil
}
