package minibroker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"
	"testing"
	"time"

	"minibroker/config"
	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/partition"
	"minibroker/record"
)

// memConfig is a broker whose data directory is in memory and whose files are small.
func memConfig(t *testing.T) *config.Broker {
	t.Helper()
	c, _, err := config.Parse(memProperties())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func memProperties() []config.Property {
	var props []config.Property
	for key, value := range map[string]string{
		"node.id": "1", "process.roles": "broker,controller", "log.dirs": "/data",
		"listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0", "controller.listener.names": "CONTROLLER",
		"controller.quorum.voters": "1@127.0.0.1:9093", "log.retention.ms": "-1", "log.segment.delete.delay.ms": "1",
		"log.index.size.max.bytes": "1200", "log.index.interval.bytes": "256", "log.cleaner.enable": "false",
	} {
		props = append(props, config.Property{Key: key, Value: value, Source: "test"})
	}
	return props
}

// numberedProducer is the producer id of every numberedBatch.
const numberedProducer = 7

// promise is what a broker answered so far. Fields only grow, or are set before what they announce is asked for.
type promise struct {
	mu     sync.Mutex
	topics map[string]topicPromise
}

type topicPromise struct {
	created, deleted, inDoubt bool
	acked, synced             int64 // records
	start                     int64 // log start asked for
}

func (p *promise) change(topic string, fn func(*topicPromise)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.topics[topic]
	fn(&t)
	p.topics[topic] = t
}

func (p *promise) now() map[string]topicPromise {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.topics)
}

