package partition

import (
	"testing"
	"time"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/record"
)

// TestTraffic: what passes is counted once, with waits and without, and stays counted when its partition goes.
func TestTraffic(t *testing.T) {
	m, ps := lead(t, "a-0", "a-1", "b-0")
	p := ps[0]
	size := int64(produce(t, p, "x", "y", "z"))
	results := fetch(m, t.Context(), []Read{from(p, 0), from(ps[1], 0)}, FetchSpec{MinBytes: 1, MaxBytes: 1 << 20}, nil)
	p.CountSent(results[0].Records.Len())
	release(results)
	var waited time.Duration
	fetch(m, t.Context(), []Read{from(ps[2], 0)}, FetchSpec{MinBytes: 1, MaxBytes: 1 << 20, MaxWait: time.Millisecond, Waited: &waited}, nil)
	if waited < time.Millisecond {
		t.Errorf("waited %v", waited)
	}
	fetch(m, t.Context(), []Read{from(p, 99)}, FetchSpec{MaxBytes: 1 << 20}, nil) // out of range: expected
	want := Traffic{MessagesIn: 3, BytesIn: size, BytesOut: size, ProduceRequests: 1, FetchRequests: 2}
	if got := p.Traffic(); got != want {
		t.Errorf("a-0: %+v, want %+v", got, want)
	}
	topics, all := m.Traffic()
	want.FetchRequests++
	if topics["a"] != want || topics["b"].FetchRequests != 1 {
		t.Errorf("topics %+v, want a %+v", topics, want)
	}
	want.FetchRequests++
	m.Remove(p.TopicPartition())
	produceRefused(t, p, newBatch(t, record.BuilderOptions{}, "gone"))
	topics, after := m.Traffic()
	if all != want || after != want || topics["a"] != (Traffic{FetchRequests: 1}) {
		t.Errorf("all %+v, then %+v with a %+v", all, after, topics["a"])
	}
}

// TestRefusals: of what is refused Kafka 4.4.0 counts some as failures and some by their bytes.
func TestRefusals(t *testing.T) {
	s := newStore(t)
	tooLarge := openLog(t, s, "a-0", func(c *logstore.Config) { c.MaxMessageBytes = 50 })
	compacted := openLog(t, s, "b-0", func(c *logstore.Config) { c.Compact = true })
	m := New(Options{})
	for _, log := range []*logstore.Log{tooLarge, compacted} {
		if _, err := m.Add(log, 0); err != nil {
			t.Fatal(err)
		}
	}
	batch := newBatch(t, record.BuilderOptions{}, "a long value")
	for topic, want := range map[string]Traffic{
		"a": {ProduceRequests: 1, BytesRejected: int64(len(batch))},
		"b": {ProduceRequests: 1, FailedProduceRequests: 1},
	} {
		p, err := m.Get(logstore.TopicPartition{Topic: topic})
		if err != nil {
			t.Fatal(err)
		}
		produceRefused(t, p, newBatch(t, record.BuilderOptions{}, "a long value"))
		if got := p.Traffic(); got != want {
			t.Errorf("%s: %+v, want %+v", topic, got, want)
		}
	}
}

func produceRefused(t *testing.T, p *Partition, batch record.Batch) {
	t.Helper()
	if _, err := p.Append(batch, logstore.AppendOptions{Origin: logstore.Client}); err == nil {
		t.Errorf("%s took the batch", p.TopicPartition())
	}
}

// TestCountingAllocatesNothing: counters are additions.
func TestCountingAllocatesNothing(t *testing.T) {
	var c traffic
	info, missing := logstore.AppendInfo{LastOffset: 9}, vfs.ErrLocked
	if n := testing.AllocsPerRun(100, func() {
		c.appended(100, &info, nil)
		c.appended(100, &info, missing)
		c.read(nil)
		c.read(ErrNotLeader)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
