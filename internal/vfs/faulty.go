package vfs

import (
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"time"
)

// Kind names a file operation.
type Kind int

// The operations that are counted by Mem and can be made to fail by Faulty.
const (
	OpOpen       Kind = iota // OpenFile of an existing file
	OpCreate                 // OpenFile with O_CREATE
	OpRead                   // ReadAt
	OpWrite                  // WriteAt
	OpTruncate               // Truncate
	OpSync                   // Sync
	OpClose                  // Close of a file
	OpRemove                 // Remove, RemoveAll
	OpRename                 // Rename; the name is the old one
	OpMkdir                  // MkdirAll
	OpReadDir                // ReadDir
	OpStat                   // Stat of the file system or of a file
	OpSyncDir                // SyncDir
	OpLock                   // Lock
	OpSetModTime             // SetModTime
)

var kindNames = [...]string{"open", "create", "read", "write", "truncate", "sync", "close",
	"remove", "rename", "mkdir", "readdir", "stat", "syncdir", "lock", "modtime"}

// String returns the operation's name in lower case.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// Op is one file operation, as shown to the hooks of Faulty and Mem.
type Op struct {
	Kind Kind
	Name string // the file's name; for Rename the old one
	N    int64  // number of the operation in its file system, from 1
}

// Faulty passes everything on to another file system, but asks a function
// first and returns its error instead of doing the operation.
type Faulty struct {
	inner FS
	fault func(Op) error
	n     atomic.Int64
}

// NewFaulty wraps inner. fault is called before each operation, possibly from
// several goroutines at once; nil lets the operation through.
func NewFaulty(inner FS, fault func(Op) error) *Faulty {
	return &Faulty{inner: inner, fault: fault}
}

func (f *Faulty) ask(kind Kind, name string) error {
	op := Op{Kind: kind, Name: name, N: f.n.Add(1)}
	if err := f.fault(op); err != nil {
		return &fs.PathError{Op: kind.String(), Path: name, Err: err}
	}
	return nil
}

// OpenFile asks for OpCreate when flag has O_CREATE, else for OpOpen.
func (f *Faulty) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	kind := OpOpen
	if flag&os.O_CREATE != 0 {
		kind = OpCreate
	}
	if err := f.ask(kind, name); err != nil {
		return nil, err
	}
	file, err := f.inner.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultyFile{File: file, fs: f}, nil
}

// Remove asks for OpRemove.
func (f *Faulty) Remove(name string) error {
	if err := f.ask(OpRemove, name); err != nil {
		return err
	}
	return f.inner.Remove(name)
}

// RemoveAll asks for OpRemove once.
func (f *Faulty) RemoveAll(name string) error {
	if err := f.ask(OpRemove, name); err != nil {
		return err
	}
	return f.inner.RemoveAll(name)
}

// Rename asks for OpRename with the old name.
func (f *Faulty) Rename(oldname, newname string) error {
	if err := f.ask(OpRename, oldname); err != nil {
		return err
	}
	return f.inner.Rename(oldname, newname)
}

// MkdirAll asks for OpMkdir once.
func (f *Faulty) MkdirAll(name string, perm fs.FileMode) error {
	if err := f.ask(OpMkdir, name); err != nil {
		return err
	}
	return f.inner.MkdirAll(name, perm)
}

// ReadDir asks for OpReadDir.
func (f *Faulty) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := f.ask(OpReadDir, name); err != nil {
		return nil, err
	}
	return f.inner.ReadDir(name)
}

// Stat asks for OpStat.
func (f *Faulty) Stat(name string) (fs.FileInfo, error) {
	if err := f.ask(OpStat, name); err != nil {
		return nil, err
	}
	return f.inner.Stat(name)
}

// SetModTime sets a modification time.
func (f *Faulty) SetModTime(name string, t time.Time) error {
	if err := f.ask(OpSetModTime, name); err != nil {
		return err
	}
	return f.inner.SetModTime(name, t)
}

// SyncDir asks for OpSyncDir.
func (f *Faulty) SyncDir(name string) error {
	if err := f.ask(OpSyncDir, name); err != nil {
		return err
	}
	return f.inner.SyncDir(name)
}

// Lock asks for OpLock.
func (f *Faulty) Lock(name string) (io.Closer, error) {
	if err := f.ask(OpLock, name); err != nil {
		return nil, err
	}
	return f.inner.Lock(name)
}

// faultyFile asks before each operation on an open file. A refused Close
// closes the inner file all the same, as the kernel does.
type faultyFile struct {
	File
	fs *Faulty
}

func (f *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.fs.ask(OpRead, f.Name()); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, off)
}

func (f *faultyFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.fs.ask(OpWrite, f.Name()); err != nil {
		return 0, err
	}
	return f.File.WriteAt(p, off)
}

func (f *faultyFile) Truncate(size int64) error {
	if err := f.fs.ask(OpTruncate, f.Name()); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *faultyFile) Sync() error {
	if err := f.fs.ask(OpSync, f.Name()); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultyFile) Stat() (fs.FileInfo, error) {
	if err := f.fs.ask(OpStat, f.Name()); err != nil {
		return nil, err
	}
	return f.File.Stat()
}

func (f *faultyFile) Close() error {
	if err := f.fs.ask(OpClose, f.Name()); err != nil {
		f.File.Close()
		return err
	}
	return f.File.Close()
}
