package vfs

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Deferred passes everything on to another file system but puts syncs off: it notes what was to be synced, and Flush syncs
// all of it, each file and directory once. After Flush syncs go through at once.
//
// It is for making new directories, where many small files are written one after another and nothing exists yet that a
// power loss in between could harm.
type Deferred struct {
	FS
	flushed atomic.Bool

	mu    sync.Mutex
	files map[string]bool
	dirs  map[string]bool
}

// NewDeferred wraps inner.
func NewDeferred(inner FS) *Deferred {
	return &Deferred{FS: inner, files: map[string]bool{}, dirs: map[string]bool{}}
}

// OpenFile opens a file whose Sync is put off until Flush.
func (d *Deferred) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := d.FS.OpenFile(name, flag, perm)
	if err != nil || d.flushed.Load() {
		return f, err
	}
	return &deferredFile{File: f, d: d}, nil
}

// Rename moves a file or directory and what is noted for it.
func (d *Deferred) Rename(oldname, newname string) error {
	if err := d.FS.Rename(oldname, newname); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, noted := range []map[string]bool{d.files, d.dirs} {
		for name := range noted {
			if rest, ok := strings.CutPrefix(name, oldname); ok && (rest == "" || rest[0] == filepath.Separator) {
				delete(noted, name)
				noted[newname+rest] = true
			}
		}
	}
	return nil
}

// Truncate sets the size of a file.
func (d *Deferred) Truncate(name string, size int64) error { return Truncate(d.FS, name, size) }

// Mkdir makes a directory.
func (d *Deferred) Mkdir(name string, perm fs.FileMode) error { return Mkdir(d.FS, name, perm) }

// SyncDir notes the directory, or after Flush syncs it.
func (d *Deferred) SyncDir(name string) error {
	if d.note(&d.dirs, name) {
		return nil
	}
	return d.FS.SyncDir(name)
}

// note reports whether the sync is put off.
func (d *Deferred) note(where *map[string]bool, name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.flushed.Load() {
		return false
	}
	(*where)[name] = true
	return true
}

// Flush syncs all that was put off: files first, then directories. What was removed meanwhile is passed over.
func (d *Deferred) Flush() error {
	d.mu.Lock()
	d.flushed.Store(true)
	files, dirs := slices.Sorted(maps.Keys(d.files)), slices.Sorted(maps.Keys(d.dirs))
	d.files, d.dirs = nil, nil
	d.mu.Unlock()
	var errs []error
	for _, name := range files {
		errs = append(errs, d.syncFile(name))
	}
	for _, name := range dirs {
		if err := d.FS.SyncDir(name); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (d *Deferred) syncFile(name string) error {
	f, err := d.FS.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

type deferredFile struct {
	File
	d *Deferred
}

func (f *deferredFile) Sync() error {
	if f.d.note(&f.d.files, f.Name()) {
		return nil
	}
	return f.File.Sync()
}
