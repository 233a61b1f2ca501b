package logstore

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"minibroker/internal/vfs"
)

// survey is what a load looks at first in a partition's directory. Nothing is
// changed by it, and no setting is needed.
type survey struct {
	files fileList
	id    PartitionMetadata
	idErr error // of reading partition.metadata
}

// surveyDir looks at a directory. fs.ErrNotExist when there is none.
func surveyDir(fsys vfs.FS, dir string) (*survey, error) {
	d, err := vfs.OpenDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	defer d.Close() // only read from
	s := new(survey)
	if s.files, err = listDir(d); err != nil {
		return nil, err
	}
	if err := s.files.sizeOnly(); err != nil {
		return nil, err
	}
	s.id, s.idErr = s.readID(fsys, d, dir)
	return s, nil
}

// readID reads partition.metadata.
func (s *survey) readID(fsys vfs.FS, d vfs.Dir, dir string) (PartitionMetadata, error) {
	if s.files.has(partitionMetadataName) {
		buf := make([]byte, 64) // a proper one has 43 bytes
		n, err := d.ReadStart(partitionMetadataName, buf)
		if err == nil && n > 0 && n < len(buf) {
			if id, err := parsePartitionMetadata("", buf[:n]); err == nil {
				return id, nil
			}
		}
	}
	return readPartitionMetadata(fsys, dir) // which says what is wrong
}

// listDir is the regular files of a directory.
func listDir(d vfs.Dir) (fileList, error) {
	entries, err := d.List()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(entries, fs.DirEntry.IsDir), nil
}

// sizeOnly learns the size of the .log where there is one alone, as in most of
// many partitions.
func (f fileList) sizeOnly() error {
	only := -1
	for i, e := range f {
		if !strings.HasSuffix(e.Name(), logSuffix) {
			continue
		}
		if only >= 0 {
			return nil
		}
		only = i
	}
	if only < 0 {
		return nil
	}
	size, err := vfs.SizeOf(f[only])
	if errors.Is(err, fs.ErrNotExist) {
		return nil // who wants the size is told
	}
	f[only] = &sizedFile{f[only], size}
	return err
}
