package vfs

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// osEntry is one entry of a directory. What it does not know it asks for by name.
type osEntry struct {
	dir  string
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
	return infoOf("lstat", e.dir+string(filepath.Separator)+e.name, false)
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
	buf := entryBuffers().Get().(*[8 << 10]byte)
	defer entryBuffers().Put(buf)
	var list []fs.DirEntry
	for {
		n := 0
		err := again(func() (err error) {
			n, err = unix.Getdents(d.fd, buf[:])
			return err
		})
		if err != nil {
			return nil, &fs.PathError{Op: "readdir", Path: name, Err: err}
		}
		if n <= 0 {
			break
		}
		if list, err = appendEntries(list, name, buf[:n]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// appendEntries takes the entries of one answer of getdents64. Each of them, in the byte order of the machine:
//
//	0   u64  inode
//	8   i64  where the next one is
//	16  u16  length of this entry
//	18  u8   type
//	19  name, zero bytes
func appendEntries(list []fs.DirEntry, dir string, answer []byte) ([]fs.DirEntry, error) {
	for len(answer) >= 19 {
		size := int(binary.NativeEndian.Uint16(answer[16:]))
		if size < 19 || size > len(answer) {
			break
		}
		name, kind := answer[19:size], answer[18]
		answer = answer[size:]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		if string(name) == "." || string(name) == ".." {
			continue
		}
		e := &osEntry{dir: dir, name: string(name)}
		switch kind {
		case unix.DT_REG:
		case unix.DT_DIR:
			e.mode = fs.ModeDir
		case unix.DT_LNK:
			e.mode = fs.ModeSymlink
		case unix.DT_UNKNOWN: // the file system does not keep types here
			info, err := e.Info()
			if os.IsNotExist(err) {
				continue // removed meanwhile
			}
			if err != nil {
				return nil, err
			}
			e.mode = info.Mode().Type()
		default:
			e.mode = fs.ModeIrregular
		}
		list = append(list, e)
	}
	return list, nil
}
