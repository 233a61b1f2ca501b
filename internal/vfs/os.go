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

type osFile struct{ *os.File }

func (f osFile) Fd() (uintptr, bool) { return f.File.Fd(), true }

// OpenFile makes one system call. Package os would also ask whether the file can be polled, which files never can: four
// calls more for each of the ten thousand files that a start with many partitions opens.
func (osFS) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	for {
		fd, err := unix.Open(name, flag|unix.O_CLOEXEC, uint32(perm.Perm()))
		switch {
		case err == nil:
			return osFile{os.NewFile(uintptr(fd), name)}, nil
		case err != unix.EINTR:
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
}

func (osFS) Remove(name string) error                     { return os.Remove(name) }
func (osFS) RemoveAll(name string) error                  { return os.RemoveAll(name) }
func (osFS) Rename(oldname, newname string) error         { return os.Rename(oldname, newname) }
func (osFS) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error)   { return os.ReadDir(name) }
func (osFS) Stat(name string) (fs.FileInfo, error)        { return os.Stat(name) }

func (osFS) SetModTime(name string, t time.Time) error { return os.Chtimes(name, time.Time{}, t) }

func (osFS) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

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
