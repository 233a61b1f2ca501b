package vfs

import (
	"io"
	"io/fs"
)

// CrashModel says what survives in Mem.CrashClone.
type CrashModel int

// The crash models.
const (
	// KeepAll: the process died, the machine did not: everything written is there.
	KeepAll CrashModel = iota
	// KeepSynced: the power failed: files hold what was last synced, and
	// directories the entries that were last synced.
	KeepSynced
)

// Mem is a file system in memory.
type Mem struct{}

// NewMem returns an empty one.
func NewMem() *Mem { return &Mem{} }

func (m *Mem) OpenFile(name string, flag int, perm fs.FileMode) (File, error) { panic("") }
func (m *Mem) Remove(name string) error                                       { panic("") }
func (m *Mem) RemoveAll(name string) error                                    { panic("") }
func (m *Mem) Rename(oldname, newname string) error                           { panic("") }
func (m *Mem) MkdirAll(name string, perm fs.FileMode) error                   { panic("") }
func (m *Mem) ReadDir(name string) ([]fs.DirEntry, error)                     { panic("") }
func (m *Mem) Stat(name string) (fs.FileInfo, error)                          { panic("") }
func (m *Mem) SyncDir(name string) error                                      { panic("") }
func (m *Mem) Lock(name string) (io.Closer, error)                            { panic("") }

// CrashClone returns what a crash now would leave.
func (m *Mem) CrashClone(model CrashModel) *Mem { panic("") }

// Ops returns the number of operations so far.
func (m *Mem) Ops() int64 { panic("") }

// SetHook sets a function to be called before each operation.
func (m *Mem) SetHook(hook func(Op) error) { panic("") }
