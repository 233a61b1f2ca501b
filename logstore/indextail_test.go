package logstore

import (
	"bytes"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minibroker/record"
)

// TestZeroTailOfIndexes: a hard stop leaves indexes at their full size, whose last entry then reads as zeros. After it, and
// for sealed segments after a clean stop too, the indexes are right again, retention deletes nothing that is young, and
// appends and look-ups by time go on.
func TestZeroTailOfIndexes(t *testing.T) {
	zeros := func(d damaged, base int64) {
		d.grow(seg(base, ".index"), make([]byte, 80))
		d.grow(seg(base, ".timeindex"), make([]byte, 120))
	}
	for name, c := range map[string]struct {
		base   string
		damage func(damaged)
	}{
		"active, killed":        {"kill9", func(d damaged) { zeros(d, 11490) }},
		"sealed, killed":        {"kill9", func(d damaged) { zeros(d, 7660) }},
		"sealed, after a clean": {"clean", func(d damaged) { zeros(d, 7660); zeros(d, 3830) }},
		"active, after a clean": {"clean", func(d damaged) { zeros(d, 11490) }},
	} {
		t.Run(name, func(t *testing.T) {
			_, s, _ := openDamaged(t, c.base, c.damage)
			l := s.Log(TopicPartition{Topic: "seg"})
			cfg := l.Config()
			cfg.RetentionMs = time.Now().UnixMilli() - goldenT0 + 3600_000 // the oldest record has an hour to go
			l.SetConfig(cfg)
			if n, err := l.ApplyRetention(l.EndOffset(), time.Now()); err != nil || n > 0 {
				t.Errorf("retention deleted %d segments: %v", n, err)
			}
			if l.StartOffset() != 0 || l.EndOffset() != 12000 {
				t.Fatalf("log is [%d, %d)", l.StartOffset(), l.EndOffset())
			}
			for range 100 {
				mustAppend(t, l, byProducer(t, int(l.EndOffset())-12000), AppendOptions{LeaderEpoch: 2})
			}
			for at := int64(0); at < l.EndOffset(); at += 97 {
				if err := readOne(l, at); err != nil {
					t.Fatal(err)
				}
			}
			for _, want := range []int64{10, 4000, 8000, 11990} {
				ts := timestampAt(t, l, want)
				at, found, err := lookUpTime(l, ts)
				if err != nil || !found || at/10 != want/10 { // ten records to a batch
					t.Errorf("look-up of the timestamp of record %d gives %d, %v: %v", want, at, found, err)
				}
			}
			l.env.background.Wait()
		})
	}
}

// timestampAt is the largest timestamp of the batch that holds an offset.
func timestampAt(t *testing.T, l *Log, offset int64) int64 {
	t.Helper()
	info, err := l.Read(offset, 1, ReadOptions{UpperBound: l.EndOffset(), MinOneMessage: true})
	if err != nil {
		t.Fatal(err)
	}
	defer info.Records.Release()
	head := make(record.Batch, record.HeaderSize)
	if _, err := info.Records.ReadAt(head, 0); err != nil {
		t.Fatal(err)
	}
	return head.MaxTimestamp()
}

func lookUpTime(l *Log, ts int64) (at int64, found bool, err error) {
	at, _, _, found, err = l.OffsetForTimestamp(ts, math.MaxInt64)
	return at, found, err
}

// TestIndexWithOneEntry: an index whose only entry points at the segment's own base offset is a good one, at each start.
func TestIndexWithOneEntry(t *testing.T) {
	top := t.TempDir()
	lines := new(bytes.Buffer)
	cfg := DefaultConfig()
	cfg.SegmentBytes, cfg.RetentionMs = 1000, -1
	open := func() *Store {
		t.Helper()
		s, err := Open(Options{Dirs: []string{top}, NodeID: 1, Default: cfg, Logger: slog.New(slog.NewTextHandler(lines, nil))})
		must(t, err)
		must(t, s.Load(t.Context()))
		return s
	}
	s := open()
	l, err := s.Create(TopicPartition{Topic: "one"}, UUID{1}, nil, cfg)
	must(t, err)
	for at := range 20 {
		mustAppend(t, l, numbered(t, at, 1), AppendOptions{})
	}
	must(t, s.Close(CleanStop{}))
	index := filepath.Join(top, "one-0", seg(0, indexSuffix))
	entry := make([]byte, offsetEntrySize) // offset 0 of the segment at position 0
	must(t, os.WriteFile(index, entry, 0o644))
	for range 3 {
		s = open()
		l = s.Log(TopicPartition{Topic: "one"})
		for at := range int64(20) {
			must(t, readOne(l, at))
		}
		must(t, s.Close(CleanStop{}))
		have, err := os.ReadFile(index)
		must(t, err)
		if !bytes.Equal(have, entry) {
			t.Fatalf("index %x", have)
		}
	}
	if text := lines.String(); strings.Contains(text, "level=WARN") || strings.Contains(text, "level=ERROR") {
		t.Errorf("complaints:\n%s", text)
	}
}
