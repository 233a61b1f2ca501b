package vfs

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// CrashModel says what Mem.CrashClone keeps.
type CrashModel int

// The crash models.
const (
	// KeepAll is a killed process: everything that was written is there.
	KeepAll CrashModel = iota
	// KeepSynced is a power loss at its worst: a file has the content and size
	// of its last Sync (nothing, when there was none), a directory the entries
	// of its last SyncDir. A file whose entry was not synced is gone, a rename
	// or removal whose directory was not synced is undone.
	KeepSynced
	// KeepNames is a power loss after directories went to the disk and before
	// files did: a directory is as it was last, a file as in KeepSynced.
	KeepNames
)

// Mem is a file system in memory, for tests. Holes in files take no memory.
//
// It counts the operations that change something, and calls a hook before each,
// so that a test can take a CrashClone between any two of them.
type Mem struct {
	mu     sync.Mutex
	root   *node
	locked map[*node]bool
	ops    int64
	hook   func(Op) error
}

// node is a file or a directory. Mem.mu guards it.
type node struct {
	mode  fs.FileMode
	mtime time.Time

	data   content // of a file
	synced content // as of the last Sync

	entries       map[string]*node // of a directory, nil for a file
	syncedEntries map[string]*node // as of the last SyncDir
}

func newDir(perm fs.FileMode) *node {
	return &node{mode: fs.ModeDir | perm.Perm(), mtime: time.Now(),
		entries: make(map[string]*node), syncedEntries: make(map[string]*node)}
}

// NewMem returns a file system with nothing but its root directory.
func NewMem() *Mem {
	return &Mem{root: newDir(0o755), locked: make(map[*node]bool)}
}

// Ops returns how many changing operations there were so far: creating opens,
// writes, truncations, syncs, removals, renames, new directories, directory
// syncs and locks.
func (m *Mem) Ops() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ops
}

// SetHook makes hook be called before each changing operation; nil removes it.
// Op.N counts from 1 since the file system was made. An error makes the
// operation fail without an effect. The hook may use the file system itself.
func (m *Mem) SetHook(hook func(Op) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hook = hook
}

func (m *Mem) note(kind Kind, name string) error {
	m.mu.Lock()
	m.ops++
	op, hook := Op{Kind: kind, Name: name, N: m.ops}, m.hook
	m.mu.Unlock()
	if hook == nil {
		return nil
	}
	if err := hook(op); err != nil {
		return &fs.PathError{Op: kind.String(), Path: name, Err: err}
	}
	return nil
}

// CrashClone returns what a crash at this moment would leave, as a file system
// of its own without locks and hook. The original goes on.
func (m *Mem) CrashClone(model CrashModel) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	clone := NewMem()
	clone.root = cloneNode(m.root, model)
	return clone
}

func cloneNode(n *node, model CrashModel) *node {
	c := &node{mode: n.mode, mtime: n.mtime}
	if n.entries == nil {
		if model == KeepAll {
			c.data = n.data.snapshot()
		} else {
			c.data = n.synced.snapshot()
		}
		c.synced = c.data.snapshot()
		return c
	}
	kept := n.entries
	if model == KeepSynced {
		kept = n.syncedEntries
	}
	c.entries = make(map[string]*node, len(kept))
	c.syncedEntries = make(map[string]*node, len(kept))
	for name, child := range kept {
		child = cloneNode(child, model)
		c.entries[name], c.syncedEntries[name] = child, child
	}
	return c
}

// splitPath returns the names on the way from the root.
func splitPath(name string) []string {
	name = strings.Trim(filepath.ToSlash(filepath.Clean("/"+name)), "/")
	if name == "" {
		return nil
	}
	return strings.Split(name, "/")
}

func (m *Mem) findLocked(parts []string) (*node, error) {
	n := m.root
	for _, part := range parts {
		if n.entries == nil {
			return nil, syscall.ENOTDIR
		}
		child, ok := n.entries[part]
		if !ok {
			return nil, fs.ErrNotExist
		}
		n = child
	}
	return n, nil
}

// parentLocked finds the directory that holds (or would hold) name.
func (m *Mem) parentLocked(name string) (dir *node, base string, err error) {
	parts := splitPath(name)
	if len(parts) == 0 {
		return nil, "", fs.ErrInvalid
	}
	last := len(parts) - 1
	dir, err = m.findLocked(parts[:last])
	if err == nil && dir.entries == nil {
		err = syscall.ENOTDIR
	}
	return dir, parts[last], err
}

// OpenFile opens a file as os.OpenFile does. Directories cannot be opened.
func (m *Mem) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	if flag&(os.O_CREATE|os.O_TRUNC) != 0 {
		if err := m.note(OpCreate, name); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.openLocked(name, flag, perm)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &memFile{fs: m, node: n, name: name, flag: flag}, nil
}

