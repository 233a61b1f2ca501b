package logstore

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"minibroker/internal/vfs"
)

// PartitionMetadata is the partition.metadata file: which topic a directory
// belongs to, by id. Its text has no newline at the end:
//
//	version: 0
//	topic_id: <22 characters>
type PartitionMetadata struct {
	TopicID UUID
}

// readPartitionMetadata reads the file in a partition's directory;
// fs.ErrNotExist when there is none, or nothing in it.
func readPartitionMetadata(fsys vfs.FS, dir string) (PartitionMetadata, error) {
	path := filepath.Join(dir, partitionMetadataName)
	data, err := vfs.ReadFile(fsys, path)
	if err == nil && len(data) == 0 { // of a power loss soon after the creation
		err = &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	if err != nil {
		return PartitionMetadata{}, err
	}
	return parsePartitionMetadata(path, data)
}

func parsePartitionMetadata(path string, data []byte) (PartitionMetadata, error) {
	fail := func(line int, err error) (PartitionMetadata, error) {
		return PartitionMetadata{}, &CorruptError{File: path, Offset: -1, Line: line, Err: err}
	}
	first, rest := cutLine(string(data))
	version, ok := strings.CutPrefix(first, "version: ")
	if !ok {
		return fail(1, fmt.Errorf("%w: %.80q", ErrMalformed, first))
	}
	if version != "0" {
		return fail(1, fmt.Errorf("%w: %.20q", ErrVersion, version))
	}
	second, _ := cutLine(rest)
	text, ok := strings.CutPrefix(second, "topic_id: ")
	if !ok {
		return fail(2, fmt.Errorf("%w: %.80q", ErrMalformed, second))
	}
	id, err := ParseUUID(text)
	if err != nil {
		return fail(2, err)
	}
	if id.IsZero() {
		return fail(2, fmt.Errorf("%w: the topic id is zero", ErrMalformed))
	}
	return PartitionMetadata{TopicID: id}, nil
}

// writePartitionMetadata replaces the file.
func writePartitionMetadata(fsys vfs.FS, dir string, m PartitionMetadata) error {
	return vfs.WriteFileAtomic(fsys, filepath.Join(dir, partitionMetadataName), formatPartitionMetadata(m), 0o644)
}

func formatPartitionMetadata(m PartitionMetadata) []byte {
	return []byte("version: 0\ntopic_id: " + m.TopicID.String())
}
