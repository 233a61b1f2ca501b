package vfs

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

func open(t *testing.T, fsys FS, name string) File {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	must(t, err)
	return f
}

func text(fsys FS, name string) string {
	data, err := ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "gone"
	}
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func TestCrashClone(t *testing.T) {
	m := NewMem()
	must(t, m.MkdirAll("/d", 0o755))
	must(t, m.SyncDir("/"))
	f := open(t, m, "/d/f")
	must(t, m.SyncDir("/d"))
	_, err := f.WriteAt([]byte("synced"), 0)
	must(t, err)
	must(t, f.Sync())
	_, err = f.WriteAt([]byte("SYN"), 0)
	must(t, err)
	must(t, f.Truncate(5_000))
	write(t, m, "/d/never-synced", "x")
	g := open(t, m, "/d/no-entry")
	_, err = g.WriteAt([]byte("content"), 0)
	must(t, err)
	must(t, g.Sync())

	all, synced := m.CrashClone(KeepAll), m.CrashClone(KeepSynced)
	for name, want := range map[string][2]string{
		"/d/f":            {"SYNced" + string(make([]byte, 4994)), "synced"},
		"/d/never-synced": {"x", "gone"},
		"/d/no-entry":     {"content", "gone"},
	} {
		if got := text(all, name); got != want[0] {
			t.Errorf("KeepAll %s: %q", name, got)
		}
		if got := text(synced, name); got != want[1] {
			t.Errorf("KeepSynced %s: %q", name, got)
		}
	}
	// Clone and original go separate ways.
	h := open(t, synced, "/d/f")
	_, err = h.WriteAt([]byte("clone"), 0)
	must(t, err)
	if got := text(m, "/d/f")[:6]; got != "SYNced" {
		t.Errorf("the original after a write to the clone: %q", got)
	}
	must(t, f.Sync())
	if got := text(all, "/d/f")[:6]; got != "SYNced" || all.Ops() != 0 {
		t.Errorf("the clone after a sync of the original: %q", got)
	}
}

func TestCrashCloneRenames(t *testing.T) {
	m := NewMem()
	must(t, m.MkdirAll("/d/sub", 0o755))
	for _, dir := range []string{"/", "/d"} {
		must(t, m.SyncDir(dir))
	}
	f := open(t, m, "/d/a")
	_, err := f.WriteAt([]byte("a"), 0)
	must(t, err)
	must(t, f.Sync())
	must(t, m.SyncDir("/d"))
	must(t, m.Rename("/d/a", "/d/b"))
	must(t, m.Rename("/d/sub", "/d/moved"))

	c := m.CrashClone(KeepSynced)
	if text(c, "/d/a") != "a" || text(c, "/d/b") != "gone" {
		t.Error("a rename survived without a sync of its directory")
	}
	if _, err := c.Stat("/d/sub"); err != nil {
		t.Errorf("the directory's old name: %v", err)
	}
	must(t, m.SyncDir("/d"))
	must(t, m.Remove("/d/b"))
	c = m.CrashClone(KeepSynced)
	if text(c, "/d/a") != "gone" || text(c, "/d/b") != "a" {
		t.Error("a synced rename is lost, or an unsynced removal is not")
	}
	if _, err := c.Stat("/d/moved"); err != nil {
		t.Errorf("the directory's new name: %v", err)
	}
	must(t, m.SyncDir("/d"))
	if got := text(m.CrashClone(KeepSynced), "/d/b"); got != "gone" {
		t.Errorf("a synced removal left %q", got)
	}
}

func TestMemHook(t *testing.T) {
	m := NewMem()
	stop := errors.New("stop")
	var kinds []Kind
	m.SetHook(func(op Op) error {
		if op.N != int64(len(kinds)+1) {
			t.Errorf("operation %d has number %d", len(kinds)+1, op.N)
		}
		kinds = append(kinds, op.Kind)
		if op.Kind == OpSync {
			return stop
		}
		return nil
	})
	must(t, m.MkdirAll("/d", 0o755))
	f := open(t, m, "/d/f")
	_, err := f.WriteAt([]byte("x"), 0)
	must(t, err)
	if err := f.Sync(); !errors.Is(err, stop) {
		t.Errorf("sync: %v", err)
	}
	must(t, f.Truncate(0))
	must(t, m.SyncDir("/d"))
	must(t, m.Rename("/d/f", "/d/g"))
	must(t, m.Remove("/d/g"))
	want := []Kind{OpMkdir, OpCreate, OpWrite, OpSync, OpTruncate, OpSyncDir, OpRename, OpRemove}
	if len(kinds) != len(want) || m.Ops() != int64(len(want)) {
		t.Fatalf("operations %v", kinds)
	}
	for i, kind := range want {
		if kinds[i] != kind {
			t.Errorf("operation %d is %v, want %v", i+1, kinds[i], kind)
		}
	}
}

func TestFaulty(t *testing.T) {
	broken := errors.New("broken")
	for kind := OpOpen; kind <= OpLock; kind++ {
		m := NewMem()
		must(t, m.MkdirAll("/d", 0o755))
		write(t, m, "/d/f", "text")
		armed := false
		f := NewFaulty(m, func(op Op) error {
			if armed && op.Kind == kind {
				return broken
			}
			return nil
		})
		file := open(t, f, "/d/f")
		armed = true
		got := make(map[Kind]error)
		_, got[OpOpen] = f.OpenFile("/d/f", os.O_RDONLY, 0)
		_, got[OpCreate] = f.OpenFile("/d/f", os.O_RDWR|os.O_CREATE, 0)
		_, got[OpRead] = file.ReadAt(make([]byte, 1), 0)
		_, got[OpWrite] = file.WriteAt([]byte("x"), 0)
		got[OpTruncate] = file.Truncate(1)
		got[OpSync] = file.Sync()
		_, got[OpStat] = file.Stat()
		got[OpClose] = file.Close()
		got[OpMkdir] = f.MkdirAll("/d/e", 0o755)
		_, got[OpReadDir] = f.ReadDir("/d")
		got[OpSyncDir] = f.SyncDir("/d")
		_, got[OpLock] = f.Lock("/d/lock")
		got[OpRename] = f.Rename("/d/f", "/d/g")
		got[OpRemove] = f.RemoveAll("/d/g")
		for k, err := range got {
			if errors.Is(err, broken) != (k == kind) {
				t.Errorf("with %v broken, %v gives %v", kind, k, err)
			}
			if k != kind && err != nil {
				t.Errorf("with %v broken, %v gives %v", kind, k, err)
			}
		}
		if _, err := file.Stat(); err == nil {
			t.Errorf("with %v broken, the file is still open", kind)
		}
	}
}