// script does a bit of everything to a broker. An error ends it.
func (p *promise) script(t *testing.T, b *Broker) error {
	if err := b.formatting.wait(); err != nil {
		return err
	}
	steps := []func() error{
		func() error { return p.create(b, "a", 2) },
		func() error { return p.append(t, b, "a", 12) },
		func() error { return p.create(b, "b", 1) },
		func() error { return p.append(t, b, "b", 4) },
		b.store.CheckpointRecoveryPoints,
		b.partitions.CheckpointHighWatermarks,
		func() error { return p.deleteRecords(b, "a", 9) },
		b.applyRetention,
		b.store.CheckpointLogStartOffsets,
		func() error { return p.append(t, b, "a", 5) },
		func() error { return p.flush(b, "a") },
		func() error { return p.remove(b, "b") },
		func() error { _, err := b.store.RemoveDue(time.Now().Add(time.Minute)); return err },
		func() error { return p.create(b, "c", 1) },
		func() error { return p.append(t, b, "c", 3) },
		func() error { return p.remove(b, "c") },
		func() error { return p.create(b, "d", 1) },
		func() error { return p.append(t, b, "a", 3) },
		func() error { return p.append(t, b, "d", 3) },
		b.store.CheckpointRecoveryPoints,
		b.partitions.CheckpointHighWatermarks,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (p *promise) create(b *Broker, topic string, partitions int) error {
	p.change(topic, func(t *topicPromise) { t.inDoubt = true })
	_, err := b.meta.CreateTopics([]metadata.NewTopic{{Name: topic, Partitions: partitions, Configs: map[string]string{"internal.segment.bytes": "1500"}}})
	if err == nil {
		p.change(topic, func(t *topicPromise) { t.created, t.inDoubt = true, false })
	}
	return err
}

func (p *promise) remove(b *Broker, topic string) error {
	p.change(topic, func(t *topicPromise) { t.inDoubt = true })
	known, ok := b.meta.Image().Topic(topic)
	if !ok {
		return fmt.Errorf("no topic %s", topic)
	}
	err := b.meta.DeleteTopics([]logstore.UUID{known.ID})
	if err == nil {
		p.change(topic, func(t *topicPromise) { t.deleted, t.inDoubt = true, false })
	}
	return err
}

func (p *promise) append(t *testing.T, b *Broker, topic string, batches int) error {
	part, err := b.partitions.Get(logstore.TopicPartition{Topic: topic})
	if err != nil {
		return err
	}
	for range batches {
		info, err := part.Append(numberedBatch(t, part.EndOffset(), part.EndOffset()), logstore.AppendOptions{})
		if err != nil {
			return err
		}
		p.change(topic, func(t *topicPromise) { t.acked = info.LastOffset + 1 })
	}
	return nil
}

func (p *promise) flush(b *Broker, topic string) error {
	log := b.store.Log(logstore.TopicPartition{Topic: topic})
	end := log.EndOffset()
	err := log.Flush(end)
	if err == nil {
		p.change(topic, func(t *topicPromise) { t.synced = end })
	}
	return err
}

func (p *promise) deleteRecords(b *Broker, topic string, offset int64) error {
	p.change(topic, func(t *topicPromise) { t.start = offset })
	part, err := b.partitions.Get(logstore.TopicPartition{Topic: topic})
	if err != nil {
		return err
	}
	_, err = part.DeleteRecords(offset)
	return err
}

// numberedBatch holds three records whose values are their offsets.
func numberedBatch(t *testing.T, first, sequence int64) record.Batch {
	t.Helper()
	b := record.NewBuilder(record.BuilderOptions{Producer: &record.Producer{ID: numberedProducer, BaseSequence: int32(sequence)}})
	for i := first; i < first+3; i++ {
		if err := b.Append(record.Record{Timestamp: time.Now().UnixMilli(), Value: fmt.Appendf(nil, "%0100d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// keeps checks that what was promised is there, in a broker started on what a crash left. synced asks only for what
// had reached the disk.
func keeps(b *Broker, want map[string]topicPromise, synced bool) error {
	for name, p := range want {
		_, there := b.meta.Image().Topic(name)
		if !p.inDoubt && there != (p.created && !p.deleted) {
			return fmt.Errorf("topic %s is there: %v, promised %+v", name, there, p)
		}
		if !there {
			continue
		}
		part, err := b.partitions.Get(logstore.TopicPartition{Topic: name})
		if err != nil {
			return fmt.Errorf("topic %s: %w", name, err)
		}
		kept := p.acked
		if synced {
			kept = p.synced
		}
		start, end := part.LogStartOffset(), part.EndOffset()
		if end < kept || start > p.start {
			return fmt.Errorf("%s is [%d, %d), promised %+v", name, start, end, p)
		}
		if _, err := numbersFrom(part.Log(), start, end, kept); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// numbersFrom reads [start, end) and expects every record below kept, and every other that is there, at its offset: a
// power loss may take the end of a segment while the next one is known already. It returns the offset after the last
// record, start when there is none.
func numbersFrom(log *logstore.Log, start, end, kept int64) (after int64, err error) {
	after = start
	for at := start; at < end; {
		info, err := log.Read(at, 1, logstore.ReadOptions{UpperBound: math.MaxInt64, MinOneMessage: true})
		if err == nil && info.Records == nil && at >= kept {
			return after, nil
		}
		if err != nil || info.Records == nil {
			return after, fmt.Errorf("read at %d of %d: nothing, %w", at, end, err)
		}
		set := make(record.Batch, info.Records.Len())
		_, err = info.Records.ReadAt(set, 0)
		info.Records.Release()
		if err != nil {
			return after, err
		}
		if first := set.BaseOffset(); first > at && at < kept {
			return after, fmt.Errorf("offsets %d to %d are missing", at, first-1)
		}
		if err := set.ForEach(1<<20, func(r *record.Record) error {
			if want := fmt.Sprintf("%0100d", r.Offset); string(r.Value) != want {
				return fmt.Errorf("offset %d holds %s", r.Offset, r.Value)
			}
			return nil
		}); err != nil {
			return after, err
		}
		at = info.NextOffset
		after = at
	}
	return after, nil
}

// goOn appends as the producer that the broker knows. A power loss may leave the log's end at the base of a segment that
// lost its records, and the ones before it too; like Kafka's, the broker then ends at that base, and its producer is
// where the surviving batches or a surviving snapshot put it: not before the last record that is there, and not past the end.
func goOn(t *testing.T, part *partition.Partition) error {
	t.Helper()
	start, end := part.LogStartOffset(), part.EndOffset()
	after, err := numbersFrom(part.Log(), start, end, 0)
	if err != nil {
		return err
	}
	next := int64(0)
	for _, p := range part.Log().ActiveProducers() {
		if p.ProducerID == numberedProducer {
			next = int64(p.LastSequence) + 1
		}
	}
	if after > start && next < after || next > end {
		return fmt.Errorf("the log [%d, %d) has records up to %d, but the producer's next sequence is %d", start, end, after, next)
	}
	_, err = part.Append(numberedBatch(t, end, next), logstore.AppendOptions{})
	return err
}

// TestCrashAnywhere stops a whole broker before each of its file operations, as a killed process and as a power loss
// would, and starts another on what is left: it starts, keeps what was promised, stops cleanly, and every file is sound.
func TestCrashAnywhere(t *testing.T) {
	type crash struct {
		op    vfs.Op
		want  map[string]topicPromise
		model vfs.CrashModel
		left  *vfs.Mem
	}
	var mu sync.Mutex
	var crashes []crash
	mem, p := vfs.NewMem(), &promise{topics: map[string]topicPromise{}}
	mem.SetHook(func(op vfs.Op) error {
		mu.Lock() // one state after the other
		defer mu.Unlock()
		want := p.now()
		for _, model := range []vfs.CrashModel{vfs.KeepAll, vfs.KeepSynced} {
			crashes = append(crashes, crash{op, want, model, mem.CrashClone(model)})
		}
		return nil
	})
	b, err := Open(t.Context(), Options{Config: memConfig(t), FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.script(t, b); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	work := make(chan crash)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for c := range work {
				if err := restart(t, c.left, c.want, c.model == vfs.KeepSynced); err != nil {
					t.Errorf("crash (model %d) before operation %d, %v of %s: %v", c.model, c.op.N, c.op.Kind, c.op.Name, err)
				}
			}
		})
	}
	for _, c := range crashes {
		work <- c
	}
	close(work)
	workers.Wait()
	t.Logf("%d states tried", len(crashes))
}

// restart starts on what a crash left, checks it, goes on, stops cleanly and verifies all files.
func restart(t *testing.T, fsys vfs.FS, want map[string]topicPromise, synced bool) error {
	t.Helper()
	b, err := Open(t.Context(), Options{Config: memConfig(t), FS: fsys})
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if err := keeps(b, want, synced); err != nil {
		b.Abort()
		return err
	}
	for _, topic := range b.meta.Image().Topics() {
		part, err := b.partitions.Get(logstore.TopicPartition{Topic: topic.Name})
		if err == nil {
			err = goOn(t, part)
		}
		if err != nil {
			b.Abort()
			return fmt.Errorf("append after the restart: %w", err)
		}
	}
	if err := b.Close(context.Background()); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	found, err := logstore.Verify(fsys, "/data")
	if len(found) > 0 {
		return errors.Join(fmt.Errorf("%d findings, the first: %s", len(found), found[0]), err)
	}
	return err
}

// TestFailedOperations lets each file operation of a broker fail once, and all from some on: it may answer errors, it
// may not start, but what it acknowledged is there afterwards.
func TestFailedOperations(t *testing.T) {
	broken := errors.New("injected")
	tries := 0
	for _, lasting := range []bool{false, true} {
		for n := int64(1); ; n++ {
			mem, p := vfs.NewMem(), &promise{topics: map[string]topicPromise{}}
			hit := false
			var mu sync.Mutex
			mem.SetHook(func(op vfs.Op) error {
				mu.Lock()
				defer mu.Unlock()
				if op.N != n && !(lasting && hit) {
					return nil
				}
				hit = true
				return broken
			})
			b, err := Open(t.Context(), Options{Config: memConfig(t), FS: mem})
			if err == nil {
				_ = p.script(t, b) // what it acknowledged before is what counts
				b.Abort()
			}
			mem.SetHook(nil)
			mu.Lock()
			done := !hit
			mu.Unlock()
			if done {
				break
			}
			tries++
			want := p.now()
			if err := restart(t, mem.CrashClone(vfs.KeepAll), want, false); err != nil {
				t.Fatalf("operation %d failed (from then on: %v): %v", n, lasting, err)
			}
		}
	}
	t.Logf("%d failures tried", tries)
}
