package logstore

import (
	"errors"
	"os"
	"testing"
	"time"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// byProducer is a batch of three records of now, whose producer has not expired.
func byProducer(t *testing.T, sequence int) record.Batch {
	t.Helper()
	b := record.NewBuilder(record.BuilderOptions{Producer: &record.Producer{ID: 7, BaseSequence: int32(sequence)}})
	for range 3 {
		if err := b.Append(record.Record{Timestamp: time.Now().UnixMilli(), Value: make([]byte, 50)}); err != nil {
			t.Fatal(err)
		}
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// snapshotStore is a store with a partition of several segments, written by producer 7 whose sequences are the offsets.
func snapshotStore(t *testing.T, fsys vfs.FS) (*Store, *Log) {
	t.Helper()
	s, l := crashedLog(t, fsys)
	for range 30 {
		at := int(l.EndOffset())
		mustAppend(t, l, byProducer(t, at), AppendOptions{})
	}
	s.env.background.Wait()
	if len(l.producers.snapshots) < 3 {
		t.Fatalf("snapshots %v, a few segments were wanted", l.producers.snapshots)
	}
	return s, l
}

// wantSequence restarts on fsys: the producer is known up to the end, and after a stop all files are sound.
func wantSequence(t *testing.T, fsys vfs.FS) {
	t.Helper()
	s, err := crashStore(fsys)
	if err != nil {
		t.Fatal(err)
	}
	l := s.Log(crashed)
	if known := l.ActiveProducers(); len(known) != 1 || int64(known[0].LastSequence) != l.EndOffset()-1 {
		t.Errorf("producers %+v in a log that ends at %d", known, l.EndOffset())
	}
	if err := s.Close(CleanStop{}); err != nil {
		t.Error(err)
	}
	if found, err := Verify(fsys, "/data"); err != nil || len(found) > 0 {
		t.Errorf("after the stop: %v, %v", found, err)
	}
}

// TestTornSnapshotsGo: a flush may move the recovery point past snapshots that
// have not reached the disk.
func TestTornSnapshotsGo(t *testing.T) {
	mem := vfs.NewMem()
	s, l := snapshotStore(t, mem)
	if err := l.Flush(l.EndOffset()); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckpointRecoveryPoints(); err != nil {
		t.Fatal(err)
	}
	// A newer one that can be read hides it from the start.
	file, err := mem.OpenFile(l.producers.snapshotPath(l.producers.snapshots[1]), os.O_RDWR|os.O_TRUNC, 0)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Abort(); err != nil {
		t.Fatal(err)
	}
	wantSequence(t, mem.CrashClone(vfs.KeepAll))
}

// TestPowerLossAfterCleanStop: the marker makes the next start believe that
// there is a snapshot if there are producers.
func TestPowerLossAfterCleanStop(t *testing.T) {
	mem := vfs.NewMem()
	s, l := crashedLog(t, mem)
	mustAppend(t, l, byProducer(t, 0), AppendOptions{})
	if err := s.Close(CleanStop{}); err != nil {
		t.Fatal(err)
	}
	wantSequence(t, mem.CrashClone(vfs.KeepSynced))
}

// TestPowerLossAfterRecovery: recovery waits for no snapshot that it writes; the clean stop after it does.
func TestPowerLossAfterRecovery(t *testing.T) {
	mem := vfs.NewMem()
	s, l := snapshotStore(t, mem)
	if err := l.Flush(l.EndOffset()); err != nil {
		t.Fatal(err)
	}
	if err := s.Abort(); err != nil {
		t.Fatal(err)
	}
	s, err := crashStore(mem)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Log(crashed).unsynced) == 0 {
		t.Error("the recovery wrote no snapshot")
	}
	if err := s.Close(CleanStop{}); err != nil {
		t.Fatal(err)
	}
	left := mem.CrashClone(vfs.KeepSynced)
	if found, err := Verify(left, "/data"); err != nil || len(found) > 0 {
		t.Errorf("after the power loss: %v, %v", found, err)
	}
	wantSequence(t, left)
}

// TestEndedTransactionsWithoutSnapshots: a start that has lost the snapshots reads the batches again, and the transactions
// that have ended do not stay open: readers of committed records would wait for ever.
func TestEndedTransactionsWithoutSnapshots(t *testing.T) {
	for _, clean := range []bool{false, true} {
		mem := vfs.NewMem()
		s, l := crashedLog(t, mem)
		for round := range 12 { // over several segments
			b := numberedBy(t, int(l.EndOffset()), 2, record.BuilderOptions{Transactional: true, Producer: &record.Producer{ID: 1, BaseSequence: int32(2 * round)}})
			mustAppend(t, l, b, AppendOptions{})
			marker := record.BuildMarker(record.MarkerOptions{ProducerID: 1, TimestampMs: 1_700_000_000_000, Marker: record.Marker{Commit: round%2 == 0}})
			mustAppend(t, l, marker, AppendOptions{Origin: Coordinator})
		}
		s.env.background.Wait()
		// All but the first are lost.
		lost := l.producers.snapshots[1:]
		if clean {
			must(t, s.Close(CleanStop{}))
			lost = append(lost, l.EndOffset())
		} else {
			must(t, l.Flush(l.EndOffset()), s.CheckpointRecoveryPoints(), s.Abort())
		}
		for _, at := range lost {
			if err := mem.Remove(l.producers.snapshotPath(at)); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
		s, err := crashStore(mem)
		if err != nil {
			t.Fatal(err)
		}
		if at, open := s.Log(crashed).FirstUnstableOffset(); open {
			t.Errorf("clean %v: a transaction from %d counts as open", clean, at)
		}
		must(t, s.Close(CleanStop{}))
	}
}
