package logstore

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"minibroker/internal/vfs"
)

// TestCreateIsDurableInTime: a new partition waits for no disk, but its directory is durable before its first records are,
// soon after the creation, and at a clean stop. Whatever is left, the next start makes a usable log of it.
func TestCreateIsDurableInTime(t *testing.T) {
	id, tp := NewUUID(), TopicPartition{Topic: "t"}
	for name, step := range map[string]func(*Store, *Log) error{
		"created": func(*Store, *Log) error { return nil },
		"settled": func(s *Store, _ *Log) error { return s.Settle() },
		"flushed": func(_ *Store, l *Log) error {
			if _, err := l.Append(numbered(t, 0, 1), AppendOptions{Origin: Coordinator, LeaderEpoch: 3}); err != nil {
				return err
			}
			return l.Flush(1)
		},
		"stopped": func(s *Store, _ *Log) error { return s.Close(CleanStop{}) },
	} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem()
			s := mustOpenStore(t, mem)
			l, err := s.Create(tp, id, nil, DefaultConfig())
			must(t, err, l.AssignEpoch(3), step(s, l))
			for model, left := range map[string]*vfs.Mem{"process": mem.CrashClone(vfs.KeepAll), "power": mem.CrashClone(vfs.KeepSynced)} {
				meta, err := readPartitionMetadata(left, "/data/t-0")
				if durable := name != "created" || model == "process"; durable && (err != nil || meta.TopicID != id) {
					t.Errorf("end of the %s: partition.metadata %v, %v", model, meta, err)
				}
				again := mustOpenStore(t, left)
				must(t, again.Load(t.Context()))
				was := again.Log(tp)
				if was == nil {
					was, err = again.Create(tp, id, nil, DefaultConfig())
				}
				must(t, err, was.AdoptTopicID(id))
				if end := was.EndOffset(); name == "flushed" && end != 1 {
					t.Errorf("end of the %s: %d records, want 1", model, end)
				}
				if epoch, ok := was.LatestEpoch(); name == "flushed" && (!ok || epoch != 3) {
					t.Errorf("end of the %s: leader epoch %d, %v", model, epoch, ok)
				}
				must(t, again.Close(CleanStop{}))
				if findings, err := Verify(left, "/data"); err != nil || len(findings) > 0 {
					t.Errorf("end of the %s: %v, %v", model, findings, err)
				}
			}
			must(t, s.Abort())
		})
	}
}

// TestRunSettling: many partitions are made durable together, a second after the last one; those that were deleted are no error.
func TestRunSettling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewMem()
		s := mustOpenStore(t, mem)
		ctx, cancel := context.WithCancel(t.Context())
		go s.RunSettling(ctx)
		durable := func() bool {
			_, err := readPartitionMetadata(mem.CrashClone(vfs.KeepSynced), "/data/t-1")
			return err == nil
		}
		for n := range 3 {
			_, err := s.Create(TopicPartition{Topic: "t", Partition: int32(n)}, NewUUID(), nil, DefaultConfig())
			must(t, err)
			time.Sleep(settleAfter / 2)
		}
		must(t, s.Delete(TopicPartition{Topic: "t", Partition: 2}))
		if durable() {
			t.Error("durable while partitions are still created")
		}
		time.Sleep(settleAfter)
		synctest.Wait()
		if !durable() {
			t.Error("not durable a second after the last one")
		}
		cancel()
		synctest.Wait()
		must(t, s.Close(CleanStop{}))
	})
}

func mustOpenStore(t *testing.T, fsys vfs.FS) *Store {
	t.Helper()
	s, err := Open(Options{FS: fsys, Dirs: []string{"/data"}, NodeID: 1, ClusterID: filepath.Base(t.Name())})
	must(t, err)
	return s
}
