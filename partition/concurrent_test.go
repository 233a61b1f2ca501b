package partition

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"minibroker/logstore"
	"minibroker/record"
)

// TestConsumersMissNoWake lets consumers follow producers with waits so long
// that a single missed wake would show.
func TestConsumersMissNoWake(t *testing.T) {
	const producers, consumers, each = 4, 4, 200
	m, ps := lead(t, "t-0", "t-1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for i := range producers {
		wg.Go(func() {
			for j := range each {
				produce(t, ps[(i+j)%len(ps)], strconv.Itoa(j))
			}
		})
	}
	for i := range consumers {
		wg.Go(func() {
			spec := FetchSpec{MinBytes: 1 + 100*i, MaxBytes: 1 << 20, MaxWait: time.Minute}
			consume(ctx, t, m, ps, spec, producers*each)
		})
	}
	wg.Wait()
}

// consume reads all partitions until it has seen so many records.
func consume(ctx context.Context, t *testing.T, m *Manager, ps []*Partition, spec FetchSpec, records int64) {
	reads := make([]Read, len(ps))
	for i := range ps {
		reads[i] = from(ps[i], 0)
	}
	var results []ReadResult
	for seen := int64(0); seen < records; {
		if records-seen < 20 {
			spec.MinBytes = 1 // what is left may be less than the minimum
		}
		results = fetch(m, ctx, reads, spec, results[:0])
		if ctx.Err() != nil {
			t.Errorf("a consumer with a minimum of %d bytes stands at %d of %d records", spec.MinBytes, seen, records)
			release(results)
			return
		}
		for i := range results {
			next := endOf(t, &results[i], reads[i].FetchOffset)
			seen += next - reads[i].FetchOffset
			reads[i].FetchOffset = next
		}
		release(results)
	}
}

// endOf is the offset behind the records of a result that begins at an offset.
func endOf(t *testing.T, r *ReadResult, offset int64) int64 {
	if r.Err != nil {
		t.Error(r.Err)
	}
	if r.Records == nil {
		return offset
	}
	set := make([]byte, r.Records.Len())
	if _, err := r.Records.ReadAt(set, 0); err != nil {
		t.Error(err)
	}
	for len(set) > 0 {
		batch, rest, err := record.Next(set)
		if err != nil || !batch.ChecksumOK() || batch.BaseOffset() != offset {
			t.Errorf("batch at offset %d: error %v", offset, err)
			return offset
		}
		offset, set = batch.NextOffset(), rest
	}
	return offset
}

// TestAWakeAllocatesNothing holds what an append pays for those who wait.
func TestAWakeAllocatesNothing(t *testing.T) {
	m, ps := lead(t, "t-0")
	p := ps[0]
	w := m.newWaiter()
	w.enter([]Read{from(p, 0), from(p, 0), {}})
	defer w.leave()
	if n := testing.AllocsPerRun(100, func() { p.wake(1); p.wakeAll() }); n != 0 {
		t.Errorf("a wake allocates %v times", n)
	}
}

func TestWaitersLeaveNothingBehind(t *testing.T) {
	m, ps := lead(t, "t-0", "t-1", "t-2")
	reads := []Read{from(ps[0], 0), from(ps[1], 0), from(ps[2], 0)}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				release(fetch(m, t.Context(), reads, FetchSpec{MinBytes: 1, MaxBytes: 1, MaxWait: time.Microsecond}, nil))
			}
		})
	}
	wg.Wait()
	for _, p := range ps {
		if p.first != nil || p.waiting.Load() != 0 {
			t.Errorf("%s: %d fetches still wait", p.TopicPartition(), p.waiting.Load())
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			_, ps := lead(b, "t-0")
			value := string(make([]byte, 100))
			var values []string
			for n := 0; n < size; n += 108 {
				values = append(values, value)
			}
			sent := newBatch(b, record.BuilderOptions{}, values...)
			set := make([]byte, len(sent))
			b.SetBytes(int64(len(sent)))
			b.ReportAllocs()
			for b.Loop() {
				copy(set, sent)
				if _, err := ps[0].Append(set, logstore.AppendOptions{Origin: logstore.Client}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFetch(b *testing.B) {
	m, ps := lead(b, "t-0")
	for range 100 {
		produce(b, ps[0], string(make([]byte, 10_000)))
	}
	bench := func(name string, read Read, spec FetchSpec) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			reads, results := []Read{read}, make([]ReadResult, 0, 1)
			for b.Loop() {
				results = fetch(m, context.Background(), reads, spec, results[:0])
				release(results)
			}
		})
	}
	bench("all", from(ps[0], 0), FetchSpec{MinBytes: 1, MaxBytes: 1 << 30})
	limited := from(ps[0], 50)
	limited.MaxBytes = 100_000
	bench("limited", limited, FetchSpec{MinBytes: 1, MaxBytes: 1 << 30})
	bench("nothing", from(ps[0], 100), FetchSpec{MinBytes: 0, MaxBytes: 1 << 30})
	bench("waiting", from(ps[0], 100), FetchSpec{MinBytes: 1, MaxBytes: 1 << 30, MaxWait: time.Nanosecond})
}
