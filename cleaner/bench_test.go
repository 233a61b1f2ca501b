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

// BenchmarkClean is one pass over a wholly dirty log of about 32 MB: batches of
// 100 records with keys of 12 and values of 100 bytes, each key five times. The
// throughput counts the log once, although it is read twice.
func BenchmarkClean(b *testing.B) {
	for _, codec := range []record.Codec{record.None, record.Lz4} {
		b.Run(codec.String(), func(b *testing.B) { benchmarkClean(b, codec) })
	}
}

func benchmarkClean(b *testing.B, codec record.Codec) {
	cfg := logstore.DefaultConfig()
	cfg.Compact, cfg.Delete, cfg.SegmentBytes, cfg.MinCleanableRatio = true, false, 4<<20, 0
	cfg.FileDeleteDelayMs = 0
	golden := &node{t: b, fs: vfs.OS(), dir: filepath.Join(b.TempDir(), "log"), settings: testSettings(), config: func(string) logstore.Config { return cfg }}
	golden.settings.DedupeBufferBytes = 128 << 20
	golden.settings.IOBufferBytes = 512 << 10
	golden.open()
	log, err := golden.store.Create(logstore.TopicPartition{Topic: "b"}, logstore.NewUUID(), nil, cfg)
	must(b, err)
	for i := range 2700 {
		fillBatch(b, log, codec, i*100, 54_000)
	}
	size, source := log.Size(), golden.dir
	must(b, golden.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
	b.SetBytes(size)
	b.ReportAllocs()
	left := int64(0)
	for b.Loop() {
		b.StopTimer()
		n := *golden
		n.dir = source + "-copy"
		must(b, os.RemoveAll(n.dir))
		must(b, os.CopyFS(n.dir, os.DirFS(source)))
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

func fillBatch(b *testing.B, log *logstore.Log, codec record.Codec, first, keys int) {
	builder := record.NewBuilder(record.BuilderOptions{Codec: codec})
	value := make([]byte, 100)
	rng := rand.New(rand.NewPCG(uint64(first), 1))
	for i := range 100 {
		for j := 40; j < len(value); j++ {
			value[j] = byte(rng.Uint32())
		}
		copy(value, fmt.Sprintf("value %d", first+i))
		must(b, builder.Append(record.Record{Key: fmt.Appendf(nil, "key-%08d", (first+i)*7919%keys), Value: value, Timestamp: time.Now().UnixMilli()}))
	}
	batch, err := builder.Build()
	must(b, err)
	_, err = log.Append(batch, logstore.AppendOptions{})
	must(b, err)
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
