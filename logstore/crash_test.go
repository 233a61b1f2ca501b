package logstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// crashStore opens a store with small files in memory.
func crashStore(fsys vfs.FS) (*Store, error) {
	cfg := DefaultConfig()
	cfg.SegmentBytes, cfg.IndexBytes, cfg.IndexIntervalBytes, cfg.RetentionMs, cfg.FileDeleteDelayMs = 1500, 1200, 256, -1, 0
	s, err := Open(Options{FS: fsys, Dirs: []string{"/data"}, NodeID: 1, Default: cfg})
	if err != nil {
		return nil, err
	}
	if err := s.Load(context.Background()); err != nil {
		return nil, errors.Join(err, s.Abort())
	}
	return s, nil
}

// crashedLog opens an empty store for crashes and makes its log.
func crashedLog(t *testing.T, fsys vfs.FS) (*Store, *Log) {
	t.Helper()
	s, err := crashStore(fsys)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Create(crashed, UUID{1}, nil, s.o.Default)
	if err != nil {
		t.Fatal(err)
	}
	return s, l
}

// crashRun is what a store was told to keep at some moment.
type crashRun struct {
	created       bool
	acked, synced int64 // end offsets that appends returned
	start         int64 // log start asked for
}

// crashWork keeps a crashRun up to date; the background flush looks at it too.
type crashWork struct {
	mu  sync.Mutex
	now crashRun
}

func (w *crashWork) note(f func(now *crashRun)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.now)
}

