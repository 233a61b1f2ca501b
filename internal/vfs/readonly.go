package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// ErrReadOnly says that an operation would have changed a file system that must
// stay as it is.
var ErrReadOnly = errors.New("read-only file system")

// ReadOnly shows another file system and refuses, with ErrReadOnly, all that
// would change it.
type ReadOnly struct{ inner FS }

// NewReadOnly wraps inner.
func NewReadOnly(inner FS) *ReadOnly { return &ReadOnly{inner: inner} }

func refuse(op, name string) error { return &fs.PathError{Op: op, Path: name, Err: ErrReadOnly} }

// OpenFile opens a file for reading; every other flag than O_RDONLY is refused.
func (r *ReadOnly) OpenFile(name string, flag int, _ fs.FileMode) (File, error) {
	if flag != os.O_RDONLY {
		return nil, refuse("open", name)
	}
	file, err := r.inner.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return readOnlyFile{file}, nil
}

// Remove is refused.
func (r *ReadOnly) Remove(name string) error { return refuse("remove", name) }

// RemoveAll is refused.
func (r *ReadOnly) RemoveAll(name string) error { return refuse("remove", name) }

// Rename is refused.
func (r *ReadOnly) Rename(oldname, _ string) error { return refuse("rename", oldname) }

// MkdirAll is refused.
func (r *ReadOnly) MkdirAll(name string, _ fs.FileMode) error { return refuse("mkdir", name) }

// ReadDir lists a directory.
func (r *ReadOnly) ReadDir(name string) ([]fs.DirEntry, error) { return r.inner.ReadDir(name) }

// Stat describes a file or directory.
func (r *ReadOnly) Stat(name string) (fs.FileInfo, error) { return r.inner.Stat(name) }

// SetModTime is refused.
func (r *ReadOnly) SetModTime(name string, _ time.Time) error { return refuse("modtime", name) }

// SyncDir is refused.
func (r *ReadOnly) SyncDir(name string) error { return refuse("syncdir", name) }

// Lock is refused: it would create the file.
func (r *ReadOnly) Lock(name string) (io.Closer, error) { return nil, refuse("lock", name) }

type readOnlyFile struct{ File }

func (f readOnlyFile) WriteAt([]byte, int64) (int, error) { return 0, refuse("write", f.Name()) }
func (f readOnlyFile) Truncate(int64) error               { return refuse("truncate", f.Name()) }
func (f readOnlyFile) Sync() error                        { return refuse("sync", f.Name()) }
