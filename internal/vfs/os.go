package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// OS returns the operating system's files.
func OS() FS { return osFS{locks: processLocks()} }

type osFS struct{ locks *lockTable }

// OpenFile makes one system call.
func (osFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := openFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (osFS) Remove(name string) error                   { return os.Remove(name) }
func (osFS) RemoveAll(name string) error                { return os.RemoveAll(name) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error) { return readDir(name) }
func (osFS) Stat(name string) (fs.FileInfo, error)      { return infoOf("stat", name, true) }

// Rename makes one system call. Package os would look first whether there is a directory of the new name; the kernel replaces
// that only if it is empty, and by a directory.
func (osFS) Rename(oldname, newname string) error {
	if err := again(func() error { return unix.Rename(oldname, newname) }); err != nil {
		return &os.LinkError{Op: "rename", Old: oldname, New: newname, Err: err}
	}
	return nil
}

// Truncate sets the size of a file.
func (osFS) Truncate(name string, size int64) error {
	if err := again(func() error { return unix.Truncate(name, size) }); err != nil {
		return &fs.PathError{Op: "truncate", Path: name, Err: err}
	}
	return nil
}

// MkdirAll makes one system call where the directory above is there, which it mostly is.
func (o osFS) MkdirAll(name string, perm fs.FileMode) error {
	if err := o.Mkdir(name, perm); err == nil {
		return nil
	}
	return os.MkdirAll(name, perm)
}

// Mkdir makes a directory.
func (osFS) Mkdir(name string, perm fs.FileMode) error {
	if err := again(func() error { return unix.Mkdir(name, uint32(perm.Perm())) }); err != nil {
		return &fs.PathError{Op: "mkdir", Path: name, Err: err}
	}
	return nil
}

func (osFS) SetModTime(name string, t time.Time) error { return os.Chtimes(name, time.Time{}, t) }

func (osFS) SyncDir(name string) error { return syncDir(name) }

// lockTable remembers the files that this process has locked: fcntl locks
// belong to the process, so that a second F_SETLK from the same process would
// succeed, and closing any descriptor of the file would drop the lock.
type lockTable struct {
	mu   sync.Mutex
	held map[fileID]bool
}

type fileID struct{ dev, ino uint64 }

// processLocks is the one table of the process. The locks that it mirrors are
// the process's too, so that two file systems made by OS must share it.
var processLocks = sync.OnceValue(func() *lockTable {
	return &lockTable{held: make(map[fileID]bool)}
})

func (o osFS) Lock(name string) (io.Closer, error) {
	o.locks.mu.Lock()
	defer o.locks.mu.Unlock()
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err == nil && o.locks.held[idOf(&st)] {
		// Opening and closing it here would release the lock that is held.
		return nil, &fs.PathError{Op: "lock", Path: name, Err: ErrLocked}
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	whole := unix.Flock_t{Type: unix.F_WRLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_SETLK, &whole); err != nil {
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			err = ErrLocked
		}
		f.Close()
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	o.locks.held[idOf(&st)] = true
	return &osLock{table: o.locks, id: idOf(&st), file: f}, nil
}

// Holder tells which process holds the lock of a file, 0 when none does. It changes nothing. Without the file nobody does.
func (o osFS) Holder(name string) (pid int, err error) {
	o.locks.mu.Lock()
	defer o.locks.mu.Unlock()
	var st unix.Stat_t
	switch err := unix.Stat(name, &st); {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, &fs.PathError{Op: "stat", Path: name, Err: err}
	case o.locks.held[idOf(&st)]: // opening and closing it would release the lock
		return os.Getpid(), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	whole := unix.Flock_t{Type: unix.F_RDLCK, Whence: io.SeekStart}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &whole); err != nil {
		return 0, &fs.PathError{Op: "ask for the lock of", Path: name, Err: err}
	}
	if whole.Type == unix.F_UNLCK {
		return 0, nil
	}
	return int(whole.Pid), nil
}

func idOf(st *unix.Stat_t) fileID { return fileID{dev: uint64(st.Dev), ino: st.Ino} }

// osLock is a lock that is held until Close.
type osLock struct {
	table *lockTable
	id    fileID
	file  *os.File
	once  sync.Once
}

// Close releases the lock. Later calls do nothing.
func (l *osLock) Close() (err error) {
	l.once.Do(func() {
		l.table.mu.Lock()
		defer l.table.mu.Unlock()
		delete(l.table.held, l.id)
		err = l.file.Close() // closing drops the fcntl lock
	})
	return err
}
