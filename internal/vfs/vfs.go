// Package vfs is the only door to the file system. [OS] is the real one; [Mem]
// keeps everything in memory, counts operations and can be cloned as a crash at
// any of them would leave it; [Faulty] makes chosen operations fail.
//
// Paths are passed to the operating system as they are; Mem treats them with
// [path/filepath.Clean]. All writes go to explicit positions, so that there is
// no shared file offset to guard.
package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ErrLocked says that somebody else holds the lock that FS.Lock was asked for.
var ErrLocked = errors.New("locked by another process")

// File is an open file. Its methods may be called from several goroutines at
// once, as far as the ranges that they write do not overlap.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer

	// Name returns the name that the file was opened with.
	Name() string
	// Truncate sets the size in bytes; growing adds zero bytes without taking
	// disk space where the file system allows that.
	Truncate(size int64) error
	// Sync makes content and size survive a power loss. Whether the name
	// survives is a matter of FS.SyncDir.
	Sync() error
	// Stat describes the file.
	Stat() (fs.FileInfo, error)
	// Fd returns the descriptor for calls such as sendfile. ok is false when
	// there is none (Mem).
	Fd() (fd uintptr, ok bool)
}

// FS is a file system. Errors of missing and existing files satisfy
// errors.Is(err, fs.ErrNotExist) and fs.ErrExist as those of package os do.
type FS interface {
	// OpenFile opens a file with the flags of package os (O_RDONLY, O_RDWR,
	// O_CREATE, O_EXCL, O_TRUNC; never O_APPEND, which forbids WriteAt).
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// RemoveAll removes name and what is below it; a missing name is no error.
	RemoveAll(name string) error
	// Rename moves a file or a directory, replacing a file of the new name.
	Rename(oldname, newname string) error
	// MkdirAll makes a directory and the missing ones above it.
	MkdirAll(name string, perm fs.FileMode) error
	// ReadDir lists a directory, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	// Stat describes a file or directory.
	Stat(name string) (fs.FileInfo, error)
	// SetModTime sets a file's modification time.
	SetModTime(name string, t time.Time) error
	// SyncDir makes the entries of a directory (creations, renames, removals)
	// survive a power loss.
	SyncDir(name string) error
	// Lock creates the file if it is missing and takes the exclusive advisory
	// lock that Java's FileChannel.tryLock takes (fcntl F_SETLK on the whole
	// file). It never waits: ErrLocked when somebody else, or this process
	// itself, holds it. Close gives the lock back and leaves the file.
	Lock(name string) (io.Closer, error)
}

// LockWatcher is a file system that can tell who holds a lock. Mem has none: nobody else can.
type LockWatcher interface {
	// Holder is the id of the process that holds the lock of a file, 0 when there is none.
	Holder(name string) (pid int, err error)
}

// Truncater is a file system that sets the size of a file without opening it.
type Truncater interface {
	// Truncate does as File.Truncate. The file has to be there.
	Truncate(name string, size int64) error
}

// Truncate sets the size of a file that is there, in one call where the file
// system has one.
func Truncate(fsys FS, name string, size int64) error {
	if t, ok := fsys.(Truncater); ok {
		return t.Truncate(name, size)
	}
	file, err := fsys.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Truncate(size), file.Close())
}

// DirMaker is a file system that makes one directory.
type DirMaker interface {
	// Mkdir makes a directory in one that is there; fs.ErrExist when there is
	// something of the name already.
	Mkdir(name string, perm fs.FileMode) error
}

// Mkdir makes a directory that is not there yet, else it is fs.ErrExist: in one
// call where the file system has one. The one above may be missing where it has none.
func Mkdir(fsys FS, name string, perm fs.FileMode) error {
	if m, ok := fsys.(DirMaker); ok {
		return m.Mkdir(name, perm)
	}
	_, err := fsys.Stat(name)
	if err == nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fsys.MkdirAll(name, perm)
}

// ReadFile reads a whole file.
func ReadFile(fsys FS, name string) ([]byte, error) {
	f, err := fsys.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := sizeOf(f)
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	n, err := f.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data[:n], nil
}

func sizeOf(f File) (int64, error) {
	if f, ok := f.(*osFile); ok {
		return f.size()
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// WriteFileAtomic replaces a file so that after a crash either the old or the
// new content is there, whole: it writes name+".tmp", syncs it, renames it over
// name and syncs the directory. A left-over .tmp file is overwritten.
func WriteFileAtomic(fsys FS, name string, data []byte, perm fs.FileMode) error {
	if err := ReplaceFile(fsys, name, data, perm); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(name))
}

// ReplaceFile replaces a file as WriteFileAtomic does but does not wait until
// the new name is on disk: after a power loss either the old or the new content
// is there, whole.
func ReplaceFile(fsys FS, name string, data []byte, perm fs.FileMode) error {
	tmp := name + ".tmp"
	if err := writeSynced(fsys, tmp, data, perm); err != nil {
		return fmt.Errorf("write %s: %w", tmp, err)
	}
	return fsys.Rename(tmp, name)
}

// WriteFileWhole replaces a file as ReplaceFile does, for the end of the process alone: after a power loss the file may be
// there without its content.
func WriteFileWhole(fsys FS, name string, data []byte, perm fs.FileMode) error {
	tmp := name + ".tmp"
	f, err := fsys.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(data, 0)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", tmp, err)
	}
	return fsys.Rename(tmp, name)
}

func writeSynced(fsys FS, name string, data []byte, perm fs.FileMode) error {
	f, err := fsys.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}
