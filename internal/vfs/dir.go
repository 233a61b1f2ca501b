package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is a directory that is held open, so that what is in it need not be found by its whole path. It is for one goroutine.
type Dir interface {
	// List lists the directory, sorted by name. It is called once. What the entries are asked for is found sooner before Close
	// than after it.
	List() ([]fs.DirEntry, error)
	// ReadStart reads the beginning of a file into buf; if that is not filled, it was the whole.
	ReadStart(name string, buf []byte) (n int, err error)
	io.Closer
}

// DirOpener is a file system that can hold a directory open.
type DirOpener interface {
	// OpenDir opens a directory.
	OpenDir(name string) (Dir, error)
}

// OpenDir opens a directory. Where the file system cannot hold one open, everything is found by its path, and that a
// directory is missing is told by List.
func OpenDir(fsys FS, name string) (Dir, error) {
	if o, ok := fsys.(DirOpener); ok {
		return o.OpenDir(name)
	}
	return &namedDir{fsys, name}, nil
}

// namedDir is a directory that is not held open.
type namedDir struct {
	fsys FS
	name string
}

func (d *namedDir) List() ([]fs.DirEntry, error) { return d.fsys.ReadDir(d.name) }

func (d *namedDir) ReadStart(name string, buf []byte) (n int, err error) {
	f, err := d.fsys.OpenFile(filepath.Join(d.name, name), os.O_RDONLY, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err = f.ReadAt(buf, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (d *namedDir) Close() error { return nil }

// SizeOf is the size of the file that an entry of a directory names.
func SizeOf(e fs.DirEntry) (int64, error) {
	if e, ok := e.(interface{ size() (int64, error) }); ok {
		return e.size()
	}
	info, err := e.Info()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
