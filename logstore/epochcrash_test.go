package logstore

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"minibroker/internal/vfs"
)

// TestCrashAfterStart stops a store before each file operation that follows a restart, which leaves the file of the new
// leader epoch for later: whatever is left, each record that is kept is found under the epoch that it was written in.
func TestCrashAfterStart(t *testing.T) {
	mem := vfs.NewMem()
	s, l := crashedLog(t, mem)
	must(t, l.AssignEpoch(0))
	for range 9 {
		mustAppend(t, l, byProducer(t, int(l.EndOffset())), AppendOptions{})
	}
	before := l.EndOffset()
	must(t, s.Close(CleanStop{}))

	type crash struct {
		op    vfs.Op
		model vfs.CrashModel
		kept  int64
		left  *vfs.Mem
	}
	var crashes []crash
	var mu sync.Mutex
	acked, synced := before, before
	s, err := crashStore(mem)
	if err != nil {
		t.Fatal(err)
	}
	l = s.Log(crashed)
	mem.SetHook(func(op vfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		crashes = append(crashes, crash{op, vfs.KeepAll, acked, mem.CrashClone(vfs.KeepAll)},
			crash{op, vfs.KeepSynced, synced, mem.CrashClone(vfs.KeepSynced)})
		return nil
	})
	must(t, l.BeginEpoch(2))
	for i := range 12 {
		info := mustAppend(t, l, byProducer(t, int(l.EndOffset())), AppendOptions{LeaderEpoch: 2, Sync: i == 5})
		s.env.background.Wait()
		mu.Lock()
		acked = info.LastOffset + 1
		if i == 5 {
			synced = acked
		}
		mu.Unlock()
		switch i {
		case 2:
			must(t, s.CheckpointRecoveryPoints())
		case 7:
			must(t, s.CheckpointRecoveryPoints())
			must(t, l.SettleLoad())
		}
	}
	must(t, s.Close(CleanStop{}))
	mem.SetHook(nil)
	for _, c := range crashes {
		if err := epochsKept(c.left, before, c.kept); err != nil {
			t.Fatalf("crash (model %d) before %v of %s: %v", c.model, c.op.Kind, c.op.Name, err)
		}
	}
	t.Logf("%d states", len(crashes))
}

// epochsKept opens what a crash left: epoch 0 up to offset second, epoch 2 from there on.
func epochsKept(fsys vfs.FS, second, kept int64) error {
	s, err := crashStore(fsys)
	if err != nil {
		return err
	}
	l := s.Log(crashed)
	end := l.EndOffset()
	if end < kept {
		return fmt.Errorf("log ends at %d, %d were to be kept", end, kept)
	}
	want := []epochStart{{0, 0}}
	if end > second {
		want = append(want, epochStart{2, second})
	}
	if have := l.epochs.load(); !slices.Equal(have, want) {
		return fmt.Errorf("epochs %v in a log that ends at %d, want %v", have, end, want)
	}
	if err := l.BeginEpoch(4); err != nil {
		return err
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
