package logstore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// openTwoDirs opens a store with small files in two directories.
func openTwoDirs(fsys vfs.FS) (*Store, error) {
	cfg := DefaultConfig()
	cfg.SegmentBytes, cfg.IndexBytes, cfg.IndexIntervalBytes, cfg.RetentionMs, cfg.FileDeleteDelayMs = 1500, 1200, 256, -1, 0
	s, err := Open(Options{FS: fsys, Dirs: []string{"/a", "/b"}, NodeID: 1, Default: cfg})
	if err != nil {
		return nil, err
	}
	if err := s.Load(context.Background()); err != nil {
		return nil, errors.Join(err, s.Abort())
	}
	return s, nil
}

// mover runs a store's moves until the test ends and tells of each that is done.
func mover(t *testing.T, s *Store, rate func() int64) <-chan TopicPartition {
	t.Helper()
	moved := make(chan TopicPartition, 10)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		s.RunMoves(ctx, MoveOptions{AtOnce: 1, Rate: rate, Moved: func(tp TopicPartition) { moved <- tp }})
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return moved
}

func newTwoDirs(t *testing.T, fsys vfs.FS) *Store {
	t.Helper()
	s, err := openTwoDirs(fsys)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Abort(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// names lists a directory without what belongs to the store itself.
func partitionNames(t *testing.T, fsys vfs.FS, dir string) []string {
	t.Helper()
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestMoveWhileInUse moves a partition to and fro while it is written to, read, rolled and cut.
func TestMoveWhileInUse(t *testing.T) {
	const end, times = 6000, 6
	mem := vfs.NewMem()
	s := newTwoDirs(t, mem)
	l, err := s.Create(crashed, UUID{1}, s.Dirs()[0], s.o.Default)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.AssignEpoch(3); err != nil {
		t.Fatal(err)
	}
	fill(t, l, 500)
	moved := mover(t, s, nil)
	var wg sync.WaitGroup
	wg.Go(func() { fill(t, l, end) })
	for _, maxBytes := range []int{1, 700} {
		wg.Go(func() { follow(t, l, maxBytes, end) })
	}
	for i := range times {
		if err := s.BeginMove(crashed, s.Dirs()[1-i%2]); err != nil {
			t.Fatal(err)
		}
		<-moved
		if i == 3 {
			if _, err := l.DeleteRecords(333, l.EndOffset()); err != nil {
				t.Fatal(err)
			}
		}
	}
	wg.Wait()
	if got, err := readFrom(l, 333, 1000, math.MaxInt64); err != nil || !slices.Equal(got, counting(333, end)) {
		t.Errorf("%d records, %v", len(got), err)
	}
	if epoch, at := l.EpochEndOffset(3); epoch != 3 || at != end {
		t.Errorf("epoch %d ends at %d", epoch, at)
	}
	s.env.background.Wait()
	if _, err := s.RemoveDue(time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if a, b := partitionNames(t, mem, "/a"), partitionNames(t, mem, "/b"); !slices.Equal(a, []string{"t-0"}) || len(b) != 0 {
		t.Errorf("directories %v and %v", a, b)
	}
	if err := s.Close(CleanStop{}); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/a", "/b"} {
		if found, err := Verify(mem, dir); err != nil || len(found) > 0 {
			t.Errorf("%s: %v, %v", dir, found, err)
		}
	}
}

// TestMoveKeepsProducers: repeats are known and open transactions stay open behind a move.
func TestMoveKeepsProducers(t *testing.T) {
	mem := vfs.NewMem()
	s := newTwoDirs(t, mem)
	l, err := s.Create(crashed, UUID{1}, s.Dirs()[0], s.o.Default)
	if err != nil {
		t.Fatal(err)
	}
	repeat := numberedBy(t, 0, 3, record.BuilderOptions{Producer: &record.Producer{ID: 7}})
	mustAppend(t, l, slices.Clone(repeat), AppendOptions{})
	mustAppend(t, l, numberedBy(t, 3, 2, record.BuilderOptions{Producer: &record.Producer{ID: 8}, Transactional: true}), AppendOptions{})
	moved := mover(t, s, nil)
	if err := s.BeginMove(crashed, s.Dirs()[1]); err != nil {
		t.Fatal(err)
	}
	<-moved
	if info := mustAppend(t, l, repeat, AppendOptions{}); !info.Duplicate || info.FirstOffset != 0 {
		t.Errorf("the repeat: %+v", info)
	}
	if at, open := l.FirstUnstableOffset(); !open || at != 3 {
		t.Errorf("first unstable offset %d, %v", at, open)
	}
}

// TestMoveGivenUp ends moves that are under way: by another one, by one back, by deletion.
func TestMoveGivenUp(t *testing.T) {
	mem := vfs.NewMem()
	s := newTwoDirs(t, mem)
	for p := range int32(2) {
		l, err := s.Create(TopicPartition{"t", p}, UUID{1}, s.Dirs()[0], s.o.Default)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, l, 500)
	}
	moved := mover(t, s, func() int64 { return 1 }) // it would take hours
	for p := range int32(2) {
		if err := s.BeginMove(TopicPartition{"t", p}, s.Dirs()[1]); err != nil {
			t.Fatal(err)
		}
	}
	if m := s.Moves(); len(m) != 2 || m[0].To != s.Dirs()[1] {
		t.Errorf("moves %+v", m)
	}
	if err := s.BeginMove(TopicPartition{"t", 0}, s.Dirs()[0]); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(TopicPartition{"t", 1}); err != nil {
		t.Fatal(err)
	}
	for len(futures(t, mem, "/b")) > 0 {
		if _, err := s.RemoveDue(time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if m := s.Moves(); len(m) != 0 || len(moved) != 0 {
		t.Errorf("moves %+v, %d moved", m, len(moved))
	}
	if s.LogDir(TopicPartition{"t", 0}) != s.Dirs()[0] {
		t.Error("the partition is elsewhere")
	}
}

func futures(t *testing.T, fsys vfs.FS, dir string) []string {
	return slices.DeleteFunc(partitionNames(t, fsys, dir), func(name string) bool { return !strings.HasSuffix(name, futureDirSuffix) })
}

// TestMoveCrash cuts the power, or kills the process, before every operation of a move. After the restart all records are
// there once, and the move comes to its end.
func TestMoveCrash(t *testing.T) {
	mem := vfs.NewMem()
	s, err := openTwoDirs(mem)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Create(crashed, UUID{1}, s.Dirs()[0], s.o.Default)
	if err != nil {
		t.Fatal(err)
	}
	const end = 60
	fill(t, l, end)
	if err := l.Flush(end); err != nil {
		t.Fatal(err)
	}
	s.env.background.Wait()
	type crash struct {
		at  vfs.Op
		mem [2]*vfs.Mem
	}
	var crashes []crash
	var mu sync.Mutex
	mem.SetHook(func(op vfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		crashes = append(crashes, crash{op, [2]*vfs.Mem{mem.CrashClone(vfs.KeepAll), mem.CrashClone(vfs.KeepSynced)}})
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	if err := s.BeginMove(crashed, s.Dirs()[1]); err != nil {
		t.Fatal(err)
	}
	s.RunMoves(ctx, MoveOptions{Moved: func(TopicPartition) { cancel() }})
	s.env.background.Wait()
	mem.SetHook(nil)
	if err := s.Abort(); err != nil {
		t.Fatal(err)
	}
	for _, c := range crashes {
		for model, left := range c.mem {
			if err := goOn(t, left, end); err != nil {
				t.Fatalf("crash (model %d) before operation %d, %v of %s: %v", model, c.at.N, c.at.Kind, c.at.Name, err)
			}
		}
	}
	t.Logf("%d places to crash at, in two ways each", len(crashes))
}

// goOn starts from what a crash left, lets moves end, and looks at the records.
func goOn(t *testing.T, left *vfs.Mem, end int) error {
	s, err := openTwoDirs(left)
	if err != nil {
		return err
	}
	defer s.Abort()
	l := s.Log(crashed)
	if l == nil {
		return errors.New("the partition is gone")
	}
	if err := s.ResumeMoves(); err != nil {
		return err
	}
	if len(s.Moves()) > 0 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s.RunMoves(ctx, MoveOptions{Moved: func(TopicPartition) { cancel() }})
		if dir := s.LogDir(crashed).Path; dir != "/b" {
			return fmt.Errorf("moved to %s", dir)
		}
	}
	got, err := readFrom(l, 0, 1000, math.MaxInt64)
	if err != nil {
		return err
	}
	if !slices.Equal(got, counting(0, end)) {
		return fmt.Errorf("records %v", got)
	}
	return s.Close(CleanStop{})
}
