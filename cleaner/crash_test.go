package cleaner

import (
	"fmt"
	"maps"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// TestCrashAfterEveryOperation stops the process, or cuts the power, after each
// file operation of two passes and of the removals after them. On what is left
// each key's newest value can be read, no offset comes twice, and the next pass
// ends as if nothing had happened.
func TestCrashAfterEveryOperation(t *testing.T) {
	m := newModel(t, 42, modelConfig())
	fillForCrash(m)
	must(t, m.n.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
	m.n.open()
	mem := m.n.fs.(*vfs.Mem)
	var left []*vfs.Mem
	before := vfs.OpSyncDir // the operation before
	mem.SetHook(func(op vfs.Op) error {
		last := before
		before = op.Kind
		if raceEnabled && op.N%10 != 0 {
			return nil // a clone and two passes each take long under the race detector
		}
		left = append(left, mem.CrashClone(vfs.KeepAll))
		if last != vfs.OpWrite { // which changes nothing of what follows
			left = append(left, mem.CrashClone(vfs.KeepNames))
		}
		if last == vfs.OpSync || last == vfs.OpSyncDir {
			left = append(left, mem.CrashClone(vfs.KeepSynced))
		}
		return nil
	})
	m.clean()
	mem.SetHook(nil)
	want := m.n.files("m-0")
	must(t, m.n.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
	t.Logf("%d crashes", len(left))
	for i, fsys := range left {
		if err := startAfterCrash(t, m, fsys, want); err != nil {
			t.Fatalf("crash %d: %v", i, err)
		}
	}
}

// fillForCrash writes a few segments, a part of which was cleaned before, with
// transactions of both ends in them.
func fillForCrash(m *model) {
	for m.ops < 3000 {
		m.write()
		if m.rng.IntN(6) == 0 {
			m.decide()
		}
	}
	m.clean()
	for m.ops < 5000 {
		m.write()
		if m.rng.IntN(6) == 0 {
			m.decide()
		}
	}
	for len(m.open) > 0 {
		m.decide()
	}
}

func startAfterCrash(t *testing.T, m *model, fsys *vfs.Mem, want map[string][]byte) error {
	n := &node{t: t, fs: fsys, dir: m.n.dir, settings: m.n.settings, config: m.n.config}
	n.open()
	if err := compareValues(m.values, readCommitted(t, n.log(m.topic))); err != nil {
		return fmt.Errorf("after the start: %w", err)
	}
	after := &model{t: t, n: n, topic: m.topic}
	after.clean()
	if err := compareValues(m.values, readCommitted(t, n.log(m.topic))); err != nil {
		return fmt.Errorf("after the next pass: %w", err)
	}
	got := n.files("m-0")
	must(t, n.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
	found, err := logstore.Verify(fsys, n.dir)
	if err != nil {
		return err
	}
	for _, f := range found {
		return fmt.Errorf("%v", f)
	}
	if len(logsOf(got)) == 0 || len(logsOf(got)) > len(logsOf(want))+1 {
		return fmt.Errorf("%d segments, %d without the crash", len(logsOf(got)), len(logsOf(want)))
	}
	return nil
}

// logsOf picks the .log files.
func logsOf(files map[string][]byte) map[string][]byte {
	logs := maps.Clone(files)
	maps.DeleteFunc(logs, func(path string, _ []byte) bool { return len(path) < 4 || path[len(path)-4:] != ".log" })
	return logs
}