func (w *crashWork) look() crashRun {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

var crashed = TopicPartition{Topic: "t"}

// run does a bit of everything to a store.
func (w *crashWork) run(t *testing.T, fsys vfs.FS) error {
	s, err := crashStore(fsys)
	if err != nil {
		return err
	}
	l, err := s.Create(crashed, UUID{1}, nil, s.o.Default)
	if err != nil {
		return errors.Join(err, s.Abort())
	}
	w.note(func(now *crashRun) { now.created = true })
	err = w.appends(t, s, l)
	if err != nil {
		return errors.Join(err, s.Abort())
	}
	return s.Close(CleanStop{BrokerEpoch: 5})
}

func (w *crashWork) appends(t *testing.T, s *Store, l *Log) error {
	if err := l.AssignEpoch(0); err != nil {
		return err
	}
	for i := range 24 {
		at := int(l.EndOffset())
		b := numberedBy(t, at, 1+i%3, record.BuilderOptions{Producer: &record.Producer{ID: 7, BaseSequence: int32(at)}})
		synced := i%5 == 4
		info, err := l.Append(b, AppendOptions{Sync: synced})
		if err != nil {
			return err
		}
		w.note(func(now *crashRun) {
			now.acked = info.LastOffset + 1
			if synced {
				now.synced = now.acked
			}
		})
		s.env.background.Wait()
		switch i {
		case 10:
			if err := s.CheckpointRecoveryPoints(); err != nil {
				return err
			}
		case 15:
			w.note(func(now *crashRun) { now.start = 9 })
			if _, err := l.DeleteRecords(9, l.EndOffset()); err != nil {
				return err
			}
			if _, err := l.ApplyRetention(l.EndOffset(), time.Now()); err != nil {
				return err
			}
			if _, err := s.RemoveDue(time.Now().Add(time.Second)); err != nil {
				return err
			}
		case 18:
			if err := errors.Join(s.CheckpointLogStartOffsets(), s.CheckpointRecoveryPoints()); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestCrashAnywhere stops a store before each of its file operations, as a
// killed process and as a power loss would, and starts again on what is left:
// nothing that was acknowledged (killed) or synced (power loss) may be missing.
func TestCrashAnywhere(t *testing.T) {
	type crash struct {
		n    int64
		at   vfs.Op
		want crashRun
		mem  map[vfs.CrashModel]*vfs.Mem
	}
	var crashes []crash
	var mu sync.Mutex
	mem, w := vfs.NewMem(), &crashWork{}
	mem.SetHook(func(op vfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		crashes = append(crashes, crash{n: op.N, at: op, want: w.look(), mem: map[vfs.CrashModel]*vfs.Mem{
			vfs.KeepAll: mem.CrashClone(vfs.KeepAll), vfs.KeepSynced: mem.CrashClone(vfs.KeepSynced)}})
		return nil
	})
	if err := w.run(t, mem); err != nil {
		t.Fatal(err)
	}
	mem.SetHook(nil)
	if found, err := Verify(mem, "/data"); err != nil || len(found) > 0 {
		t.Errorf("after the clean stop: %v, %v", found, err)
	}
	for _, c := range crashes {
		for model, left := range c.mem {
			kept := c.want.acked
			if model == vfs.KeepSynced {
				kept = c.want.synced
			}
			if err := c.want.restart(t, left, kept, model == vfs.KeepAll); err != nil {
				t.Fatalf("crash (model %d) before operation %d, %v of %s: %v", model, c.n, c.at.Kind, c.at.Name, err)
			}
		}
	}
	t.Logf("%d crashes, twice each", len(crashes))
}

// restart opens what a crash left, checks it, appends, stops cleanly and
// checks again.
func (want crashRun) restart(t *testing.T, fsys vfs.FS, kept int64, killed bool) error {
	s, err := crashStore(fsys)
	if err != nil {
		return err
	}
	l := s.Log(crashed)
	if l == nil {
		if want.created && killed || kept > 0 {
			return errors.New("the partition is gone")
		}
		if l, err = s.Create(crashed, UUID{1}, nil, s.o.Default); err != nil {
			return err
		}
	}
	end := l.EndOffset()
	if end < kept || l.StartOffset() > max(want.start, 0) {
		return fmt.Errorf("log is [%d, %d), %d were to be kept from %d on", l.StartOffset(), end, kept, want.start)
	}
	got, err := readFrom(l, l.StartOffset(), 700, math.MaxInt64)
	if err != nil || !slices.Equal(got, counting(int(l.StartOffset()), int(end))) {
		return fmt.Errorf("records from %d to %d: %v, %w", l.StartOffset(), end, got, err)
	}
	// The producer goes on where it was, and its last batch is known.
	b := numberedBy(t, int(end), 2, record.BuilderOptions{Producer: &record.Producer{ID: 7, BaseSequence: int32(end)}})
	for _, duplicate := range []bool{false, true} {
		info, err := l.Append(slices.Clone(b), AppendOptions{LeaderEpoch: 2})
		if err != nil || info.FirstOffset != end || info.Duplicate != duplicate {
			return fmt.Errorf("append after the restart: %+v, %w", info, err)
		}
	}
	if err := s.Close(CleanStop{}); err != nil {
		return err
	}
	found, err := Verify(fsys, "/data")
	if len(found) > 0 {
		return fmt.Errorf("findings: %v", found)
	}
	return err
}

// TestFailedOperations lets each file operation fail once: whatever the store
// answers, what it acknowledged is there after a restart.
func TestFailedOperations(t *testing.T) {
	broken := errors.New("injected")
	for n := int64(1); ; n++ {
		mem, w := vfs.NewMem(), &crashWork{}
		var hit atomic.Bool
		mem.SetHook(func(op vfs.Op) error {
			if op.N != n {
				return nil
			}
			hit.Store(true)
			return broken
		})
		err := w.run(t, mem)
		mem.SetHook(nil)
		if !hit.Load() {
			return // past the last operation
		}
		if err != nil && !errors.Is(err, broken) && !errors.Is(err, ErrStorage) {
			t.Fatalf("operation %d failed: %v", n, err)
		}
		now := w.look()
		if err := now.restart(t, mem.CrashClone(vfs.KeepAll), now.acked, true); err != nil {
			t.Fatalf("operation %d failed: %v", n, err)
		}
	}
}
