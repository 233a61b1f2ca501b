package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestReadOnly: every call that would change something is refused and changes nothing.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	if err := os.WriteFile(name, []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := NewReadOnly(OS())
	file, err := r.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	other := filepath.Join(dir, "g")
	_, opened := r.OpenFile(name, os.O_RDWR, 0)
	_, created := r.OpenFile(other, os.O_RDONLY|os.O_CREATE, 0o644)
	_, truncated := r.OpenFile(name, os.O_RDONLY|os.O_TRUNC, 0)
	_, locked := r.Lock(other)
	_, written := file.WriteAt([]byte("x"), 0)
	for what, err := range map[string]error{
		"open": opened, "create": created, "open truncating": truncated, "lock": locked, "write": written, "truncate": file.Truncate(0), "sync": file.Sync(),
		"remove": r.Remove(name), "remove all": r.RemoveAll(name), "rename": r.Rename(name, other), "mkdir": r.MkdirAll(other, 0o755),
		"sync dir": r.SyncDir(dir), "modtime": r.SetModTime(name, mustStat(t, name).ModTime()),
	} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("%s: %v, want ErrReadOnly", what, err)
		}
	}
	if data, err := ReadFile(r, name); err != nil || string(data) != "content" {
		t.Errorf("read %q, %v", data, err)
	}
	if entries, err := r.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func mustStat(t *testing.T, name string) fs.FileInfo {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// TestOverlayBehavesAsFiles does the same random work on an overlay and on a plain file system that began equal, and
// compares after every step. The file system below the overlay refuses all writes.
func TestOverlayBehavesAsFiles(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 7))
		below, plain := NewMem(), NewMem()
		for _, m := range []*Mem{below, plain} {
			if err := m.MkdirAll("/d/sub", 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 4 {
			content := make([]byte, rng.IntN(20_000))
			for i := range content {
				content[i] = byte(rng.Uint32())
			}
			for _, m := range []*Mem{below, plain} {
				writeAll(t, m, fmt.Sprintf("/d/f%d", n), content)
			}
		}
		over := NewOverlay(NewReadOnly(below))
		for step := range 120 {
			do := randomStep(rng)
			errOver, errPlain := do(over), do(plain)
			if (errOver == nil) != (errPlain == nil) {
				t.Fatalf("seed %d step %d: overlay says %v, files say %v", seed, step, errOver, errPlain)
			}
			if a, b := describe(t, over), describe(t, plain); a != b {
				t.Fatalf("seed %d step %d: overlay\n%sfiles\n%s", seed, step, a, b)
			}
		}
	}
}

func writeAll(t *testing.T, fsys FS, name string, content []byte) {
	t.Helper()
	f, err := fsys.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
}

// randomStep chooses one change that can be made to any file system.
func randomStep(rng *rand.Rand) func(FS) error {
	name := fmt.Sprintf("/d/f%d", rng.IntN(6))
	other := fmt.Sprintf("/d/f%d", rng.IntN(6))
	if rng.IntN(4) == 0 {
		name = fmt.Sprintf("/d/sub/f%d", rng.IntN(3))
	}
	size, data := int64(rng.IntN(25_000)), bytes.Repeat([]byte{byte(rng.Uint32())}, rng.IntN(9000))
	with := func(flag int, do func(File) error) func(FS) error {
		return func(fsys FS) error {
			f, err := fsys.OpenFile(name, flag, 0o644)
			if err != nil {
				return err
			}
			return errors.Join(do(f), f.Close())
		}
	}
	write := func(f File) error { _, err := f.WriteAt(data, size); return err }
	switch rng.IntN(9) {
	case 0:
		return func(fsys FS) error { return fsys.Remove(name) }
	case 1:
		return func(fsys FS) error { return fsys.Rename(name, other) }
	case 2:
		return with(os.O_RDWR|os.O_CREATE|os.O_TRUNC, write)
	case 3:
		return with(os.O_RDWR|os.O_CREATE|os.O_EXCL, write)
	case 4, 5:
		return with(os.O_RDWR, func(f File) error { return f.Truncate(size) })
	case 6:
		return func(fsys FS) error { return fsys.RemoveAll("/d/sub") }
	case 7:
		return func(fsys FS) error { return fsys.MkdirAll("/d/sub", 0o755) }
	default:
		return with(os.O_RDWR, write)
	}
}

// describe lists names, sizes and contents, read in pieces.
func describe(t *testing.T, fsys FS) string {
	t.Helper()
	var out bytes.Buffer
	for _, dir := range []string{"/d", "/d/sub"} {
		entries, err := fsys.ReadDir(dir)
		fmt.Fprintln(&out, dir, err == nil)
		for _, e := range entries {
			if e.IsDir() {
				fmt.Fprintln(&out, e.Name(), "dir")
				continue
			}
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			f, err := fsys.OpenFile(filepath.Join(dir, e.Name()), os.O_RDONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<20))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s %d %d %x\n", e.Name(), info.Size(), len(content), hash(content))
			f.Close()
		}
	}
	return out.String()
}

func hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// TestOverlayLock: a lock is exclusive and makes no file.
func TestOverlayLock(t *testing.T) {
	o := NewOverlay(NewReadOnly(NewMem()))
	l, err := o.Lock("/.lock")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Lock("/.lock"); !errors.Is(err, ErrLocked) {
		t.Errorf("second lock: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Lock("/.lock"); err != nil {
		t.Errorf("after Close: %v", err)
	}
	if _, err := o.Stat("/.lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
}
