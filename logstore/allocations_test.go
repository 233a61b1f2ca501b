package logstore

import (
	"fmt"
	"path/filepath"
	"testing"
)

// unsafeLog is the directory of a log of so many batches of so many records, of which nothing was ever said to be safe.
func unsafeLog(t testing.TB, batches, records, size int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "crashed-0")
	l, err := OpenLog(LogOptions{Dir: dir, Config: DefaultConfig(), Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	batch := testBatch(t, records, size, 1700000000000)
	for range batches {
		batch.SetBaseOffset(0)
		if _, err := l.Append(batch, AppendOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// openUnsafe opens the log as after a crash: every batch is read and checked, and the indexes are written anew.
func openUnsafe(t testing.TB, dir string, want int64) {
	l, err := OpenLog(LogOptions{Dir: dir, Config: DefaultConfig()})
	if err != nil {
		t.Fatal(err)
	}
	if l.EndOffset() != want {
		t.Fatalf("the log ends at %d instead of %d", l.EndOffset(), want)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestRecoveryAllocatesNothingPerRecord: batches of a thousand records cost a recovery as many allocations as batches of one,
// and many batches as many as few.
func TestRecoveryAllocatesNothingPerRecord(t *testing.T) {
	measure := func(batches, records int) float64 {
		dir := unsafeLog(t, batches, records, 100)
		return testing.AllocsPerRun(10, func() { openUnsafe(t, dir, int64(batches*records)) })
	}
	const noise = 40 // buffers grow with what there is, each time to the double; and other goroutines allocate
	one, thousand, many := measure(20, 1), measure(20, 1000), measure(2000, 1)
	t.Logf("%v allocations for 20 batches of one record, %v for 20 of a thousand, %v for 2000 of one", one, thousand, many)
	if thousand > one+noise || many > one+noise {
		t.Errorf("%v allocations for 20 batches of one record, %v for 20 of a thousand, %v for 2000 of one", one, thousand, many)
	}
}

// BenchmarkRecovery opens a log of 64 MiB after a crash.
func BenchmarkRecovery(b *testing.B) {
	const batches = 1000
	dir := unsafeLog(b, batches, 64, 1000)
	size := int64(len(testBatch(b, 64, 1000, 1700000000000))) * batches
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		openUnsafe(b, dir, batches*64)
	}
}

// BenchmarkReadAnywhere reads a batch of 66 KB at any offset, of a log with one segment and with ten of one MiB.
func BenchmarkReadAnywhere(b *testing.B) {
	for _, segments := range []int{1, 10} {
		b.Run(fmt.Sprintf("segments=%d", segments), func(b *testing.B) {
			l := benchLog(b, 1<<20)
			batch := testBatch(b, 65, 1000, 1700000000000)
			for range 15*segments - 7 {
				batch.SetBaseOffset(0)
				if _, err := l.Append(batch, AppendOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			end := l.EndOffset()
			b.ReportAllocs()
			for i := int64(0); b.Loop(); i++ {
				info, err := l.Read(i*7919%end, 1, ReadOptions{UpperBound: end, MinOneMessage: true})
				if err != nil {
					b.Fatal(err)
				}
				info.Records.Release()
			}
		})
	}
}
