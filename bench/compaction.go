package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	keyTopic    = "keys"
	keyedRecord = 250 // bytes of a record with its overhead; 232 are the value's
)

// compaction is how fast outdated records go, and whether readers notice. Each key is written twice, in the same order, into
// eight segments; the clock starts when the topic becomes compacted. The wait between two looks of the cleaner would hide the rest.
func compaction(t *trial) error {
	i, err := t.broker("log.cleaner.backoff.ms=100")
	if err != nil {
		return err
	}
	keys := t.sizes.keys
	config := map[string]string{"cleanup.policy": "delete", "min.cleanable.dirty.ratio": "0.01", "segment.bytes": strconv.Itoa(max(1<<20, 2*keys*keyedRecord/8))}
	if err := createTopic(t.ctx, i.addr(), keyTopic, 1, config); err != nil {
		return err
	}
	if err := writeKeys(t.ctx, i.addr(), keys); err != nil {
		return err
	}
	c, err := dial(i.addr())
	if err != nil {
		return err
	}
	defer c.Close()
	calm, _, err := t.readAbout(c, int64(2*keys), func(reads int) (bool, error) { return reads == 200, nil })
	if err != nil {
		return err
	}
	var first, longest time.Duration
	s, err := i.measure(func() error {
		begun := time.Now()
		if err := alterTopic(t.ctx, i.addr(), keyTopic, "cleanup.policy", "compact"); err != nil {
			return err
		}
		longest, _, err = t.readAbout(c, int64(2*keys), func(int) (bool, error) {
			if first == 0 {
				gone, err := firstIsGone(c)
				if err != nil || !gone {
					return false, err
				}
				first = time.Since(begun)
			}
			return t.cleaned(i), nil
		})
		return err
	})
	if err != nil {
		return err
	}
	if err := alterTopic(t.ctx, i.addr(), keyTopic, "cleanup.policy", "delete"); err != nil { // one broker cleans again and again
		return err
	}
	t.note("until the first record is gone", "ms", less, milliseconds(first))
	if t.peer.layout {
		t.note("until the cleaner's checkpoint names the log", "ms", less, milliseconds(s.wall))
	}
	t.note("broker CPU", "ms", less, milliseconds(s.broker))
	t.note("longest wait of a reader", "ms", less, milliseconds(longest))
	t.note("longest wait of a reader, before", "ms", data, milliseconds(calm))
	t.note("peak RSS", "MiB", less, s.end.peak)
	left, err := newestLeft(t.ctx, i.addr(), keys)
	t.note("records left", "", data, float64(left))
	return err
}

// cleaned tells whether all is done, which only Kafka's files show.
func (t *trial) cleaned(i *instance) bool {
	if !t.peer.layout {
		return true
	}
	b, _ := os.ReadFile(filepath.Join(i.data(), "cleaner-offset-checkpoint"))
	return strings.Contains(string(b), "\n"+keyTopic+" 0 ")
}

// firstIsGone asks for the first record, whose key was written again. A broker may go on behind it, or move the start of the log.
func firstIsGone(c *conn) (bool, error) {
	first, _, err := c.batchAt(keyTopic, 0, 0)
	if errors.Is(err, kerr.OffsetOutOfRange) {
		return true, nil
	}
	return first > 0, err
}

// writeKeys writes record n with key n modulo keys. The first goes by itself, so that asking for it costs little.
func writeKeys(ctx context.Context, addr string, keys int) error {
	cl, err := newClient(addr, kgo.DefaultProduceTopic(keyTopic), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(64<<10))
	if err != nil {
		return err
	}
	defer cl.Close()
	values, a := newValues(232), acknowledged{next: make([]int64, 1)}
	for n := range 2 * keys {
		value := slices.Clone(values.at(n))
		binary.BigEndian.PutUint64(value, uint64(n))
		cl.Produce(ctx, &kgo.Record{Key: binary.BigEndian.AppendUint64(nil, uint64(n%keys)), Value: value}, a.one)
		if n == 0 {
			if err := cl.Flush(ctx); err != nil {
				return err
			}
		}
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return a.all(2 * keys)
}

// readAbout fetches a batch at any offset every two milliseconds until it is told to end, and gives the longest time that an
// answer took.
func (t *trial) readAbout(c *conn, end int64, done func(reads int) (bool, error)) (longest time.Duration, reads int, err error) {
	random := rand.New(rand.NewPCG(2, 2))
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline) && t.ctx.Err() == nil; <-tick.C {
		if ended, err := done(reads); ended || err != nil {
			return longest, reads, err
		}
		asked := time.Now()
		_, _, err := c.batchAt(keyTopic, 0, random.Int64N(end))
		if longest = max(longest, time.Since(asked)); err != nil && !errors.Is(err, kerr.OffsetOutOfRange) {
			return longest, reads, err
		}
		reads++
	}
	return longest, reads, fmt.Errorf("not done after %d reads in three minutes", reads)
}

// newestLeft reads what is left: offsets that rise, values where they were, and the newest record of each key.
func newestLeft(ctx context.Context, addr string, keys int) (records int, err error) {
	cl, err := newClient(addr, kgo.ConsumeTopics(keyTopic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	newest := 0
	for last := int64(-1); last < int64(2*keys)-1; {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return records, err
		}
		for it := fetches.RecordIter(); !it.Done(); records++ {
			r := it.Next()
			n := binary.BigEndian.Uint64(r.Value)
			if r.Offset <= last || n != uint64(r.Offset) || binary.BigEndian.Uint64(r.Key) != n%uint64(keys) {
				return records, fmt.Errorf("offset %d after %d holds record %d", r.Offset, last, n)
			}
			if last = r.Offset; n >= uint64(keys) {
				newest++
			}
		}
	}
	if newest != keys || records >= 2*keys {
		return records, fmt.Errorf("%d records are left, the newest of %d keys; %d keys were written twice", records, newest, keys)
	}
	return records, nil
}
