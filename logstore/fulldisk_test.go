package logstore

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// TestFullDisk lets the disk be full from each file operation of a load on, until an append is refused: the log answers
// ErrStorage and nothing of the batch is left; when there is room again it goes on as if nothing had been.
func TestFullDisk(t *testing.T) {
	refused, tried := 0, 0
	for n := int64(1); ; n++ {
		mem := vfs.NewMem()
		s, err := crashStore(mem)
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.Create(crashed, UUID{1}, nil, s.o.Default)
		if err != nil {
			t.Fatal(err)
		}
		var full, hit atomic.Bool
		first := mem.Ops()
		mem.SetHook(func(op vfs.Op) error {
			if op.N == first+n {
				full.Store(true)
				hit.Store(true)
			}
			if full.Load() && (op.Kind == vfs.OpCreate || op.Kind == vfs.OpWrite) {
				return syscall.ENOSPC
			}
			return nil
		})
		refused += fillAndGoOn(t, n, s, l, &full)
		mem.SetHook(nil)
		if err := s.Close(CleanStop{}); err != nil {
			t.Fatalf("full from operation %d on: %v", n, err)
		}
		if found, err := Verify(mem, "/data"); err != nil || len(found) > 0 {
			t.Fatalf("full from operation %d on: %v, %v", n, found, err)
		}
		if !hit.Load() {
			break
		}
		tried++
	}
	t.Logf("%d moments, %d appends refused", tried, refused)
	if refused < tried/2 {
		t.Error("the disk was hardly ever full")
	}
}

// fillAndGoOn appends thirty batches, each again after it was refused.
func fillAndGoOn(t *testing.T, n int64, s *Store, l *Log, full *atomic.Bool) (refused int) {
	t.Helper()
	for range 30 {
		end := l.EndOffset()
		b := numberedBy(t, int(end), 2, record.BuilderOptions{Producer: &record.Producer{ID: 7, BaseSequence: int32(end)}})
		for {
			_, err := l.Append(slices.Clone(b), AppendOptions{})
			s.env.background.Wait()
			if err == nil {
				break
			}
			if !full.Load() || !errors.Is(err, ErrStorage) || !errors.Is(err, syscall.ENOSPC) || l.EndOffset() != end {
				t.Fatalf("full from operation %d on: append at %d: %v (end %d)", n, end, err, l.EndOffset())
			}
			refused++
			full.Store(false)
		}
	}
	got, err := readFrom(l, 0, 700, math.MaxInt64)
	if err != nil || !slices.Equal(got, counting(0, 60)) {
		t.Fatalf("full from operation %d on: read %v, %v", n, got, err)
	}
	return refused
}
