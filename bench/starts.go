package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// startEmpty is how long a user waits for a broker that has nothing yet.
func startEmpty(t *trial) error {
	var answer, record, cpu, rss []float64
	for range t.sizes.starts {
		i, err := t.broker()
		if err != nil {
			return err
		}
		if err := firstRecord(t.ctx, i.addr()); err != nil {
			return err
		}
		record = append(record, milliseconds(time.Since(i.begun)))
		u, err := i.usage()
		if err != nil {
			return err
		}
		answer, cpu, rss = append(answer, milliseconds(i.answered)), append(cpu, milliseconds(u.cpu)), append(rss, u.rss)
		i.kill()
	}
	t.note("process made to first answer", "ms", less, median(answer))
	t.note("process made to first record acknowledged", "ms", less, median(record))
	t.note("broker CPU until then", "ms", less, median(cpu))
	t.note("RSS then", "MiB", less, median(rss))
	return nil
}

// firstRecord creates a topic and writes one record as soon as the broker takes it.
func firstRecord(ctx context.Context, addr string) error {
	if err := until(ctx, 2*time.Millisecond, func() error { return createTopic(ctx, addr, "first", 1, nil) }); err != nil {
		return err
	}
	cl, err := newClient(addr, kgo.DefaultProduceTopic("first"), kgo.ProducerLinger(0), kgo.MetadataMinAge(10*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return time.Millisecond }))
	if err != nil {
		return err
	}
	defer cl.Close()
	r, err := cl.ProduceSync(ctx, kgo.StringRecord("first")).First()
	if err == nil && r.Offset != 0 {
		return fmt.Errorf("the first record has offset %d", r.Offset)
	}
	return err
}

// restart is how long a user waits for a broker that has much, killed and ended.
func restart(t *trial) error {
	f := newTraffic("restart", t.sizes.restartParts, t.sizes.restartMiB, 1024, kgo.NoCompression())
	f.even = true
	i, err := t.broker()
	if err != nil {
		return err
	}
	if err := createTopic(t.ctx, i.addr(), f.topic, f.partitions, nil); err != nil {
		return err
	}
	if err := f.write(t.ctx, i.addr()); err != nil {
		return err
	}
	i.kill()
	if err := t.again("after kill -9", i, f); err != nil {
		return err
	}
	begun := time.Now()
	if err := i.stop(); err != nil {
		return err
	}
	t.note("clean stop", "ms", less, milliseconds(time.Since(begun)))
	return t.again("after a clean stop", i, f)
}

// again starts a broker a second time; afterwards everything is read.
func (t *trial) again(what string, i *instance, f traffic) error {
	if err := i.start(t.ctx); err != nil {
		return err
	}
	if err := f.served(t.ctx, i.addr()); err != nil {
		return err
	}
	if err := t.noteServed(what, i); err != nil {
		return err
	}
	return f.read(t.ctx, i.addr(), f.records)
}

// noteServed notes what a start took whose partitions have just been served.
func (t *trial) noteServed(what string, i *instance) error {
	took := time.Since(i.begun)
	u, err := i.usage()
	if err != nil {
		return err
	}
	t.note(what+": process made to all partitions served", "ms", less, milliseconds(took))
	t.note(what+": broker CPU until then", "ms", less, milliseconds(u.cpu))
	t.note(what+": peak RSS", "MiB", less, u.peak)
	return nil
}

// idle is what a broker costs that nobody uses: with one topic, with many partitions, and with consumers that wait.
func idle(t *trial) error {
	i, err := t.broker()
	if err != nil {
		return err
	}
	if err := createTopic(t.ctx, i.addr(), "one", 1, nil); err != nil {
		return err
	}
	if err := t.doNothing("1 topic", i); err != nil {
		return err
	}
	f := traffic{topic: "many", partitions: t.sizes.idleParts, records: t.sizes.idleParts, values: newValues(100), even: true, codec: kgo.NoCompression()}
	if err := createTopic(t.ctx, i.addr(), f.topic, f.partitions, nil); err != nil {
		return err
	}
	if err := f.write(t.ctx, i.addr()); err != nil {
		return err
	}
	if err := t.doNothing(fmt.Sprintf("%d partitions", f.partitions), i); err != nil {
		return err
	}
	few := f
	few.topic, few.partitions, few.records = "few", 6, 6
	if err := createTopic(t.ctx, i.addr(), few.topic, few.partitions, nil); err != nil {
		return err
	}
	if err := few.write(t.ctx, i.addr()); err != nil {
		return err
	}
	for _, of := range []traffic{few, f} {
		if err := t.consumersWait(i, of); err != nil {
			return err
		}
	}
	return f.read(t.ctx, i.addr(), f.records)
}

// consumersWait measures a rest with consumers that are at the end of a topic.
func (t *trial) consumersWait(i *instance, f traffic) error {
	clients, err := waiting(t.ctx, i.addr(), t.sizes.idleConsumers, f)
	defer leave(clients)
	if err != nil {
		return err
	}
	// Within 5 s they commit what they have read: until then they are not idle.
	if err := t.rest(t.sizes.settle); err != nil {
		return err
	}
	return t.doNothing(fmt.Sprintf("%d partitions, %d consumers of %d", t.sizes.idleParts, t.sizes.idleConsumers, f.partitions), i)
}

// doNothing measures a rest.
func (t *trial) doNothing(what string, i *instance) error {
	if err := t.rest(t.sizes.settle); err != nil {
		return err
	}
	s, err := i.measure(func() error { return t.rest(t.sizes.idle) })
	if err != nil {
		return err
	}
	t.note(what+": RSS", "MiB", less, s.end.rss)
	t.note(what+": broker CPU per second", "ms", less, milliseconds(s.broker)/s.wall.Seconds())
	t.note(what+": threads", "", data, s.end.threads)
	t.note(what+": open files", "", data, s.end.files)
	return nil
}

// waiting starts consumers in groups of five, and returns when each group has read everything once.
func waiting(ctx context.Context, addr string, n int, f traffic) ([]*kgo.Client, error) {
	limited, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	var clients []*kgo.Client
	groups := make([]map[[2]int64]bool, (n+4)/5)
	read := make(chan [3]int64, 1000)
	for k := range n {
		group := k / 5
		groups[group] = map[[2]int64]bool{}
		cl, err := newClient(addr, kgo.ConsumeTopics(f.topic), kgo.ConsumerGroup(fmt.Sprintf("%s-%d", f.topic, group)),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		if err != nil {
			return clients, err
		}
		clients = append(clients, cl)
		go func() {
			for fetches := cl.PollFetches(ctx); !fetches.IsClientClosed() && ctx.Err() == nil; fetches = cl.PollFetches(ctx) {
				fetches.EachRecord(func(r *kgo.Record) {
					select {
					case read <- [3]int64{int64(group), int64(r.Partition), r.Offset}:
					case <-ctx.Done():
					case <-limited.Done(): // nobody counts any more
					}
				})
			}
		}()
	}
	for left := len(groups) * f.records; left > 0; {
		select {
		case r := <-read:
			seen, key := groups[r[0]], [2]int64{r[1], r[2]}
			if !seen[key] { // a record may come again after a rebalance
				seen[key] = true
				left--
			}
		case <-limited.Done():
			return clients, fmt.Errorf("the groups have %d records yet to read: %w", left, limited.Err())
		}
	}
	return clients, nil
}

// leave closes clients side by side, since each waits for an answer.
func leave(clients []*kgo.Client) {
	_ = together(len(clients), func(k int) error {
		clients[k].CloseAllowingRebalance()
		return nil
	})
}
