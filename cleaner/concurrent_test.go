package cleaner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/record"
)

// TestReadersAndWritersGoOn: while passes replace segments, readers go through
// the log and see offsets that only rise and the newest value of each key, and
// appends succeed.
func TestReadersAndWritersGoOn(t *testing.T) {
	m := newModel(t, 5, modelConfig())
	log := m.n.log(m.topic)
	ctx, stop := context.WithCancel(context.Background())
	var background sync.WaitGroup
	var reads atomic.Int64
	for range 2 {
		background.Go(func() {
			for ctx.Err() == nil {
				before := log.EndOffset()
				if last := readThrough(t, log); last < before-1 {
					t.Errorf("read to offset %d, the log ended at %d", last, before)
					return
				}
				reads.Add(1)
			}
		})
	}
	background.Go(func() {
		for ctx.Err() == nil {
			m.n.cleaner.Round(ctx)
		}
	})
	for m.ops < 60_000 || reads.Load() < 10 {
		m.write()
		if m.rng.IntN(6) == 0 {
			m.decide()
		}
		if t.Failed() {
			break
		}
	}
	stop()
	background.Wait()
	m.clean()
	m.check("in the end")
	must(t, m.n.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
}

// readThrough reads to the end and returns the last offset that was covered.
func readThrough(t *testing.T, log *logstore.Log) int64 {
	last := int64(-1)
	for offset := log.StartOffset(); ; {
		info, err := log.Read(offset, 64<<10, logstore.ReadOptions{UpperBound: log.EndOffset(), MinOneMessage: true})
		if err != nil {
			t.Errorf("read at %d: %v", offset, err)
			return last
		}
		if info.Records == nil {
			return max(last, offset-1)
		}
		data := make([]byte, info.Records.Len())
		_, err = info.Records.ReadAt(data, 0)
		info.Records.Release()
		if err != nil {
			t.Errorf("read at %d: %v", offset, err)
			return last
		}
		for len(data) > 0 {
			b, rest, err := record.Next(data)
			if err != nil || b.BaseOffset() <= last || !b.ChecksumOK() {
				t.Errorf("after offset %d: batch at %d, %v", last, b.BaseOffset(), err)
				return last
			}
			last, data = b.LastOffset(), rest
		}
		offset = last + 1
	}
}

// TestReaderOfReplacedSegment: a range that was handed out before a pass stays
// readable after it, even when the files are removed.
func TestReaderOfReplacedSegment(t *testing.T) {
	m := newModel(t, 6, modelConfig())
	for m.ops < 3000 {
		m.write()
	}
	for len(m.open) > 0 {
		m.decide()
	}
	info, err := m.n.log(m.topic).Read(0, 1<<20, logstore.ReadOptions{UpperBound: 1 << 40, MinOneMessage: true})
	must(t, err)
	before := make([]byte, info.Records.Len())
	_, err = info.Records.ReadAt(before, 0)
	must(t, err)
	m.clean()
	after := make([]byte, info.Records.Len())
	_, err = info.Records.ReadAt(after, 0)
	must(t, err)
	if string(before) != string(after) {
		t.Error("the range changed")
	}
	info.Records.Release()
	m.check("after the pass")
	must(t, m.n.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
}

// TestFailingFiles: whichever operation of a pass fails, nothing is lost, and
// the pass is made up for once the disk works again; at the latest after a
// restart.
func TestFailingFiles(t *testing.T) {
	errDisk := errors.New("no space left on device")
	for at := int64(1); ; at++ {
		m := newModel(t, 9, modelConfig())
		for m.ops < 1500 {
			m.write()
		}
		for len(m.open) > 0 {
			m.decide()
		}
		must(t, m.n.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
		m.n.open()
		mem := m.n.fs.(*vfs.Mem)
		first, failed := mem.Ops(), false
		mem.SetHook(func(op vfs.Op) error {
			if op.N-first == at {
				failed = true
				return errDisk
			}
			return nil
		})
		m.n.cleaner.Round(context.Background())
		mem.SetHook(nil)
		if err := compareValues(m.values, readCommitted(t, m.n.log(m.topic))); err != nil {
			t.Fatalf("operation %d failed: %v", at, err)
		}
		if err := m.n.store.Close(logstore.CleanStop{BrokerEpoch: -1}); err != nil {
			_ = m.n.store.Abort()
			m.n.fs = mem.CrashClone(vfs.KeepAll)
		}
		m.n.open()
		m.clean()
		m.check(fmt.Sprintf("operation %d failed", at))
		for path := range maps.Keys(m.n.files("m-0")) {
			if len(path) > 8 && (path[len(path)-8:] == ".cleaned" || path[len(path)-5:] == ".swap") {
				t.Fatalf("operation %d failed: %s is left", at, path)
			}
		}
		must(t, m.n.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
		if !failed {
			t.Logf("%d operations", at-1)
			return
		}
		if raceEnabled {
			at += 4
		}
	}
}
