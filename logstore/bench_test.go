package logstore

import (
	"fmt"
	"testing"

	"minibroker/record"
)

// testBatch builds a batch of n records with values of size bytes.
func testBatch(t testing.TB, n, size int, timestamp int64) record.Batch {
	t.Helper()
	b := record.NewBuilder(record.BuilderOptions{})
	for i := range n {
		err := b.Append(record.Record{Timestamp: timestamp + int64(i), Key: fmt.Appendf(nil, "key-%06d", i), Value: make([]byte, size)})
		if err != nil {
			t.Fatal(err)
		}
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func benchLog(b *testing.B, segmentBytes int) *Log {
	cfg := DefaultConfig()
	cfg.SegmentBytes = segmentBytes
	l, err := OpenLog(LogOptions{Dir: b.TempDir() + "/bench-0", Config: cfg, Clean: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := l.Close(); err != nil {
			b.Error(err)
		}
	})
	return l
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{100, 1000, 16000} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			l := benchLog(b, 1<<30)
			batch := testBatch(b, 1, size, 1700000000000)
			b.SetBytes(int64(len(batch)))
			b.ReportAllocs()
			for b.Loop() {
				batch.SetBaseOffset(0)
				batch.SetLeaderEpoch(-1)
				if _, err := l.Append(batch, AppendOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendBatchOf100(b *testing.B) {
	l := benchLog(b, 1<<30)
	batch := testBatch(b, 100, 150, 1700000000000)
	b.SetBytes(int64(len(batch)))
	b.ReportAllocs()
	for b.Loop() {
		batch.SetBaseOffset(0)
		if _, err := l.Append(batch, AppendOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead reads a log of several segments from the start, as a consumer
// that catches up does.
func BenchmarkRead(b *testing.B) {
	for _, maxBytes := range []int{16 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("maxBytes=%d", maxBytes), func(b *testing.B) {
			l := benchLog(b, 16<<20)
			batch := testBatch(b, 10, 250, 1700000000000)
			for l.EndOffset() < 200_000 {
				batch.SetBaseOffset(0)
				if _, err := l.Append(batch, AppendOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			offset, total := int64(0), int64(0)
			for b.Loop() {
				info, err := l.Read(offset, maxBytes, ReadOptions{UpperBound: l.EndOffset(), MinOneMessage: true})
				if err != nil {
					b.Fatal(err)
				}
				if info.Records == nil {
					offset = 0
					continue
				}
				total += info.Records.Len()
				offset = info.NextOffset
				info.Records.Release()
			}
			b.SetBytes(total / int64(b.N))
		})
	}
}

// BenchmarkReadTail reads each batch right after it was appended.
func BenchmarkReadTail(b *testing.B) {
	l := benchLog(b, 1<<30)
	batch := testBatch(b, 1, 1000, 1700000000000)
	b.ReportAllocs()
	for b.Loop() {
		at := l.EndOffset()
		batch.SetBaseOffset(0)
		if _, err := l.Append(batch, AppendOptions{}); err != nil {
			b.Fatal(err)
		}
		info, err := l.Read(at, 1<<20, ReadOptions{UpperBound: l.EndOffset(), MinOneMessage: true})
		if err != nil {
			b.Fatal(err)
		}
		info.Records.Release()
	}
}

// BenchmarkReadSmall lets 64 readers at different places go on by one batch each in turn.
func BenchmarkReadSmall(b *testing.B) {
	const readers, records = 64, 10_000
	l := benchLog(b, 1<<30)
	batch := testBatch(b, 1, 1000, 1700000000000)
	for l.EndOffset() < records {
		batch.SetBaseOffset(0)
		if _, err := l.Append(batch, AppendOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	var offsets [readers]int64
	for i := range offsets {
		offsets[i] = int64(i * records / readers)
	}
	into := make([]byte, 4096)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		at := &offsets[i%readers]
		info, err := l.Read(*at%records, 1, ReadOptions{UpperBound: records, MinOneMessage: true, Hold: true})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := info.Records.ReadAt(into[:info.Records.Len()], 0); err != nil {
			b.Fatal(err)
		}
		info.Records.Release()
		*at = info.NextOffset
	}
}
