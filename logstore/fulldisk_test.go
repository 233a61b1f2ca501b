package logstore

import (
	"bytes"
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
		s, l := crashedLog(t, mem)
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

// TestFullDiskTransactions lets each creation and each write fail once while transactions are aborted: the marker is
// refused and undone, and when it comes again the log and its transaction index are what they would have been.
func TestFullDiskTransactions(t *testing.T) {
	var want []byte
	refusedMarkers := 0
	for n := int64(0); ; n++ { // 0 fails nothing
		mem := vfs.NewMem()
		s, l := crashedLog(t, mem)
		hit := false
		first := mem.Ops()
		mem.SetHook(func(op vfs.Op) error {
			if n > 0 && op.N >= first+n && !hit && (op.Kind == vfs.OpCreate || op.Kind == vfs.OpWrite) {
				hit = true
				return syscall.ENOSPC
			}
			return nil
		})
		refusedMarkers += abortTransactions(t, l)
		mem.SetHook(nil)
		all := mustRead(t, mem, "/data/t-0/"+seg(0, txnIndexSuffix))
		if n == 0 {
			want = all
		}
		if !bytes.Equal(all, want) {
			t.Fatalf("full at operation %d: transaction index %x, want %x", n, all, want)
		}
		if err := s.Close(CleanStop{}); err != nil {
			t.Fatalf("full at operation %d: %v", n, err)
		}
		if found, err := Verify(mem, "/data"); err != nil || len(found) > 0 {
			t.Fatalf("full at operation %d: %v, %v", n, found, err)
		}
		if n > 0 && !hit {
			break
		}
	}
	if refusedMarkers < 4 {
		t.Errorf("%d markers were refused", refusedMarkers)
	}
}

// abortTransactions writes two transactions in turn and aborts both, twice; what is refused is sent again.
func abortTransactions(t *testing.T, l *Log) (refusedMarkers int) {
	t.Helper()
	for round := range 2 {
		for _, id := range []int64{1, 2} {
			end := l.EndOffset()
			b := numberedBy(t, int(end), 2, record.BuilderOptions{Transactional: true, Producer: &record.Producer{ID: id, BaseSequence: int32(2 * round)}})
			if _, err := l.Append(slices.Clone(b), AppendOptions{}); err != nil {
				mustAppend(t, l, b, AppendOptions{})
			}
		}
		for _, id := range []int64{1, 2} {
			end, unstable := l.EndOffset(), l.unstable.Load()
			producers := l.ActiveProducers()
			marker := record.BuildMarker(record.MarkerOptions{ProducerID: id, TimestampMs: 1_700_000_000_000})
			if _, err := l.Append(slices.Clone(marker), AppendOptions{Origin: Coordinator}); err != nil {
				if !errors.Is(err, ErrStorage) || l.EndOffset() != end || l.unstable.Load() != unstable || !slices.Equal(l.ActiveProducers(), producers) {
					t.Fatalf("refused marker: %v, end %d after %d, producers %+v", err, l.EndOffset(), end, l.ActiveProducers())
				}
				refusedMarkers++
				mustAppend(t, l, marker, AppendOptions{Origin: Coordinator})
			}
		}
	}
	return refusedMarkers
}
