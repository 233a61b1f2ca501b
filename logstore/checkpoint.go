package logstore

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"minibroker/internal/vfs"
)

// A checkpoint file is text:
//
//	0            version
//	N            number of entries
//	...          N lines of fields, separated by white space
//
// Every line ends with \n. A file that was only created is empty and has no
// entries. The files are written as .tmp, synced, and renamed into place.
const checkpointVersion = 0

// parseCheckpoint calls fn with the fields of each entry line. An error names
// file and line. ErrMalformed for a wrong line, a wrong count or no number
// where the head should be, ErrVersion for another version; what fn returns is
// passed on.
func parseCheckpoint(path string, data []byte, fields int, fn func(fields []string) error) error {
	line, n, want := 0, 0, int64(-1)
	fail := func(err error) error { return &CorruptError{File: path, Offset: -1, Line: line, Err: err} }
	for rest := string(data); rest != ""; {
		var text string
		text, rest = cutLine(rest)
		line++
		if line <= 2 {
			v, err := strconv.ParseInt(text, 10, 32)
			switch {
			case err != nil:
				return fail(fmt.Errorf("%w: %.80q", ErrMalformed, text))
			case line == 1 && v != checkpointVersion:
				return fail(fmt.Errorf("%w: %d", ErrVersion, v))
			}
			want = v
			continue
		}
		have := strings.Fields(text)
		if len(have) != fields || strings.TrimLeft(text, " \t\v\f") != text {
			return fail(fmt.Errorf("%w: %.80q has not %d fields", ErrMalformed, text, fields))
		}
		if err := fn(have); err != nil {
			return fail(err)
		}
		n++
	}
	if line >= 2 && want != int64(n) {
		line = 2
		return fail(fmt.Errorf("%w: %d entries announced, %d there", ErrMalformed, want, n))
	}
	return nil
}

// cutLine cuts at \n, \r or \r\n, as Java's readers do.
func cutLine(s string) (line, rest string) {
	i := 0
	for i < len(s) && s[i] != '\n' && s[i] != '\r' {
		i++
	}
	if i == len(s) {
		return s, ""
	}
	line, rest = s[:i], s[i+1:]
	if s[i] == '\r' && strings.HasPrefix(rest, "\n") {
		rest = rest[1:]
	}
	return line, rest
}

func appendCheckpointHead(b []byte, entries int) []byte {
	b = strconv.AppendInt(b, checkpointVersion, 10)
	b = append(b, '\n')
	b = strconv.AppendInt(b, int64(entries), 10)
	return append(b, '\n')
}

// ReadOffsetCheckpoint reads a file of lines "topic partition offset". A
// missing or empty file has no entries. What is wrong in it is told by a
// *CorruptError; one that wraps ErrNotANumber is a line that Kafka forgives, as
// if the whole file were empty.
func ReadOffsetCheckpoint(fsys vfs.FS, path string) (map[TopicPartition]int64, error) {
	data, err := vfs.ReadFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[TopicPartition]int64{}, nil
	}
	if err != nil {
		return nil, err
	}
	return parseOffsetCheckpoint(path, data)
}

func parseOffsetCheckpoint(path string, data []byte) (map[TopicPartition]int64, error) {
	m := make(map[TopicPartition]int64, bytes.Count(data, []byte{'\n'}))
	err := parseCheckpoint(path, data, 3, func(fields []string) error {
		partition, err := strconv.ParseInt(fields[1], 10, 32)
		if err != nil {
			return fmt.Errorf("%w: partition %q", ErrNotANumber, fields[1])
		}
		offset, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return fmt.Errorf("%w: offset %q", ErrNotANumber, fields[2])
		}
		m[TopicPartition{Topic: strings.Clone(fields[0]), Partition: int32(partition)}] = offset
		return nil
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// CheckpointEntry is one line of an offset checkpoint.
type CheckpointEntry struct {
	TopicPartition
	Offset int64
}

// WriteOffsetCheckpoint replaces the file. The lines come in the order that
// Kafka writes the file of this name in, if its partitions came into being in
// the order of topic and partition.
func WriteOffsetCheckpoint(fsys vfs.FS, path string, offsets map[TopicPartition]int64) error {
	return WriteCheckpointEntries(fsys, path, sortedEntries(entriesOf(offsets)))
}

func entriesOf(offsets map[TopicPartition]int64) []CheckpointEntry {
	entries := make([]CheckpointEntry, 0, len(offsets))
	for tp, offset := range offsets {
		entries = append(entries, CheckpointEntry{tp, offset})
	}
	return entries
}

// sortedEntries sorts entries by topic and partition, in place.
func sortedEntries(entries []CheckpointEntry) []CheckpointEntry {
	slices.SortFunc(entries, func(a, b CheckpointEntry) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return entries
}

// WriteCheckpointEntries replaces the file. The lines come in the order that
// Kafka writes the file of this name in, if its partitions came into being in
// the order of entries: it keeps them in hash maps, and the order decides
// between those that share a slot.
func WriteCheckpointEntries(fsys vfs.FS, path string, entries []CheckpointEntry) error {
	order := javaHashOrder
	if filepath.Base(path) == replicationCheckpoint {
		order = scalaHashOrder
	}
	return vfs.WriteFileAtomic(fsys, path, formatOffsetCheckpoint(entries, order(javaHashes(entries))), 0o644)
}

// formatOffsetCheckpoint makes the lines of entries in an order of their places.
func formatOffsetCheckpoint(entries []CheckpointEntry, order []int32) []byte {
	const numbers = len(" 100 1234567890\n") // mostly
	size := 0
	for i := range entries {
		size += len(entries[i].Topic) + numbers
	}
	b := appendCheckpointHead(make([]byte, 0, size), len(entries))
	for _, at := range order {
		e := &entries[at]
		b = append(b, e.Topic...)
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(e.Partition), 10)
		b = append(b, ' ')
		b = strconv.AppendInt(b, e.Offset, 10)
		b = append(b, '\n')
	}
	return b
}
