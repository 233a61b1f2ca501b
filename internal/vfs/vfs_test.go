package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// both runs a test on the real file system and on the one in memory.
func both(t *testing.T, test func(t *testing.T, fsys FS, dir string)) {
	t.Run("OS", func(t *testing.T) { test(t, OS(), t.TempDir()) })
	t.Run("Mem", func(t *testing.T) {
		m := NewMem()
		if err := m.MkdirAll("/data", 0o755); err != nil {
			t.Fatal(err)
		}
		test(t, m, "/data")
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, fsys FS, name, text string) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	must(t, err)
	_, err = f.WriteAt([]byte(text), 0)
	must(t, err)
	must(t, f.Close())
}

func TestFileOperations(t *testing.T) {
	both(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "f")
		if _, err := fsys.OpenFile(name, os.O_RDWR, 0); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("open of a missing file: %v", err)
		}
		f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
		must(t, err)
		if _, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644); !errors.Is(err, fs.ErrExist) {
			t.Errorf("second exclusive open: %v", err)
		}
		if f.Name() != name {
			t.Errorf("name %q", f.Name())
		}
		_, err = f.WriteAt([]byte("tail"), 10_000)
		must(t, err)
		buf := make([]byte, 10)
		if n, err := f.ReadAt(buf, 9_998); n != 6 || err != io.EOF || string(buf[:n]) != "\x00\x00tail" {
			t.Errorf("read %d bytes %q, %v", n, buf[:n], err)
		}
		if n, err := f.ReadAt(buf, 20_000); n != 0 || err != io.EOF {
			t.Errorf("read behind the end: %d, %v", n, err)
		}
		must(t, f.Truncate(10_002))
		must(t, f.Truncate(10_004))
		if n, err := f.ReadAt(buf, 10_000); n != 4 || err != io.EOF || string(buf[:n]) != "ta\x00\x00" {
			t.Errorf("after cutting and growing: %q, %v", buf[:n], err)
		}
		info, err := f.Stat()
		must(t, err)
		if info.Size() != 10_004 || info.Name() != "f" || info.IsDir() {
			t.Errorf("size %d, name %q", info.Size(), info.Name())
		}
		must(t, f.Sync())
		must(t, f.Close())
		if _, err := f.ReadAt(buf, 0); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("read of a closed file: %v", err)
		}
		r, err := fsys.OpenFile(name, os.O_RDONLY, 0)
		must(t, err)
		if _, err := r.WriteAt([]byte("x"), 0); err == nil {
			t.Error("a file opened for reading was written")
		}
		must(t, r.Close())
		w, err := fsys.OpenFile(name, os.O_RDWR|os.O_TRUNC, 0)
		must(t, err)
		must(t, w.Close())
		if got, err := ReadFile(fsys, name); err != nil || len(got) != 0 {
			t.Errorf("after O_TRUNC: %d bytes, %v", len(got), err)
		}
	})
}

func TestSetModTime(t *testing.T) {
	both(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "f")
		write(t, fsys, name, "x")
		want := time.UnixMilli(1_700_000_000_123)
		must(t, fsys.SetModTime(name, want))
		info, err := fsys.Stat(name)
		must(t, err)
		if !info.ModTime().Equal(want) {
			t.Errorf("modification time %v, want %v", info.ModTime(), want)
		}
		if err := fsys.SetModTime(filepath.Join(dir, "none"), want); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("of a missing file: %v", err)
		}
	})
}

func TestDirectories(t *testing.T) {
	both(t, func(t *testing.T, fsys FS, dir string) {
		must(t, fsys.MkdirAll(filepath.Join(dir, "b", "c"), 0o755))
		must(t, fsys.MkdirAll(filepath.Join(dir, "b"), 0o755))
		write(t, fsys, filepath.Join(dir, "a"), "a")
		write(t, fsys, filepath.Join(dir, "b", "x"), "x")
		list, err := fsys.ReadDir(dir)
		must(t, err)
		if len(list) != 2 || list[0].Name() != "a" || list[0].IsDir() || list[1].Name() != "b" || !list[1].IsDir() {
			t.Errorf("list %v", list)
		}
		if err := fsys.Remove(filepath.Join(dir, "b")); err == nil {
			t.Error("a full directory was removed")
		}
		must(t, fsys.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "z")))
		if got, err := ReadFile(fsys, filepath.Join(dir, "z", "x")); string(got) != "x" {
			t.Errorf("in the renamed directory: %q, %v", got, err)
		}
		must(t, fsys.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "z", "x")))
		if got, err := ReadFile(fsys, filepath.Join(dir, "z", "x")); string(got) != "a" {
			t.Errorf("after replacing: %q, %v", got, err)
		}
		must(t, fsys.SyncDir(dir))
		must(t, fsys.RemoveAll(filepath.Join(dir, "z")))
		must(t, fsys.RemoveAll(filepath.Join(dir, "z")))
		if _, err := fsys.Stat(filepath.Join(dir, "z")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after removing: %v", err)
		}
		if err := fsys.Remove(filepath.Join(dir, "z")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("removing what is gone: %v", err)
		}
		if err := fsys.Rename(filepath.Join(dir, "no"), filepath.Join(dir, "yes")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("renaming what is gone: %v", err)
		}
	})
}

