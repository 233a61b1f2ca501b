package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// topics creates topics of one partition, 500 a request, until all can be used, and starts with them.
func topics(t *trial) error {
	t.litter = true
	i, err := t.broker()
	if err != nil {
		return err
	}
	var all []string
	for _, upTo := range t.sizes.topics {
		s, err := i.measure(func() error {
			for len(all) < upTo {
				var names []string
				for range min(500, upTo-len(all)) {
					names = append(names, fmt.Sprintf("many-%05d", len(all)))
					all = append(all, names[len(names)-1])
				}
				if err := createTopics(t.ctx, i.addr(), names, 1, nil); err != nil {
					return err
				}
				if err := awaitTopics(t.ctx, i.addr(), names, 1); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		t.note(fmt.Sprintf("up to %d", upTo), "ms", less, milliseconds(s.wall))
		t.note(fmt.Sprintf("up to %d: broker CPU", upTo), "ms", less, milliseconds(s.broker))
		t.note(fmt.Sprintf("up to %d: RSS", upTo), "MiB", less, s.end.rss)
		t.note(fmt.Sprintf("up to %d: peak RSS", upTo), "MiB", less, s.end.peak)
	}
	return t.twoStarts(i, all, 1)
}

// partitions is a broker that has very many.
func partitions(t *trial) error {
	t.litter = true
	i, err := t.broker()
	if err != nil {
		return err
	}
	names, each := []string{}, min(1000, t.sizes.parts)
	s, err := i.measure(func() error {
		for len(names)*each < t.sizes.parts {
			names = append(names, fmt.Sprintf("wide-%d", len(names)))
			if err := createTopic(t.ctx, i.addr(), names[len(names)-1], each, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.note("created", "ms", less, milliseconds(s.wall))
	if err := t.doNothing("at rest", i); err != nil {
		return err
	}
	return t.twoStarts(i, names, each)
}

// twoStarts starts the broker again, with all that it has: after kill -9 and after a clean stop.
func (t *trial) twoStarts(i *instance, names []string, each int) error {
	if !t.peer.durable {
		return nil
	}
	i.kill()
	if err := t.manyAgain("after kill -9", i, names, each); err != nil {
		return err
	}
	if err := i.stop(); err != nil {
		return err
	}
	return t.manyAgain("after a clean stop", i, names, each)
}

func (t *trial) manyAgain(what string, i *instance, names []string, each int) error {
	if err := i.start(t.ctx); err != nil {
		return err
	}
	if err := awaitTopics(t.ctx, i.addr(), names, each); err != nil {
		return err
	}
	return t.noteServed(what, i)
}

// singles is a topic of one partition, a batch of one record at each offset.
func (t *trial) singles(i *instance, topic string, records int) error {
	if err := createTopic(t.ctx, i.addr(), topic, 1, nil); err != nil {
		return err
	}
	f := traffic{topic: topic, partitions: 1, records: records, values: newValues(1024), codec: kgo.NoCompression(),
		options: []kgo.Opt{kgo.ProducerLinger(0), kgo.ProducerBatchMaxBytes(1200)}}
	return f.write(t.ctx, i.addr())
}

// connections are many that rest, and then fetch a small batch each, one after the other.
func connections(t *trial) error {
	const records = 1000
	i, err := t.broker()
	if err != nil {
		return err
	}
	if err := t.singles(i, "connections", records); err != nil {
		return err
	}
	before, err := i.usage()
	if err != nil {
		return err
	}
	all, err := dialMany(i.addr(), t.sizes.connections)
	defer hangUp(all)
	if err != nil {
		return err
	}
	if err := t.doNothing("at rest", i); err != nil {
		return err
	}
	rest, err := i.usage()
	if err != nil {
		return err
	}
	t.note("per connection at rest", "KiB", less, max(0, rest.rss-before.rss)*1024/float64(t.sizes.connections))
	count, s, err := t.fetchAround(i, all, "connections", records, t.sizes.busy)
	if err != nil {
		return err
	}
	t.note("busy: peak RSS", "MiB", less, s.end.peak)
	t.note("busy: fetches", "1/s", more, float64(count)/s.wall.Seconds())
	t.note("busy: broker CPU per fetch", "µs", less, microseconds(s.broker)/float64(count))
	return nil
}

// smallFetches are answers with one batch of one record.
func smallFetches(t *trial) error {
	const records = 10_000
	i, err := t.broker()
	if err != nil {
		return err
	}
	if err := t.singles(i, "small", records); err != nil {
		return err
	}
	all, err := dialMany(i.addr(), t.sizes.fetchers)
	defer hangUp(all)
	if err != nil {
		return err
	}
	if _, _, err := t.fetchAround(i, all, "small", records, t.sizes.busy/2); err != nil { // to warm up
		return err
	}
	count, s, err := t.fetchAround(i, all, "small", records, t.sizes.busy)
	if err != nil {
		return err
	}
	t.note("fetches", "1/s", more, float64(count)/s.wall.Seconds())
	t.note("broker CPU per fetch", "µs", less, microseconds(s.broker)/float64(count))
	t.note("client CPU per fetch", "µs", data, microseconds(s.own)/float64(count))
	t.note("peak RSS", "MiB", less, s.end.peak)
	return nil
}

// fetchAround lets each connection walk through a topic for a while, batch by batch and from a place of its own; each answer
// must begin with the batch that was asked for.
func (t *trial) fetchAround(i *instance, all []*conn, topic string, records int, lasts time.Duration) (int64, span, error) {
	var count atomic.Int64
	s, err := i.measure(func() error {
		end := time.Now().Add(lasts)
		return together(len(all), func(k int) error {
			for offset := int64(k * records / len(all)); time.Now().Before(end) && t.ctx.Err() == nil; count.Add(1) {
				first, last, err := all[k].batchAt(topic, 0, offset)
				if err != nil {
					return err
				}
				if first > offset || last < offset {
					return fmt.Errorf("a fetch at offset %d gave the batch from %d to %d", offset, first, last)
				}
				offset = (last + 1) % int64(records)
			}
			return t.ctx.Err()
		})
	})
	return count.Load(), s, err
}
