package logstore

import (
	"io/fs"
	"slices"
	"sort"
	"strings"

	"minibroker/internal/vfs"
)

// fileList is the regular files of a directory, by name.
type fileList []fs.DirEntry

// sizedFile is a file whose size is known already.
type sizedFile struct {
	fs.DirEntry
	bytes int64
}

func (d *loader) list() (fileList, error) {
	dir, err := vfs.OpenDir(d.log.env.fsys, d.o.Dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close() // only read from
	return listDir(dir)
}

func (f fileList) find(name string) (e fs.DirEntry, found bool) {
	at, found := slices.BinarySearchFunc(f, name, func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
	if !found {
		return nil, false
	}
	return f[at], true
}

// hasOf is has for a file of the segment at base, without making its name.
func (f fileList) hasOf(base int64, suffix string) bool {
	if base < 0 {
		return f.has(segmentFileName(base, suffix))
	}
	var room [64]byte
	name := appendSegmentFileName(room[:0], base, suffix)
	at := sort.Search(len(f), func(i int) bool { return f[i].Name() >= string(name) })
	return at < len(f) && f[at].Name() == string(name)
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
	if sized, ok := e.(*sizedFile); ok {
		return sized.bytes, nil
	}
	return vfs.SizeOf(e)
}

// unfinished reports whether there are files that a running replacement or
// removal of segments leaves.
func (f fileList) unfinished() bool {
	return slices.ContainsFunc(f, func(e fs.DirEntry) bool {
		name := e.Name()
		return strings.HasSuffix(name, deletedSuffix) || strings.HasSuffix(name, cleanedSuffix) || strings.HasSuffix(name, swapSuffix)
	})
}

// blank reports whether the only segment is one at offset 0 without a byte.
func (f fileList) blank() (bool, error) {
	const first = "00000000000000000000" + logSuffix
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
