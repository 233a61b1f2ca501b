package cleaner

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/record"
)

// BenchmarkClean is one pass over a log of about 32 MB: keys of 12 and values of
// 100 bytes, each key five times. The throughput counts the log once, although
// the dirty part is read twice; allocations are those of a whole pass.
//
//	none, lz4  wholly dirty, batches of 100 records
//	large      wholly dirty, batches of 5,000 records, larger than the buffer
//	half       the older half was cleaned before, so that its keys are looked up
func BenchmarkClean(b *testing.B) {
	for _, c := range []cleanBench{{"none", record.None, 100, 0}, {"lz4", record.Lz4, 100, 0}, {"large", record.None, 5000, 0}, {"half", record.None, 100, 2}} {
		b.Run(c.name, c.run)
	}
}

type cleanBench struct {
	name  string
	codec record.Codec
	batch int // records
	clean int // one of how many parts was cleaned before; 0 for none
}

const (
	benchRecords = 270_000
	benchKeys    = 54_000
)

func (c cleanBench) run(b *testing.B) {
	source := c.fill(b)
	b.ReportAllocs()
	size, left := source.log("b").Size(), int64(0)
	must(b, source.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
	b.SetBytes(size)
	for b.Loop() {
		b.StopTimer()
		n := *source
		n.dir += "-copy"
		must(b, os.RemoveAll(n.dir))
		must(b, os.CopyFS(n.dir, os.DirFS(source.dir)))
		n.open()
		b.StartTimer()
		if !n.cleaner.Round(context.Background()) {
			b.Fatal("nothing was cleaned")
		}
		b.StopTimer()
		left = n.log("b").Size()
		must(b, n.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
		b.StartTimer()
	}
	b.ReportMetric(float64(left)/float64(size), "left/size")
}

// fill makes the log that is cleaned again and again.
func (c cleanBench) fill(b *testing.B) *node {
	cfg := logstore.DefaultConfig()
	cfg.Compact, cfg.Delete, cfg.SegmentBytes, cfg.MinCleanableRatio = true, false, 4<<20, 0
	cfg.FileDeleteDelayMs = 0
	n := &node{t: b, fs: vfs.OS(), dir: filepath.Join(b.TempDir(), "log"), settings: testSettings(), config: func(string) logstore.Config { return cfg }}
	n.settings.DedupeBufferBytes = 128 << 20
	n.settings.IOBufferBytes = 512 << 10
	n.open()
	log, err := n.store.Create(logstore.TopicPartition{Topic: "b"}, logstore.NewUUID(), nil, cfg)
	must(b, err)
	for first := 0; first < benchRecords; first += c.batch {
		if c.clean > 0 && first == benchRecords/c.clean && !n.cleaner.Round(context.Background()) {
			b.Fatal("nothing was cleaned")
		}
		fillBatch(b, log, c.codec, first, c.batch)
	}
	return n
}

func fillBatch(b *testing.B, log *logstore.Log, codec record.Codec, first, records int) {
	builder := record.NewBuilder(record.BuilderOptions{Codec: codec})
	value := make([]byte, 100)
	rng := rand.New(rand.NewPCG(uint64(first), 1))
	for i := range records {
		for j := 40; j < len(value); j++ {
			value[j] = byte(rng.Uint32())
		}
		copy(value, fmt.Sprintf("value %d", first+i))
		must(b, builder.Append(record.Record{Key: fmt.Appendf(nil, "key-%08d", (first+i)*7919%benchKeys), Value: value, Timestamp: time.Now().UnixMilli()}))
	}
	batch, err := builder.Build()
	must(b, err)
	_, err = log.Append(batch, logstore.AppendOptions{})
	must(b, err)
}

// BenchmarkReaderBesidePass is a pass with somebody who reads 64 KiB at any
// offset once a millisecond. It reports the longest read, and the longest that
// the reader was not run at all.
func BenchmarkReaderBesidePass(b *testing.B) {
	c := cleanBench{"none", record.None, 100, 0}
	source := c.fill(b)
	must(b, source.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
	var longest, late time.Duration
	for b.Loop() {
		n := *source
		n.dir += "-copy"
		must(b, os.RemoveAll(n.dir))
		must(b, os.CopyFS(n.dir, os.DirFS(source.dir)))
		n.open()
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			read, gap := readBeside(b, n.log("b"), stop)
			longest, late = max(longest, read), max(late, gap)
		}()
		if !n.cleaner.Round(context.Background()) {
			b.Fatal("nothing was cleaned")
		}
		close(stop)
		<-stopped
		must(b, n.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
	}
	b.ReportMetric(float64(longest.Microseconds()), "longest-read-µs")
	b.ReportMetric(float64(late.Microseconds()), "longest-gap-µs")
}

// readBeside reads until it is told to stop.
func readBeside(b *testing.B, log *logstore.Log, stop <-chan struct{}) (longest, late time.Duration) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	buf, rng, before := make([]byte, 64<<10), rand.New(rand.NewPCG(1, 2)), time.Now()
	for {
		select {
		case <-stop:
			return longest, late
		case <-tick.C:
		}
		begun := time.Now()
		late = max(late, begun.Sub(before))
		info, err := log.Read(rng.Int64N(benchRecords), len(buf), logstore.ReadOptions{UpperBound: log.EndOffset(), MinOneMessage: true})
		if err != nil {
			b.Error(err)
			return longest, late
		}
		if info.Records != nil {
			if _, err := info.Records.ReadAt(buf[:info.Records.Len()], 0); err != nil {
				b.Error(err)
			}
			info.Records.Release()
		}
		before = time.Now()
		longest = max(longest, before.Sub(begun))
	}
}

// BenchmarkOffsetMap is a put and a look-up each of a million keys.
func BenchmarkOffsetMap(b *testing.B) {
	keys := make([][]byte, 1_000_000)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "key-%08d", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		m := NewOffsetMap(128<<20, 0.9)
		for i, key := range keys {
			m.Put(key, int64(i))
		}
		for i, key := range keys {
			if m.Get(key) != int64(i) {
				b.Fatal(i)
			}
		}
	}
}

// BenchmarkSelect decides on the records of one batch of 100, as the copying of
// a pass does: by what filling the map has shown, or by looking keys up. It
// must not allocate.
func BenchmarkSelect(b *testing.B) {
	for _, known := range []bool{true, false} {
		b.Run(map[bool]string{true: "known", false: "looked up"}[known], func(b *testing.B) {
			builder := record.NewBuilder(record.BuilderOptions{})
			for i := range 100 {
				must(b, builder.Append(record.Record{Key: fmt.Appendf(nil, "key-%08d", i), Value: make([]byte, 100)}))
			}
			batch, err := builder.Build()
			must(b, err)
			p := &pass{offset: NewOffsetMap(128<<20, 0.9), candidate: &candidate{}}
			if known {
				p.noted = newVerdicts(0, 1<<20)
			}
			if _, err := p.fillFromBatch(batch); err != nil {
				b.Fatal(err)
			}
			p.noted.outdate(7) // else the batch is known to stay as a whole
			p.offset.Seen(200)
			b.SetBytes(int64(len(batch)))
			b.ReportAllocs()
			for b.Loop() {
				if kept, err := p.selectRecords(batch, false, false, 0); err != nil || kept.Kept < 99 {
					b.Fatal(kept, err)
				}
			}
		})
	}
}