func TestWriteFileAtomic(t *testing.T) {
	both(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "checkpoint")
		write(t, fsys, name+".tmp", "left over, and longer than what comes now")
		for _, text := range []string{"one", "", "three\n"} {
			must(t, WriteFileAtomic(fsys, name, []byte(text), 0o644))
			if got, err := ReadFile(fsys, name); err != nil || string(got) != text {
				t.Errorf("got %q, %v", got, err)
			}
		}
		if _, err := fsys.Stat(name + ".tmp"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the temporary file: %v", err)
		}
	})
}

// At each operation of the replacement a power loss leaves the old or the new
// content, whole.
func TestWriteFileAtomicCrashes(t *testing.T) {
	for cut := int64(1); ; cut++ {
		m := NewMem()
		must(t, m.MkdirAll("/data", 0o755))
		must(t, m.SyncDir("/"))
		must(t, WriteFileAtomic(m, "/data/f", []byte("old"), 0o644))
		var crashed *Mem
		start := m.Ops()
		m.SetHook(func(op Op) error {
			if op.N == start+cut {
				crashed = m.CrashClone(KeepSynced)
			}
			return nil
		})
		must(t, WriteFileAtomic(m, "/data/f", []byte("the new one"), 0o644))
		if crashed == nil {
			if cut < 5 {
				t.Fatalf("only %d operations", cut-1)
			}
			got, err := ReadFile(m.CrashClone(KeepSynced), "/data/f")
			if string(got) != "the new one" {
				t.Fatalf("in the end %q, %v", got, err)
			}
			return
		}
		if got, err := ReadFile(crashed, "/data/f"); string(got) != "old" && string(got) != "the new one" {
			t.Errorf("cut before operation %d: %q, %v", cut, got, err)
		}
	}
}

func TestLock(t *testing.T) {
	both(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, ".lock")
		lock, err := fsys.Lock(name)
		must(t, err)
		for range 2 {
			if _, err := fsys.Lock(name); !errors.Is(err, ErrLocked) {
				t.Errorf("second lock: %v", err)
			}
		}
		must(t, lock.Close())
		must(t, lock.Close())
		if _, err := fsys.Stat(name); err != nil {
			t.Errorf("the file after unlocking: %v", err)
		}
		again, err := fsys.Lock(name)
		must(t, err)
		must(t, again.Close())
	})
}

// The lock must hold against other processes, also after this process has
// opened and closed the file by itself.
func TestLockProcesses(t *testing.T) {
	if name := os.Getenv("VFS_TEST_LOCK"); name != "" {
		if _, err := OS().Lock(name); errors.Is(err, ErrLocked) {
			os.Exit(3)
		}
		os.Exit(0)
	}
	name := filepath.Join(t.TempDir(), ".lock")
	other := func() int {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLockProcesses$")
		cmd.Env = append(os.Environ(), "VFS_TEST_LOCK="+name)
		var exit *exec.ExitError
		if err := cmd.Run(); errors.As(err, &exit) {
			return exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		return 0
	}
	lock, err := OS().Lock(name)
	must(t, err)
	if _, err := OS().Lock(name); !errors.Is(err, ErrLocked) {
		t.Errorf("second lock of this process: %v", err)
	}
	if code := other(); code != 3 {
		t.Errorf("another process got the lock, exit code %d", code)
	}
	must(t, lock.Close())
	if code := other(); code != 0 {
		t.Errorf("another process does not get the lock, exit code %d", code)
	}
}
