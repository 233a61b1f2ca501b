package vfs

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Overlay shows another file system, the lower one, and keeps in memory what is
// changed: the lower one is only ever read. Of a file only the pages that were
// written are held, so that cutting a large file costs nothing. Files of the
// lower file system must not change meanwhile.
//
// A lock excludes other users of the same Overlay only. Directories cannot be
// renamed.
type Overlay struct {
	lower FS

	mu     sync.Mutex
	files  map[string]*overlayNode // opened, made or renamed here
	made   map[string]bool         // directories made here
	gone   map[string]bool         // what the lower file system has below these is not seen
	locked map[string]bool
}

// NewOverlay makes an Overlay over lower.
func NewOverlay(lower FS) *Overlay {
	return &Overlay{lower: lower, files: make(map[string]*overlayNode), made: make(map[string]bool),
		gone: make(map[string]bool), locked: make(map[string]bool)}
}

// hiddenLocked reports whether a name of the lower file system was removed.
func (o *Overlay) hiddenLocked(name string) bool {
	for {
		if o.gone[name] {
			return true
		}
		up := filepath.Dir(name)
		if up == name {
			return false
		}
		name = up
	}
}

// nodeLocked finds a file, taking it over from the lower file system when it is
// asked for the first time; fs.ErrNotExist when there is none.
func (o *Overlay) nodeLocked(op, name string) (*overlayNode, error) {
	if node := o.files[name]; node != nil {
		return node, nil
	}
	if o.hiddenLocked(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	info, err := o.lower.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &fs.PathError{Op: op, Path: name, Err: errors.New("is a directory")}
	}
	node := &overlayNode{below: name, kept: info.Size(), size: info.Size(), mode: info.Mode().Perm(), changed: info.ModTime()}
	o.files[name] = node
	return node, nil
}

// OpenFile opens a file; a missing one is made in memory when flag says so.
func (o *Overlay) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	name = filepath.Clean(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	node, err := o.nodeLocked("open", name)
	switch {
	case err == nil && flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
	case errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0:
		if _, err := o.statLocked(filepath.Dir(name)); err != nil {
			return nil, err
		}
		node = &overlayNode{mode: perm, changed: time.Now()}
		o.files[name] = node
	case err != nil:
		return nil, err
	}
	file := &overlayFile{name: name, node: node}
	if node.below != "" {
		if file.lower, err = o.lower.OpenFile(node.below, os.O_RDONLY, 0); err != nil {
			return nil, err
		}
	}
	if flag&os.O_TRUNC != 0 {
		node.truncate(0)
	}
	return file, nil
}

// Remove removes a file or an empty directory.
func (o *Overlay) Remove(name string) error {
	name = filepath.Clean(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	info, err := o.statLocked(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		if entries, err := o.readDirLocked(name); err != nil || len(entries) > 0 {
			return cmp.Or(err, error(&fs.PathError{Op: "remove", Path: name, Err: errors.New("directory not empty")}))
		}
	}
	o.removeLocked(name)
	return nil
}

// RemoveAll removes name and what is below it.
func (o *Overlay) RemoveAll(name string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.removeLocked(filepath.Clean(name))
	return nil
}

func (o *Overlay) removeLocked(name string) {
	below := name + string(filepath.Separator)
	for path := range o.files {
		if path == name || strings.HasPrefix(path, below) {
			delete(o.files, path)
		}
	}
	for path := range o.made {
		if path == name || strings.HasPrefix(path, below) {
			delete(o.made, path)
		}
	}
	o.gone[name] = true
}

// Rename moves a file. A directory is refused.
func (o *Overlay) Rename(oldname, newname string) error {
	oldname, newname = filepath.Clean(oldname), filepath.Clean(newname)
	o.mu.Lock()
	defer o.mu.Unlock()
	node, err := o.nodeLocked("rename", oldname)
	if err != nil {
		return err
	}
	if _, err := o.statLocked(filepath.Dir(newname)); err != nil {
		return err
	}
	delete(o.files, oldname)
	o.gone[oldname] = true
	o.files[newname] = node
	return nil
}

// MkdirAll makes a directory and the missing ones above it.
func (o *Overlay) MkdirAll(name string, _ fs.FileMode) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for name = filepath.Clean(name); ; name = filepath.Dir(name) {
		info, err := o.statLocked(name)
		if err == nil && !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: name, Err: errors.New("is a file")}
		}
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		o.made[name] = true
	}
}

// ReadDir lists a directory, sorted by name.
func (o *Overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.readDirLocked(filepath.Clean(name))
}

func (o *Overlay) readDirLocked(name string) ([]fs.DirEntry, error) {
	var entries []fs.DirEntry
	if !o.hiddenLocked(name) {
		below, err := o.lower.ReadDir(name)
		if err != nil && !(errors.Is(err, fs.ErrNotExist) && o.made[name]) {
			return nil, err
		}
		for _, e := range below {
			path := filepath.Join(name, e.Name())
			if !o.gone[path] && o.files[path] == nil && !o.made[path] {
				entries = append(entries, e)
			}
		}
	} else if !o.made[name] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	for path, node := range o.files {
		if filepath.Dir(path) == name {
			entries = append(entries, fs.FileInfoToDirEntry(node.info(filepath.Base(path))))
		}
	}
	for path := range o.made {
		if filepath.Dir(path) == name && path != name {
			entries = append(entries, fs.FileInfoToDirEntry(overlayInfo{name: filepath.Base(path), mode: fs.ModeDir | 0o755}))
		}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Stat describes a file or directory.
func (o *Overlay) Stat(name string) (fs.FileInfo, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.statLocked(filepath.Clean(name))
}

func (o *Overlay) statLocked(name string) (fs.FileInfo, error) {
	if node := o.files[name]; node != nil {
		return node.info(filepath.Base(name)), nil
	}
	if o.made[name] {
		return overlayInfo{name: filepath.Base(name), mode: fs.ModeDir | 0o755}, nil
	}
	if o.hiddenLocked(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return o.lower.Stat(name)
}

// SetModTime sets a file's modification time.
func (o *Overlay) SetModTime(name string, t time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	node, err := o.nodeLocked("modtime", filepath.Clean(name))
	if err != nil {
		return err
	}
	node.mu.Lock()
	defer node.mu.Unlock()
	node.changed = t
	return nil
}

// SyncDir does nothing: memory has no power loss.
func (o *Overlay) SyncDir(string) error { return nil }

// Lock excludes other users of this Overlay. No file is made.
func (o *Overlay) Lock(name string) (io.Closer, error) {
	name = filepath.Clean(name)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.locked[name] {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: ErrLocked}
	}
	o.locked[name] = true
	return closerFunc(sync.OnceValue(func() error {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.locked, name)
		return nil
	})), nil
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }
