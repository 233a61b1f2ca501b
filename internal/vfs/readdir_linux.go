package vfs

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// osEntry is one entry of a directory. What it does not know it asks for: in the directory while that is open, then by path.
type osEntry struct {
	dir  *osFile
	name string
	mode fs.FileMode // its type
}

// Name is the entry's name.
func (e *osEntry) Name() string { return e.name }

// IsDir reports whether it is a directory.
func (e *osEntry) IsDir() bool { return e.mode.IsDir() }

// Type is the type of the entry, without permissions.
func (e *osEntry) Type() fs.FileMode { return e.mode }

// Info asks the file system. A symbolic link is described itself.
func (e *osEntry) Info() (fs.FileInfo, error) {
	var st unix.Stat_t
	if err := e.stat(&st); err != nil {
		return nil, err
	}
	info := &osInfo{name: e.name}
	info.fill(&st)
	return info, nil
}

func (e *osEntry) size() (int64, error) {
	var st unix.Stat_t
	err := e.stat(&st)
	return st.Size, err
}

func (e *osEntry) stat(st *unix.Stat_t) error {
	path := func() string { return e.dir.name + string(filepath.Separator) + e.name }
	var err error
	if e.dir.begin() {
		defer e.dir.end()
		err = again(func() error { return unix.Fstatat(e.dir.fd, e.name, st, unix.AT_SYMLINK_NOFOLLOW) })
	} else {
		err = again(func() error { return unix.Lstat(path(), st) })
	}
	if err != nil {
		return &fs.PathError{Op: "lstat", Path: path(), Err: err}
	}
	return nil
}

// entryBuffers are for the answers of getdents64: room for a partition's directory at once.
var entryBuffers = sync.OnceValue(func() *sync.Pool {
	return &sync.Pool{New: func() any { return new([8 << 10]byte) }}
})

// readDir lists a directory, sorted by name: four calls for a small one.
func readDir(name string) ([]fs.DirEntry, error) {
	d, err := openFile(name, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close() // only read from
	return d.list()
}

// list lists a directory, once.
func (f *osFile) list() ([]fs.DirEntry, error) {
	buf := entryBuffers().Get().(*[8 << 10]byte)
	defer entryBuffers().Put(buf)
	var list []fs.DirEntry
	for {
		n := 0
		err := f.use("readdir", func() (err error) {
			n, err = unix.Getdents(f.fd, buf[:])
			return err
		})
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			break
		}
		if list, err = appendEntries(list, f, buf[:n]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// readIn reads the beginning of a file in a directory; less than buf can hold is all of it: the system cuts a read of a file
// short at its end only.
func (f *osFile) readIn(name string, buf []byte) (n int, err error) {
	if !f.begin() {
		return 0, f.fail("open", fs.ErrClosed)
	}
	defer f.end()
	fail := func(op string, err error) error {
		return &fs.PathError{Op: op, Path: f.name + string(filepath.Separator) + name, Err: err}
	}
	var fd int
	err = again(func() (err error) {
		fd, err = unix.Openat(f.fd, name, os.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return 0, fail("open", err)
	}
	defer unix.Close(fd) // only read from
	err = again(func() (err error) {
		n, err = unix.Pread(fd, buf, 0)
		return err
	})
	if err != nil {
		return 0, fail("read", err)
	}
	return n, nil
}

// appendEntries takes the entries of one answer of getdents64. Each of them, in the byte order of the machine:
//
//	0   u64  inode
//	8   i64  where the next one is
//	16  u16  length of this entry
//	18  u8   type
//	19  name, zero bytes
func appendEntries(list []fs.DirEntry, dir *osFile, answer []byte) ([]fs.DirEntry, error) {
	count, room := countEntries(answer)
	list = slices.Grow(list, count)
	entries, names := make([]osEntry, 0, count), make([]byte, 0, room)
	for name, kind := range entriesOf(answer) {
		names = append(names, name...)
		entries = append(entries, osEntry{dir: dir, mode: typeOf(kind)})
	}
	text := string(names) // of all, so that it is taken once
	at := 0
	for name, kind := range entriesOf(answer) {
		e := &entries[at]
		e.name, text, at = text[:len(name)], text[len(name):], at+1
		if kind == unix.DT_UNKNOWN { // the file system does not keep types here
			info, err := e.Info()
			if os.IsNotExist(err) {
				continue // removed meanwhile
			}
			if err != nil {
				return nil, err
			}
			e.mode = info.Mode().Type()
		}
		list = append(list, e)
	}
	return list, nil
}

// countEntries is how many entries an answer has, and the bytes of their names.
func countEntries(answer []byte) (count, bytes int) {
	for name := range entriesOf(answer) {
		count, bytes = count+1, bytes+len(name)
	}
	return count, bytes
}

// entriesOf goes through the names and types of an answer, but for the directory itself and the one above.
func entriesOf(answer []byte) iter.Seq2[[]byte, byte] {
	return func(yield func([]byte, byte) bool) {
		for len(answer) >= 19 {
			size := int(binary.NativeEndian.Uint16(answer[16:]))
			if size < 19 || size > len(answer) {
				return
			}
			name, kind := answer[19:size], answer[18]
			answer = answer[size:]
			if end := bytes.IndexByte(name, 0); end >= 0 {
				name = name[:end]
			}
			if string(name) != "." && string(name) != ".." && !yield(name, kind) {
				return
			}
		}
	}
}

func typeOf(kind byte) fs.FileMode {
	switch kind {
	case unix.DT_REG, unix.DT_UNKNOWN:
		return 0
	case unix.DT_DIR:
		return fs.ModeDir
	case unix.DT_LNK:
		return fs.ModeSymlink
	}
	return fs.ModeIrregular
}
