package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// traffic is a number of records of one topic, which are written once and read as often as a case wants.
type traffic struct {
	topic      string
	partitions int
	records    int
	values     *values
	codec      kgo.CompressionCodec
	even       bool // the same number into each partition, one partition after the other; else as the client chooses
	options    []kgo.Opt
}

// traffic of so many MiB.
func newTraffic(topic string, partitions, mib, size int, codec kgo.CompressionCodec) traffic {
	return traffic{topic: topic, partitions: partitions, records: mib << 20 / size, values: newValues(size), codec: codec}
}

func (f traffic) mib() float64 { return float64(f.records) * float64(f.values.size) / (1 << 20) }

// write produces all records, acknowledged by all, as an idempotent producer. Each must be acknowledged, and the offsets of a
// partition must count up from 0.
func (f traffic) write(ctx context.Context, addr string) error {
	options := append([]kgo.Opt{kgo.DefaultProduceTopic(f.topic), kgo.ProducerBatchCompression(f.codec)}, f.options...)
	if f.even {
		options = append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	cl, err := newClient(addr, options...)
	if err != nil {
		return err
	}
	defer cl.Close()
	a := acknowledged{next: make([]int64, f.partitions)}
	var block []kgo.Record // so that the client side allocates little
	for n := range f.records {
		if len(block) == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			block = make([]kgo.Record, 1000)
		}
		r := &block[0]
		block = block[1:]
		r.Value = f.values.at(n)
		if f.even {
			r.Partition = int32(n * f.partitions / f.records)
		}
		cl.Produce(ctx, r, a.one)
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return a.all(f.records)
}

// acknowledged counts acknowledgements.
type acknowledged struct {
	mu    sync.Mutex
	next  []int64 // offset of each partition
	count int
	err   error // the first
}

func (a *acknowledged) one(r *kgo.Record, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil && r.Offset != a.next[r.Partition] {
		err = fmt.Errorf("%s-%d: acknowledged at offset %d instead of %d", r.Topic, r.Partition, r.Offset, a.next[r.Partition])
	}
	if err != nil {
		if a.err == nil {
			a.err = err
		}
		return
	}
	a.next[r.Partition]++
	a.count++
}

func (a *acknowledged) all(want int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil && a.count != want {
		return fmt.Errorf("%d of %d records were acknowledged", a.count, want)
	}
	return a.err
}

// read consumes from the start, in no group, until it has so many records: each with a value that was written, at the offset
// that follows.
func (f traffic) read(ctx context.Context, addr string, want int) error {
	cl, err := newClient(addr, kgo.ConsumeTopics(f.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer cl.Close()
	next, count := make([]int64, f.partitions), 0
	for count < want {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("after %d of %d records: %w", count, want, err)
		}
		for it := fetches.RecordIter(); !it.Done(); count++ {
			r := it.Next()
			if r.Offset != next[r.Partition] || !f.values.has(r.Value) {
				return fmt.Errorf("%s-%d: offset %d where %d was due, or a value that was never written", f.topic, r.Partition, r.Offset, next[r.Partition])
			}
			next[r.Partition]++
		}
	}
	if count > f.records {
		return fmt.Errorf("%d records of %d", count, f.records)
	}
	return nil
}

// served returns when the partitions tell the ends that all records make.
func (f traffic) served(ctx context.Context, addr string) error {
	cl, err := newAsker(addr)
	if err != nil {
		return err
	}
	defer cl.Close()
	return until(ctx, 2*time.Millisecond, func() error {
		sum, err := endsOf(ctx, cl, []string{f.topic}, f.partitions)
		if err == nil && sum != int64(f.records) {
			err = fmt.Errorf("the ends sum up to %d instead of %d", sum, f.records)
		}
		return err
	})
}

// rate notes a throughput and what it cost.
func (t *trial) rate(what string, s span, mib float64) {
	t.note(what+": rate", "MiB/s", more, mib/s.wall.Seconds())
	if s.broker > 0 {
		t.note(what+": per broker CPU second", "MiB", more, mib/s.broker.Seconds())
	}
	t.note(what+": cores busy, broker", "cores", data, s.broker.Seconds()/s.wall.Seconds())
	t.note(what+": cores busy, client", "cores", data, s.own.Seconds()/s.wall.Seconds())
	t.note(what+": peak RSS", "MiB", less, s.end.peak)
}
