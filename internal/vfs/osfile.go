package vfs

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// osFile is a file of the operating system. It does what os.File does, without asking the kernel what kind of file it is and
// whether it can be polled: a start opens tens of thousands of them.
//
// Close while operations run lets them finish, and the last one closes the descriptor: its number may belong to another file
// as soon as it is closed. Later operations find fs.ErrClosed.
type osFile struct {
	name string
	fd   int
	uses atomic.Int64 // operations that run; closedFile is added by Close
}

const (
	closedFile = 1 << 62
	// mostBytes is what one read or write asks for at most: Linux transfers no more than 2 GiB less a page.
	mostBytes = 1 << 30
)

// openFile opens a file or a directory.
func openFile(name string, flag int, perm fs.FileMode) (*osFile, error) {
	var fd int
	err := again(func() (err error) {
		fd, err = unix.Open(name, flag|unix.O_CLOEXEC, uint32(perm.Perm()))
		return err
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &osFile{name: name, fd: fd}, nil
}

// again repeats a system call that a signal has interrupted.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// begin keeps the descriptor open until end; false when the file is closed.
func (f *osFile) begin() bool {
	for {
		uses := f.uses.Load()
		if uses >= closedFile {
			return false
		}
		if f.uses.CompareAndSwap(uses, uses+1) {
			return true
		}
	}
}

func (f *osFile) end() {
	if f.uses.Add(-1) == closedFile {
		_ = unix.Close(f.fd) // Close has answered; nothing is buffered
	}
}

// Close closes the file. A second Close is fs.ErrClosed.
func (f *osFile) Close() error {
	for {
		uses := f.uses.Load()
		if uses >= closedFile {
			return f.fail("close", fs.ErrClosed)
		}
		if f.uses.CompareAndSwap(uses, uses+closedFile) {
			if uses > 0 {
				return nil // who uses it closes it
			}
			return f.fail("close", unix.Close(f.fd)) // not again after EINTR: the descriptor is gone
		}
	}
}

func (f *osFile) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

// use runs one operation.
func (f *osFile) use(op string, call func() error) error {
	if !f.begin() {
		return f.fail(op, fs.ErrClosed)
	}
	defer f.end()
	return f.fail(op, again(call))
}

// Name is the name that the file was opened with.
func (f *osFile) Name() string { return f.name }

// Fd is the descriptor.
func (f *osFile) Fd() (uintptr, bool) { return uintptr(f.fd), true }

// ReadAt reads until p is full or the file ends.
func (f *osFile) ReadAt(p []byte, off int64) (n int, err error) {
	if !f.begin() {
		return 0, f.fail("read", fs.ErrClosed)
	}
	defer f.end()
	for n < len(p) {
		m, err := unix.Pread(f.fd, p[n:min(len(p), n+mostBytes)], off+int64(n))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return n, f.fail("read", err)
		case m == 0:
			return n, io.EOF
		}
		n += m
	}
	return n, nil
}

// WriteAt writes all of p.
func (f *osFile) WriteAt(p []byte, off int64) (n int, err error) {
	if !f.begin() {
		return 0, f.fail("write", fs.ErrClosed)
	}
	defer f.end()
	for n < len(p) {
		m, err := unix.Pwrite(f.fd, p[n:min(len(p), n+mostBytes)], off+int64(n))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return n, f.fail("write", err)
		case m == 0:
			return n, f.fail("write", io.ErrUnexpectedEOF)
		}
		n += m
	}
	return n, nil
}

// Truncate sets the size.
func (f *osFile) Truncate(size int64) error {
	return f.use("truncate", func() error { return unix.Ftruncate(f.fd, size) })
}

// Sync makes content and size survive a power loss.
func (f *osFile) Sync() error {
	return f.use("sync", func() error { return syncDescriptor(f.fd) })
}

// Stat describes the file.
func (f *osFile) Stat() (fs.FileInfo, error) {
	info := &osInfo{name: filepath.Base(f.name)}
	var st unix.Stat_t
	if err := f.use("stat", func() error { return unix.Fstat(f.fd, &st) }); err != nil {
		return nil, err
	}
	info.fill(&st)
	return info, nil
}

func (f *osFile) size() (int64, error) {
	var st unix.Stat_t
	err := f.use("stat", func() error { return unix.Fstat(f.fd, &st) })
	return st.Size, err
}

// osInfo describes a file or a directory; nothing else is met in a data directory.
type osInfo struct {
	name     string
	size     int64
	mode     fs.FileMode
	modified time.Time
}

func (i *osInfo) fill(st *unix.Stat_t) {
	i.size, i.mode, i.modified = st.Size, fs.FileMode(st.Mode)&fs.ModePerm, time.Unix(st.Mtim.Unix())
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		i.mode |= fs.ModeDir
	case unix.S_IFLNK:
		i.mode |= fs.ModeSymlink
	default:
		i.mode |= fs.ModeIrregular
	}
}

// Name is the last element of the path.
func (i *osInfo) Name() string { return i.name }

// Size is the number of bytes.
func (i *osInfo) Size() int64 { return i.size }

// Mode tells permissions, and whether it is a directory.
func (i *osInfo) Mode() fs.FileMode { return i.mode }

// ModTime is when the content changed last.
func (i *osInfo) ModTime() time.Time { return i.modified }

// IsDir reports whether it is a directory.
func (i *osInfo) IsDir() bool { return i.mode.IsDir() }

// Sys is nil.
func (i *osInfo) Sys() any { return nil }

// infoOf asks for a file or directory by name; follow says whether a symbolic link stands for what it leads to.
func infoOf(op, name string, follow bool) (fs.FileInfo, error) {
	call := unix.Lstat
	if follow {
		call = unix.Stat
	}
	var st unix.Stat_t
	if err := again(func() error { return call(name, &st) }); err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	info := &osInfo{name: filepath.Base(name)}
	info.fill(&st)
	return info, nil
}

// syncDir makes the entries of a directory survive a power loss.
func syncDir(name string) error {
	d, err := openFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	err = d.Sync()
	if closeErr := d.Close(); err == nil {
		err = closeErr
	}
	return err
}
