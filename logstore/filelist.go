package logstore

import (
	"io/fs"
	"slices"
	"strings"
)

// fileList is the regular files of a directory, by name.
type fileList []fs.DirEntry

func (d *loader) list() (fileList, error) {
	entries, err := d.log.env.fsys.ReadDir(d.o.Dir)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(entries, fs.DirEntry.IsDir), nil
}

func (f fileList) find(name string) (fs.DirEntry, bool) {
	at, found := slices.BinarySearchFunc(f, name, func(e fs.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
	if !found {
		return nil, false
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
	info, err := e.Info()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
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
