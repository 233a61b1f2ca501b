package vfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
)

// TestOpenDir: what is in a directory that is held open is what is found by path, on the system's files and in memory.
func TestOpenDir(t *testing.T) {
	for name, in := range map[string]struct {
		fsys FS
		top  string
	}{"os": {OS(), t.TempDir()}, "mem": {NewMem(), "/top"}} {
		t.Run(name, func(t *testing.T) {
			fsys, dir := in.fsys, filepath.Join(in.top, "d")
			check := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			check(fsys.MkdirAll(filepath.Join(dir, "sub"), 0o755))
			check(WriteFileAtomic(fsys, filepath.Join(dir, "b"), []byte("12345"), 0o644))
			check(WriteFileAtomic(fsys, filepath.Join(dir, "a"), nil, 0o644))
			d, err := OpenDir(fsys, dir)
			check(err)
			entries, err := d.List()
			check(err)
			if len(entries) != 3 || entries[0].Name() != "a" || entries[1].Name() != "b" || entries[2].Name() != "sub" || !entries[2].IsDir() || entries[1].IsDir() {
				t.Fatalf("listed %v", entries)
			}
			for _, c := range []struct {
				file string
				room int
				want string
			}{{"b", 10, "12345"}, {"b", 5, "12345"}, {"b", 3, "123"}, {"a", 3, ""}} {
				buf := make([]byte, c.room)
				if n, err := d.ReadStart(c.file, buf); err != nil || string(buf[:n]) != c.want {
					t.Errorf("%d bytes of %s: %q, %v", c.room, c.file, buf[:n], err)
				}
			}
			if _, err := d.ReadStart("none", make([]byte, 1)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a missing file: %v", err)
			}
			for range 2 { // while it is open, and by path
				if size, err := SizeOf(entries[1]); size != 5 || err != nil {
					t.Errorf("size %d, %v", size, err)
				}
				if info, err := entries[1].Info(); err != nil || info.Size() != 5 || info.Name() != "b" {
					t.Errorf("%v, %v", info, err)
				}
				check(d.Close())
				d = &namedDir{fsys, dir}
			}
			check(fsys.Remove(filepath.Join(dir, "b")))
			if name == "os" { // Mem tells what was there when it was listed
				if _, err := SizeOf(entries[1]); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("size of a removed file: %v", err)
				}
			}
			if d, err := OpenDir(fsys, filepath.Join(in.top, "none")); err == nil {
				_, err = d.List()
				if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a missing directory: %v", err)
				}
			} else if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a missing directory: %v", err)
			}
		})
	}
}
