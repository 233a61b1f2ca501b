package logstore

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// TestReadersWhileAppending lets readers follow a log that is appended to,
// rolled, flushed and cut from the start meanwhile.
func TestReadersWhileAppending(t *testing.T) {
	const end = 3000
	l := memLog(t, vfs.NewMem(), func(c *Config) { c.FileDeleteDelayMs, c.FlushMessages = 0, 50 })
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		defer close(done)
		fill(t, l, end)
	})
	for _, maxBytes := range []int{1, 700, 1 << 20} {
		wg.Go(func() { follow(t, l, maxBytes, end) })
	}
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			high := l.EndOffset()
			if _, err := l.DeleteRecords(max(0, high-400), high); err != nil {
				t.Error(err)
			}
			if _, err := l.ApplyRetention(high, time.Now()); err != nil {
				t.Error(err)
			}
			if _, err := l.env.removals.removeDue(time.Now()); err != nil {
				t.Error(err)
			}
			_, _, _, _, err := l.OffsetForTimestamp(1_700_000_000_000+high-1, high)
			if err != nil {
				t.Error(err)
			}
			l.Size()
		}
	})
	wg.Wait()
	if got, err := readFrom(l, l.StartOffset(), 1000, math.MaxInt64); err != nil || !slices.Equal(got, counting(int(l.StartOffset()), end)) {
		t.Errorf("after all: %d records, %v", len(got), err)
	}
}

// follow reads up to end; records below the log start may be missed, nothing
// else.
func follow(t *testing.T, l *Log, maxBytes int, end int64) {
	for offset := int64(0); offset < end; {
		high := l.EndOffset()
		info, err := l.Read(offset, maxBytes, ReadOptions{UpperBound: high, MinOneMessage: true, CollectAborted: true, Hold: offset%2 == 0})
		if errors.Is(err, ErrOffsetOutOfRange) {
			offset = l.StartOffset()
			continue
		}
		if err != nil {
			t.Error(err)
			return
		}
		if info.Records == nil {
			continue
		}
		set := make([]byte, info.Records.Len())
		if _, err := info.Records.ReadAt(set, 0); err != nil {
			t.Error(err)
		}
		info.Records.Release()
		next, first := offset, true
		for len(set) > 0 {
			b, rest, err := record.Next(set)
			if err != nil || !b.ChecksumOK() || b.LastOffset() < next || (!first && b.BaseOffset() != next) || b.NextOffset() > high {
				t.Errorf("batch at %d (next %d, high %d): %v", b.BaseOffset(), next, high, err)
				return
			}
			next, set, first = b.NextOffset(), rest, false
		}
		if next != info.NextOffset {
			t.Errorf("next offset %d, batches end at %d", info.NextOffset, next)
			return
		}
		offset = next
	}
}

// TestSyncedAppendsShareFlushes holds the first sync back until all appenders
// have written: one more flush is enough for all of them, and one for the last
// if it was not published in time.
func TestSyncedAppendsShareFlushes(t *testing.T) {
	mem := vfs.NewMem()
	l := memLog(t, mem, func(c *Config) { c.SegmentBytes = 1 << 20 })
	const appenders = 8
	var writes, syncs atomic.Int32
	all := make(chan struct{})
	mem.SetHook(func(op vfs.Op) error {
		log := strings.HasSuffix(op.Name, logSuffix)
		switch {
		case op.Kind == vfs.OpWrite && log && writes.Add(1) == appenders:
			close(all)
		case op.Kind == vfs.OpSync && log:
			<-all
			syncs.Add(1)
		}
		return nil
	})
	var wg sync.WaitGroup
	for i := range appenders {
		batch := numbered(t, i, 1)
		wg.Go(func() {
			info, err := l.Append(batch, AppendOptions{Sync: true})
			if err != nil || l.RecoveryPoint() <= info.LastOffset {
				t.Errorf("offset %d, recovery point %d: %v", info.LastOffset, l.RecoveryPoint(), err)
			}
		})
	}
	wg.Wait()
	mem.SetHook(nil)
	if l.EndOffset() != appenders || syncs.Load() > 3 {
		t.Errorf("end %d, %d syncs for %d appends", l.EndOffset(), syncs.Load(), appenders)
	}
}

// TestIdleFilesAreClosed keeps more segments than may be open.
func TestIdleFilesAreClosed(t *testing.T) {
	l := memLog(t, vfs.NewMem(), func(c *Config) { c.SegmentBytes = 1500 })
	l.env.files.limit = 4
	fill(t, l, 300)
	l.env.background.Wait()
	for range 3 {
		if got, err := readFrom(l, 0, 1000, math.MaxInt64); err != nil || len(got) != 300 {
			t.Fatalf("%d records, %v", len(got), err)
		}
	}
	open := 0
	for _, s := range *l.segments.Load() {
		if s.file != nil {
			open++
		}
	}
	if open > 4 || len(l.env.files.ring) != open {
		t.Errorf("%d files open, %d counted", open, len(l.env.files.ring))
	}
}
