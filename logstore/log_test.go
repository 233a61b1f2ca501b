package logstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// memLog opens a log on a file system in memory with small segments and
// indexes.
func memLog(t testing.TB, fsys vfs.FS, change func(*Config)) *Log {
	t.Helper()
	cfg := DefaultConfig()
	cfg.SegmentBytes, cfg.IndexBytes, cfg.IndexIntervalBytes, cfg.RetentionMs = 4096, 4096, 512, -1
	if change != nil {
		change(&cfg)
	}
	l, err := OpenLog(LogOptions{FS: fsys, Dir: "/data/t-0", Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		l.env.background.Wait()
	})
	return l
}

// numbered is a batch of n records whose values count from first.
func numbered(t testing.TB, first, n int) record.Batch {
	t.Helper()
	return numberedBy(t, first, n, record.BuilderOptions{})
}

func numberedBy(t testing.TB, first, n int, o record.BuilderOptions) record.Batch {
	t.Helper()
	b := record.NewBuilder(o)
	for i := first; i < first+n; i++ {
		r := record.Record{Timestamp: 1_700_000_000_000 + int64(i), Value: binary.BigEndian.AppendUint64(make([]byte, 92), uint64(i))}
		if err := b.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func mustAppend(t testing.TB, l *Log, set []byte, o AppendOptions) AppendInfo {
	t.Helper()
	info, err := l.Append(set, o)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// fill appends batches of one to four records until the log ends at end.
func fill(t testing.TB, l *Log, end int) {
	t.Helper()
	for at := int(l.EndOffset()); at < end; {
		n := min(1+at%4, end-at)
		mustAppend(t, l, numbered(t, at, n), AppendOptions{})
		at += n
	}
}

// readFrom collects the values of all records from offset on, maxBytes at a
// time, and fails on anything that is not whole batches in order.
func readFrom(l *Log, offset int64, maxBytes int, upper int64) ([]uint64, error) {
	var values []uint64
	for {
		info, err := l.Read(offset, maxBytes, ReadOptions{UpperBound: upper, MinOneMessage: true, Hold: offset%2 == 0})
		if err != nil || info.Records == nil {
			return values, err
		}
		set := make([]byte, info.Records.Len())
		_, err = info.Records.ReadAt(set, 0)
		info.Records.Release()
		if err != nil {
			return values, err
		}
		next := offset
		for len(set) > 0 {
			b, rest, err := record.Next(set)
			if err != nil {
				return values, fmt.Errorf("at offset %d: %w", next, err)
			}
			err = b.ForEach(1<<20, func(r *record.Record) error {
				if r.Offset >= offset {
					values = append(values, binary.BigEndian.Uint64(r.Value[92:]))
				}
				return nil
			})
			if err != nil {
				return values, err
			}
			if b.BaseOffset() > next && next != offset || b.LastOffset() < next || b.BaseOffset() >= upper {
				return values, fmt.Errorf("batch %d to %d where %d comes next, below %d", b.BaseOffset(), b.LastOffset(), next, upper)
			}
			next, set = b.NextOffset(), rest
		}
		if info.NextOffset != next {
			return values, fmt.Errorf("next offset %d, records end at %d", info.NextOffset, next)
		}
		offset = next
	}
}

func counting(from, to int) []uint64 {
	var values []uint64
	for i := from; i < to; i++ {
		values = append(values, uint64(i))
	}
	return values
}

func TestReadEveryOffset(t *testing.T) {
	l := memLog(t, vfs.NewMem(), nil)
	const end = 400
	fill(t, l, end)
	if n := len(*l.segments.Load()); n < 5 {
		t.Fatalf("%d segments, the test wants more", n)
	}
	for offset := range end {
		for _, maxBytes := range []int{1, 200, 1000, 3000, 1 << 20} {
			got, err := readFrom(l, int64(offset), maxBytes, math.MaxInt64)
			if err != nil || !slices.Equal(got, counting(offset, end)) {
				t.Fatalf("offset %d, %d bytes at a time: %v, %d records", offset, maxBytes, err, len(got))
			}
		}
	}
}

func TestReadBounds(t *testing.T) {
	l := memLog(t, vfs.NewMem(), nil)
	fill(t, l, 100)
	for _, offset := range []int64{-1, 101} {
		if _, err := l.Read(offset, 100, ReadOptions{UpperBound: 100}); !errors.Is(err, ErrOffsetOutOfRange) {
			t.Errorf("offset %d: %v", offset, err)
		}
	}
	for _, r := range []struct {
		offset, upper int64
		maxBytes      int
	}{{100, 100, 1 << 20}, {50, 50, 1 << 20}, {60, 50, 1 << 20}, {0, 100, 100}, {0, 100, 0}} {
		info, err := l.Read(r.offset, r.maxBytes, ReadOptions{UpperBound: r.upper})
		if err != nil || info.Records != nil || info.NextOffset != r.offset {
			t.Errorf("%+v: %+v, %v", r, info, err)
		}
	}
	// An upper bound at a batch's base cuts there.
	batches := []int64{0, 1, 3, 7}
	for _, upper := range batches[1:] {
		if got, err := readFrom(l, 0, 1<<20, upper); err != nil || !slices.Equal(got, counting(0, int(upper))) {
			t.Errorf("up to %d: %v %v", upper, got, err)
		}
	}
	// A first batch larger than maxBytes comes alone, and only if asked for.
	info, err := l.Read(3, 10, ReadOptions{UpperBound: 100, MinOneMessage: true})
	if err != nil || info.Records == nil || info.NextOffset != 7 {
		t.Fatalf("%+v, %v", info, err)
	}
	info.Records.Release()
}

func TestReopen(t *testing.T) {
	for _, clean := range []bool{true, false} {
		t.Run(fmt.Sprintf("clean=%v", clean), func(t *testing.T) {
			mem := vfs.NewMem()
			l := memLog(t, mem, nil)
			for end := 50; end <= 300; end += 50 {
				fill(t, l, end)
				l.env.background.Wait()
				if !clean {
					mem = mem.CrashClone(vfs.KeepAll)
				} else if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				again, err := OpenLog(LogOptions{FS: mem, Dir: "/data/t-0", Config: l.Config(), Clean: clean, RecoveryPoint: l.RecoveryPoint()})
				if err != nil {
					t.Fatal(err)
				}
				l = again
				if got, err := readFrom(l, 0, 1000, math.MaxInt64); err != nil || !slices.Equal(got, counting(0, end)) {
					t.Fatalf("after %d: %d records, %v", end, len(got), err)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			l.env.background.Wait()
		})
	}
}

func TestAppendOrigins(t *testing.T) {
	l := memLog(t, vfs.NewMem(), nil)
	two := append(numbered(t, 0, 2), numbered(t, 2, 3)...)
	if _, err := l.Append(bytes.Clone(two), AppendOptions{}); !errors.Is(err, record.ErrInvalidRecord) {
		t.Errorf("two batches of a client: %v", err)
	}
	info := mustAppend(t, l, bytes.Clone(two), AppendOptions{Origin: Coordinator, LeaderEpoch: 3})
	if info.FirstOffset != 0 || info.LastOffset != 4 || info.ShallowCount != 2 || info.LogAppendTimeMs != -1 {
		t.Errorf("coordinator: %+v", info)
	}
	raw := numberedBy(t, 5, 2, record.BuilderOptions{BaseOffset: 10, LeaderEpoch: 4})
	info = mustAppend(t, l, raw, AppendOptions{Origin: Raw})
	if info.FirstOffset != 10 || l.EndOffset() != 12 {
		t.Errorf("raw: %+v, end %d", info, l.EndOffset())
	}
	if _, err := l.Append(raw, AppendOptions{Origin: Raw}); !errors.Is(err, ErrOffsetsNotMonotonic) {
		t.Errorf("raw going back: %v", err)
	}
	if epoch, end := l.EpochEndOffset(3); epoch != 3 || end != 10 {
		t.Errorf("epoch 3 ends at %d (%d)", end, epoch)
	}
	// The gap between 5 and 10 is skipped.
	if got, err := readFrom(l, 7, 1000, math.MaxInt64); err != nil || !slices.Equal(got, counting(5, 7)) {
		t.Errorf("%v, %v", got, err)
	}
	big := numbered(t, 0, 60)
	if _, err := l.Append(big, AppendOptions{}); !errors.Is(err, ErrRecordListTooLarge) {
		t.Errorf("larger than a segment: %v", err)
	}
}

func TestOffsetForTimestamp(t *testing.T) {
	l := memLog(t, vfs.NewMem(), nil)
	const end = 300
	fill(t, l, end)
	for i := range end {
		ts := int64(1_700_000_000_000 + i)
		offset, timestamp, epoch, found, err := l.OffsetForTimestamp(ts, end)
		if err != nil || !found || offset != int64(i) || timestamp != ts || epoch != 0 {
			t.Fatalf("%d: offset %d, timestamp %d, epoch %d, %v, %v", i, offset, timestamp, epoch, found, err)
		}
	}
	if _, _, _, found, err := l.OffsetForTimestamp(1_700_000_000_000+end, end); found || err != nil {
		t.Errorf("past the end: %v, %v", found, err)
	}
	if _, _, _, found, _ := l.OffsetForTimestamp(1_700_000_000_000+200, 150); found {
		t.Error("found above the upper bound")
	}
	offset, ts, _, found, err := l.MaxTimestampOffset()
	if err != nil || !found || offset != end-1 || ts != 1_700_000_000_000+end-1 {
		t.Errorf("max: %d, %d, %v, %v", offset, ts, found, err)
	}
	if _, err := l.DeleteRecords(120, end); err != nil {
		t.Fatal(err)
	}
	if offset, _, _, _, _ := l.OffsetForTimestamp(0, end); offset != 120 {
		t.Errorf("first record %d", offset)
	}
}

func TestTransactions(t *testing.T) {
	mem := vfs.NewMem()
	l := memLog(t, mem, nil)
	txn := func(id int64, seq int32) record.Batch {
		return numberedBy(t, 0, 2, record.BuilderOptions{Transactional: true, Producer: &record.Producer{ID: id, BaseSequence: seq}})
	}
	marker := func(id int64, commit bool) record.Batch {
		return record.BuildMarker(record.MarkerOptions{ProducerID: id, TimestampMs: 1_700_000_000_000, Marker: record.Marker{Commit: commit}})
	}
	mustAppend(t, l, txn(1, 0), AppendOptions{}) // 0, 1
	mustAppend(t, l, txn(2, 0), AppendOptions{}) // 2, 3
	if at, open := l.FirstUnstableOffset(); !open || at != 0 {
		t.Errorf("first unstable %d, %v", at, open)
	}
	mustAppend(t, l, marker(1, false), AppendOptions{Origin: Coordinator}) // 4
	if at, open := l.FirstUnstableOffset(); !open || at != 2 {
		t.Errorf("first unstable %d, %v", at, open)
	}
	mustAppend(t, l, marker(2, true), AppendOptions{Origin: Coordinator}) // 5
	if _, open := l.FirstUnstableOffset(); open {
		t.Error("a transaction is still open")
	}
	info, err := l.Read(0, 1<<20, ReadOptions{UpperBound: 6, CollectAborted: true})
	if err != nil {
		t.Fatal(err)
	}
	info.Records.Release()
	want := []AbortedTxn{{ProducerID: 1, FirstOffset: 0, LastOffset: 4, LastStableOffset: 2}}
	if !slices.Equal(info.Aborted, want) {
		t.Errorf("aborted %+v", info.Aborted)
	}
	dup := mustAppend(t, l, txn(2, 0), AppendOptions{})
	if !dup.Duplicate || dup.FirstOffset != 2 || l.EndOffset() != 6 {
		t.Errorf("duplicate: %+v", dup)
	}
	if _, err := l.Append(txn(2, 7), AppendOptions{}); !errors.Is(err, ErrOutOfOrderSequence) {
		t.Errorf("gap: %v", err)
	}
	// Recovery writes the same transaction index again.
	clone := mem.CrashClone(vfs.KeepAll)
	before := mustRead(t, clone, "/data/t-0/"+seg(0, txnIndexSuffix))
	again, err := OpenLog(LogOptions{FS: clone, Dir: "/data/t-0", Config: l.Config()})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if after := mustRead(t, clone, "/data/t-0/"+seg(0, txnIndexSuffix)); !bytes.Equal(before, after) || len(after) != abortedEntrySize {
		t.Errorf("transaction index %x, recovered %x", before, after)
	}
}

func mustRead(t testing.TB, fsys vfs.FS, path string) []byte {
	t.Helper()
	b, err := vfs.ReadFile(fsys, path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRangeOutlivesItsSegment reads from a range after its segment was deleted
// and the log closed.
func TestRangeOutlivesItsSegment(t *testing.T) {
	mem := vfs.NewMem()
	l := memLog(t, mem, func(c *Config) { c.FileDeleteDelayMs = 0 })
	fill(t, l, 200)
	info, err := l.Read(0, 1000, ReadOptions{UpperBound: 200})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.DeleteRecords(150, 200); err != nil {
		t.Fatal(err)
	}
	n, err := l.ApplyRetention(200, time.Now())
	if err != nil || n == 0 {
		t.Fatalf("%d segments deleted, %v", n, err)
	}
	if _, err := l.env.removals.removeDue(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := mem.Stat(filepath.Join("/data/t-0", seg(0, logSuffix+deletedSuffix))); err == nil {
		t.Error("the deleted segment's file is still there")
	}
	if _, err := l.Read(0, 1000, ReadOptions{UpperBound: 200}); !errors.Is(err, ErrOffsetOutOfRange) {
		t.Errorf("read below the start: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, info.Records.Len())
	if _, err := info.Records.ReadAt(b, 0); err != nil || !record.Batch(b).ChecksumOK() && len(b) == record.Batch(b).Size() {
		t.Errorf("read of a kept range: %v", err)
	}
	s := info.Records.segment
	info.Records.Release()
	if s.file != nil {
		t.Error("the file is open after the last release")
	}
	if _, err := l.Read(180, 1000, ReadOptions{UpperBound: 200}); !errors.Is(err, ErrClosed) {
		t.Errorf("read after close: %v", err)
	}
	if _, err := l.Append(numbered(t, 0, 1), AppendOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
}
