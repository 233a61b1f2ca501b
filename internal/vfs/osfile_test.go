package vfs

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// TestCloseWhileUsed: operations that run when a file is closed finish on that file or find it closed; never do they meet the
// file that was given the descriptor's number next.
func TestCloseWhileUsed(t *testing.T) {
	fsys, dir := OS(), t.TempDir()
	mine, other := filepath.Join(dir, "mine"), filepath.Join(dir, "other")
	write(t, fsys, mine, "mine")
	write(t, fsys, other, "other")
	var everyone sync.WaitGroup
	for range 200 {
		f, err := fsys.OpenFile(mine, os.O_RDWR, 0)
		must(t, err)
		for range 4 {
			everyone.Go(func() {
				var buf [4]byte
				for {
					_, err := f.ReadAt(buf[:], 0)
					if errors.Is(err, fs.ErrClosed) {
						return
					}
					if err != nil || string(buf[:]) != "mine" {
						t.Errorf("read %q, %v", buf[:], err)
						return
					}
				}
			})
		}
		everyone.Go(func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
				t.Errorf("second close: %v", err)
			}
		})
		everyone.Go(func() { // takes the number, if that is free
			o, err := fsys.OpenFile(other, os.O_RDONLY, 0)
			if err != nil {
				t.Error(err)
				return
			}
			var buf [5]byte
			if _, err := o.ReadAt(buf[:], 0); err != nil || string(buf[:]) != "other" {
				t.Errorf("the other file: %q, %v", buf[:], err)
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		})
		everyone.Wait()
		for what, err := range map[string]error{"truncate": f.Truncate(0), "sync": f.Sync(), "write": func() error { _, err := f.WriteAt([]byte("x"), 0); return err }()} {
			if !errors.Is(err, fs.ErrClosed) {
				t.Errorf("%s of a closed file: %v", what, err)
			}
		}
		if _, err := f.Stat(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("stat of a closed file: %v", err)
		}
	}
	if got, err := ReadFile(fsys, mine); err != nil || string(got) != "mine" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestByName: what is done by name says what os would say.
func TestByName(t *testing.T) {
	both(t, func(t *testing.T, fsys FS, dir string) {
		name := filepath.Join(dir, "f")
		if err := Truncate(fsys, name, 1); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("truncate of a missing file: %v", err)
		}
		write(t, fsys, name, "0123456789")
		must(t, Truncate(fsys, name, 4))
		must(t, Truncate(fsys, name, 6))
		if got, err := ReadFile(fsys, name); err != nil || !bytes.Equal(got, []byte("0123\x00\x00")) {
			t.Errorf("%q, %v", got, err)
		}
		sub := filepath.Join(dir, "d")
		must(t, Mkdir(fsys, sub, 0o755))
		for _, there := range []string{sub, name} {
			if err := Mkdir(fsys, there, 0o755); !errors.Is(err, fs.ErrExist) {
				t.Errorf("mkdir over %s: %v", there, err)
			}
		}
		must(t, WriteFileWhole(fsys, name, []byte("new"), 0o644))
		if got, err := ReadFile(fsys, name); err != nil || string(got) != "new" {
			t.Errorf("%q, %v", got, err)
		}
		list, err := fsys.ReadDir(dir)
		if err != nil || len(list) != 2 || list[0].Name() != "d" || !list[0].IsDir() || list[1].IsDir() || list[1].Type() != 0 {
			t.Errorf("listed %v, %v", list, err)
		}
		info, err := list[1].Info()
		if err != nil || info.Size() != 3 || info.Mode() != 0o644 {
			t.Errorf("%v, %v", info, err)
		}
	})
}

// TestLargeDirectory: more entries than one answer of the kernel holds; all of them once, sorted.
func TestLargeDirectory(t *testing.T) {
	fsys, dir := OS(), t.TempDir()
	long := string(bytes.Repeat([]byte("n"), 200))
	const many = 300
	for i := range many {
		write(t, fsys, filepath.Join(dir, long+string(rune('0'+i/100))+string(rune('0'+i/10%10))+string(rune('0'+i%10))), "")
	}
	must(t, os.Symlink(dir, filepath.Join(dir, "link")))
	list, err := fsys.ReadDir(dir)
	if err != nil || len(list) != many+1 {
		t.Fatalf("%d entries, %v", len(list), err)
	}
	want, err := os.ReadDir(dir)
	must(t, err)
	for i, e := range want {
		if list[i].Name() != e.Name() || list[i].Type() != e.Type() {
			t.Errorf("entry %d: %s %v, os has %s %v", i, list[i].Name(), list[i].Type(), e.Name(), e.Type())
		}
	}
}

// TestNoDescriptorLeft: what opens files passes the kernel's refusal on, and leaves none open.
func TestNoDescriptorLeft(t *testing.T) {
	fsys, dir := OS(), t.TempDir()
	name := filepath.Join(dir, "f")
	write(t, fsys, name, "x")
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	spare, err := os.Open(os.DevNull)
	must(t, err)
	full := syscall.Rlimit{Cur: uint64(spare.Fd()) + 1, Max: limit.Max} // all below are taken, or nearly
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &full))
	var taken []File
	var refusal error
	for refusal == nil {
		var f File
		if f, refusal = fsys.OpenFile(name, os.O_RDONLY, 0); refusal == nil {
			taken = append(taken, f)
		}
	}
	_, readErr := ReadFile(fsys, name)
	_, listErr := fsys.ReadDir(dir)
	syncErr := fsys.SyncDir(dir)
	statErr := func() error { _, err := fsys.Stat(name); return err }()
	truncateErr := Truncate(fsys, name, 0)
	must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	for what, err := range map[string]error{"open": refusal, "read": readErr, "list": listErr, "sync": syncErr} {
		if !errors.Is(err, syscall.EMFILE) {
			t.Errorf("%s without a descriptor: %v", what, err)
		}
	}
	if statErr != nil || truncateErr != nil {
		t.Errorf("by name, which takes no descriptor: %v, %v", statErr, truncateErr)
	}
	for _, f := range taken {
		must(t, f.Close())
	}
	must(t, spare.Close())
	if _, err := ReadFile(fsys, name); err != nil {
		t.Errorf("after the others were closed: %v", err)
	}
}
