package logstore

import (
	"io/fs"
	"slices"
	"strings"

	"minibroker/internal/vfs"
)

// fileList is the regular files of a directory, by name.
type fileList []listedFile

type listedFile struct {
	fs.DirEntry
	bytes int64 // -1 when nobody has asked yet
}

func (d *loader) list() (fileList, error) {
	dir, err := vfs.OpenDir(d.log.env.fsys, d.o.Dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close() // only read from
	return listDir(dir)
}

func (f fileList) find(name string) (e listedFile, found bool) {
	at, found := slices.BinarySearchFunc(f, name, func(e listedFile, name string) int { return strings.Compare(e.Name(), name) })
	if !found {
		return e, false
	}
	return f[at], true
}

func (f fileList) has(name string) bool {
	_, ok := f.find(name)
	return ok
}

// size is the bytes of a file; fs.ErrNotExist when it is not listed.
func (f fileList) size(name string) (int64, error) {
	e, ok := f.find(name)
	if !ok {
		return 0, fs.ErrNotExist
	}
	if e.bytes >= 0 {
		return e.bytes, nil
	}
	return vfs.SizeOf(e.DirEntry)
}

// unfinished reports whether there are files that a running replacement or
// removal of segments leaves.
func (f fileList) unfinished() bool {
	return slices.ContainsFunc(f, func(e listedFile) bool {
		name := e.Name()
		return strings.HasSuffix(name, deletedSuffix) || strings.HasSuffix(name, cleanedSuffix) || strings.HasSuffix(name, swapSuffix)
	})
}

// blank reports whether the only segment is one at offset 0 without a byte.
func (f fileList) blank() (bool, error) {
	first := segmentFileName(0, logSuffix)
	for _, e := range f {
		if strings.HasSuffix(e.Name(), logSuffix) && e.Name() != first {
			return false, nil
		}
	}
	if !f.has(first) || f.unfinished() {
		return false, nil
	}
	size, err := f.size(first)
	return size == 0, err
}

func (f fileList) names() []string {
	names := make([]string, len(f))
	for i, e := range f {
		names[i] = e.Name()
	}
	return names
}
