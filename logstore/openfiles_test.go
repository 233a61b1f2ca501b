package logstore

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"minibroker/internal/vfs"
)

// manyLogs are more logs than may keep their files open.
func manyLogs(t testing.TB, fsys vfs.FS, dir string, n, open int) []*Log {
	t.Helper()
	s, err := Open(Options{FS: fsys, Dirs: []string{dir}, NodeID: 1, OpenFiles: open})
	if err == nil {
		err = s.Load(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(CleanStop{}); err != nil {
			t.Error(err)
		}
	})
	logs := make([]*Log, n)
	for i := range logs {
		if logs[i], err = s.Create(TopicPartition{Topic: fmt.Sprint("t", i)}, NewUUID(), nil, DefaultConfig()); err != nil {
			t.Fatal(err)
		}
	}
	return logs
}

// TestAppendsToManyLogsOpenOneFile: a log whose files were closed for those of others opens its indexes only for entries.
func TestAppendsToManyLogsOpenOneFile(t *testing.T) {
	const many, open, rounds, perEntry = 12, 4, 120, 25 // batches in more than 4,096 bytes
	var logOpens, indexOpens atomic.Int32
	mem := vfs.NewMem()
	logs := manyLogs(t, vfs.NewFaulty(mem, func(op vfs.Op) error {
		switch {
		case op.Kind != vfs.OpOpen:
		case strings.HasSuffix(op.Name, logSuffix):
			logOpens.Add(1)
		case strings.HasSuffix(op.Name, indexSuffix) || strings.HasSuffix(op.Name, timeIndexSuffix):
			indexOpens.Add(1)
		}
		return nil
	}), "/data", many, open)
	size := len(numbered(t, 0, 1))
	for round := range rounds {
		if round == 1 {
			logOpens.Store(0)
			indexOpens.Store(0)
		}
		for _, l := range logs {
			mustAppend(t, l, numbered(t, round, 1), AppendOptions{})
		}
	}
	entries := int32(rounds*size/(4096+size) + 1)
	if n, most := logOpens.Load(), int32(many*rounds); n < most/2 || n > most {
		t.Errorf("%d appends opened logs %d times", most, n)
	}
	if n := indexOpens.Load(); n < many || n > 2*many*entries {
		t.Errorf("%d logs with at most %d entries opened indexes %d times", many, entries, n)
	}
	for i, l := range logs {
		if got := l.EndOffset(); got != rounds {
			t.Errorf("log %d ends at %d", i, got)
		}
		for at := range int64(rounds) {
			info, err := l.Read(at, 1, ReadOptions{UpperBound: rounds, MinOneMessage: true})
			if err != nil || info.NextOffset != at+1 {
				t.Fatalf("log %d at %d: %+v, %v", i, at, info, err)
			}
			info.Records.Release()
		}
	}
}

// TestReadersOfSealedSegmentsOpenTheIndexOnce: it stays open as long as the segment.
func TestReadersOfSealedSegmentsOpenTheIndexOnce(t *testing.T) {
	var opens atomic.Int32
	const batches = 400
	l := memLog(t, vfs.NewFaulty(vfs.NewMem(), func(op vfs.Op) error {
		if op.Kind == vfs.OpOpen && strings.HasSuffix(op.Name, indexSuffix) && !strings.HasSuffix(op.Name, timeIndexSuffix) {
			opens.Add(1)
		}
		return nil
	}), func(c *Config) { c.SegmentBytes = 16 << 10 })
	for at := range batches {
		mustAppend(t, l, numbered(t, at, 1), AppendOptions{})
	}
	l.env.background.Wait() // a segment that was rolled has its files flushed and closed
	opens.Store(0)
	for i := range int64(2000) {
		at := i * 7919 % batches
		info, err := l.Read(at, 1, ReadOptions{UpperBound: batches, MinOneMessage: true})
		if err != nil || info.NextOffset != at+1 {
			t.Fatalf("at %d: %+v, %v", at, info, err)
		}
		info.Records.Release()
	}
	if n, segments := opens.Load(), len(l.Segments()); segments < 3 || n < 1 || int(n) > segments {
		t.Errorf("2,000 reads of %d segments opened indexes %d times", segments, n)
	}
}

// TestReadsStopWhereTooManyFilesAreInUse: of twice the limit that are all pinned there are no more, but for reads that must give something.
func TestReadsStopWhereTooManyFilesAreInUse(t *testing.T) {
	const many, open = 12, 4
	logs := manyLogs(t, vfs.NewMem(), "/data", many, open)
	for _, l := range logs {
		mustAppend(t, l, numbered(t, 0, 1), AppendOptions{})
	}
	read := func(l *Log, must bool) *Range {
		info, err := l.Read(0, 1<<20, ReadOptions{UpperBound: 1, MinOneMessage: must})
		if err != nil {
			t.Fatal(err)
		}
		return info.Records
	}
	var held []*Range
	for _, l := range logs {
		if r := read(l, false); r != nil {
			held = append(held, r)
		}
	}
	if len(held) != 2*open {
		t.Errorf("%d files in use", len(held))
	}
	if r := read(logs[many-1], true); r == nil {
		t.Error("nothing was read that had to be")
	} else {
		r.Release()
	}
	for _, r := range held {
		r.Release()
	}
	for i, l := range logs {
		if r := read(l, false); r == nil {
			t.Errorf("nothing of log %d was read", i)
		} else {
			r.Release()
		}
	}
}

// BenchmarkAppendToManyLogs appends small batches to one log after the other, of which a tenth may keep their files open.
func BenchmarkAppendToManyLogs(b *testing.B) {
	const many = 200
	logs := manyLogs(b, nil, b.TempDir(), many, many/10)
	batch := testBatch(b, 1, 100, 1700000000000)
	appendTo := func(i int) {
		batch.SetBaseOffset(0)
		batch.SetLeaderEpoch(-1)
		if _, err := logs[i%many].Append(batch, AppendOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	for i := range many {
		appendTo(i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		appendTo(i)
	}
}