func (m *Mem) openLocked(name string, flag int, perm fs.FileMode) (*node, error) {
	dir, base, err := m.parentLocked(name)
	if err != nil {
		return nil, err
	}
	n, ok := dir.entries[base]
	switch {
	case !ok && flag&os.O_CREATE == 0:
		return nil, fs.ErrNotExist
	case !ok:
		n = &node{mode: perm.Perm(), mtime: time.Now()}
		dir.entries[base], dir.mtime = n, n.mtime
		return n, nil
	case flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0:
		return nil, fs.ErrExist
	case n.entries != nil:
		return nil, syscall.EISDIR
	}
	if flag&os.O_TRUNC != 0 {
		n.data, n.mtime = content{}, time.Now()
	}
	return n, nil
}

// Remove removes a file or an empty directory. Open files stay readable.
func (m *Mem) Remove(name string) error { return m.remove(name, false) }

// RemoveAll removes name and all below it in one operation.
func (m *Mem) RemoveAll(name string) error { return m.remove(name, true) }

func (m *Mem) remove(name string, all bool) error {
	if err := m.note(OpRemove, name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parentLocked(name)
	if err == nil {
		n, ok := dir.entries[base]
		switch {
		case !ok:
			err = fs.ErrNotExist
		case !all && len(n.entries) > 0:
			err = syscall.ENOTEMPTY
		default:
			delete(dir.entries, base)
			dir.mtime = time.Now()
			return nil
		}
	}
	if all && err == fs.ErrNotExist {
		return nil
	}
	return &fs.PathError{Op: "remove", Path: name, Err: err}
}

// Rename moves a file or directory; a file of the new name is replaced, a
// directory only when it is empty.
func (m *Mem) Rename(oldname, newname string) error {
	if err := m.note(OpRename, oldname); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.renameLocked(oldname, newname); err != nil {
		return &os.LinkError{Op: "rename", Old: oldname, New: newname, Err: err}
	}
	return nil
}

func (m *Mem) renameLocked(oldname, newname string) error {
	from, oldbase, err := m.parentLocked(oldname)
	if err != nil {
		return err
	}
	n, ok := from.entries[oldbase]
	if !ok {
		return fs.ErrNotExist
	}
	to, newbase, err := m.parentLocked(newname)
	if err != nil {
		return err
	}
	if old, ok := to.entries[newbase]; ok && old != n {
		switch {
		case n.entries == nil && old.entries != nil:
			return syscall.EISDIR
		case n.entries != nil && old.entries == nil:
			return syscall.ENOTDIR
		case len(old.entries) > 0:
			return syscall.ENOTEMPTY
		}
	}
	delete(from.entries, oldbase)
	to.entries[newbase] = n
	from.mtime = time.Now()
	to.mtime = from.mtime
	return nil
}

// MkdirAll makes a directory and those above it in one operation.
func (m *Mem) MkdirAll(name string, perm fs.FileMode) error {
	if err := m.note(OpMkdir, name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.root
	for _, part := range splitPath(name) {
		child, ok := n.entries[part]
		if !ok {
			child = newDir(perm)
			n.entries[part] = child
		}
		if child.entries == nil {
			return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.ENOTDIR}
		}
		n = child
	}
	return nil
}

// ReadDir lists a directory, sorted by name.
func (m *Mem) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.findLocked(splitPath(name))
	if err == nil && n.entries == nil {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
	}
	list := make([]fs.DirEntry, 0, len(n.entries))
	for base, child := range n.entries {
		list = append(list, fs.FileInfoToDirEntry(child.info(base)))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// Stat describes a file or directory.
func (m *Mem) Stat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.findLocked(splitPath(name))
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return n.info(filepath.Base(name)), nil
}

// SetModTime sets a file's modification time.
func (m *Mem) SetModTime(name string, t time.Time) error {
	if err := m.note(OpSetModTime, name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.findLocked(splitPath(name))
	if err != nil {
		return &fs.PathError{Op: "modtime", Path: name, Err: err}
	}
	n.mtime = t
	return nil
}

// SyncDir makes a directory's present entries survive KeepSynced.
func (m *Mem) SyncDir(name string) error {
	if err := m.note(OpSyncDir, name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.findLocked(splitPath(name))
	if err == nil && n.entries == nil {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return &fs.PathError{Op: "syncdir", Path: name, Err: err}
	}
	clear(n.syncedEntries)
	for base, child := range n.entries {
		n.syncedEntries[base] = child
	}
	return nil
}

// Lock takes a lock that holds against other callers of this file system.
func (m *Mem) Lock(name string) (io.Closer, error) {
	if err := m.note(OpLock, name); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.openLocked(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err == nil && m.locked[n] {
		err = ErrLocked
	}
	if err != nil {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	m.locked[n] = true
	return &memLock{fs: m, node: n}, nil
}

type memLock struct {
	fs   *Mem
	node *node
	once sync.Once
}

// Close releases the lock. Later calls do nothing.
func (l *memLock) Close() error {
	l.once.Do(func() {
		l.fs.mu.Lock()
		defer l.fs.mu.Unlock()
		delete(l.fs.locked, l.node)
	})
	return nil
}
