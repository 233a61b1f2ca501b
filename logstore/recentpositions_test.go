package logstore

import (
	"strings"
	"sync/atomic"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// TestManyReadersReadOnce: once the log has seen that many readers go through it at different places, each batch costs one
// read of one file, its sending included.
func TestManyReadersReadOnce(t *testing.T) {
	var reads, others atomic.Int32
	fsys := vfs.NewFaulty(vfs.NewMem(), func(op vfs.Op) error {
		switch {
		case op.Kind == vfs.OpRead && strings.HasSuffix(op.Name, logSuffix):
			reads.Add(1)
		case op.Kind == vfs.OpRead:
			others.Add(1)
		}
		return nil
	})
	const readers, rounds, batches = 40, 20, 1000
	l := memLog(t, fsys, func(c *Config) { c.SegmentBytes = 1 << 20 })
	for at := range batches {
		mustAppend(t, l, numbered(t, at, 1), AppendOptions{})
	}
	var next [readers]int64
	for i := range next {
		next[i] = int64(i * batches / readers)
	}
	step := func(at *int64) {
		info, err := l.Read(*at, 1, ReadOptions{UpperBound: batches, MinOneMessage: true, Hold: true})
		if err != nil || info.Records == nil {
			t.Fatalf("at %d: %+v, %v", *at, info, err)
		}
		defer info.Records.Release()
		set := make([]byte, info.Records.Len())
		if _, err := info.Records.ReadAt(set, 0); err != nil {
			t.Fatal(err)
		}
		if b, rest, err := record.Next(set); err != nil || len(rest) > 0 || b.BaseOffset() != *at || !b.ChecksumOK() {
			t.Fatalf("at %d: batch at %d, %d more bytes, %v", *at, b.BaseOffset(), len(rest), err)
		}
		*at = info.NextOffset
	}
	for range rounds {
		reads.Store(0)
		others.Store(0)
		for i := range next {
			step(&next[i])
		}
	}
	// Readers whose places fall into one set may drive each other out.
	if n, m := reads.Load(), others.Load(); n > readers*5/4 || m > readers/4 {
		t.Errorf("%d readers read segments %d times and indexes %d times for one batch each", readers, n, m)
	}
}

// TestRecentPositionsAreExact: of all that was noted, what is found is what was noted last, and nothing of a segment that was forgotten.
func TestRecentPositionsAreExact(t *testing.T) {
	var p recentPositions
	one, two := new(segment), new(segment)
	for i := range int64(2000) {
		p.note(one, i, 10*i)
		p.note(two, i, 20*i)
		if pos, ok := p.find(two, i); !ok || pos != 20*i {
			t.Fatalf("just noted: %d, %v", pos, ok)
		}
		for _, back := range []int64{1, 2, 7, 100, 1000} {
			if pos, ok := p.find(one, i-back); ok && pos != 10*(i-back) {
				t.Fatalf("offset %d is found at %d", i-back, pos)
			}
		}
	}
	if p.many == nil {
		t.Error("it did not grow")
	}
	p.forget()
	for i := range int64(2000) {
		if _, ok := p.find(one, i); ok {
			t.Fatalf("offset %d is found after all were forgotten", i)
		}
	}
}
