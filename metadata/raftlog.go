package metadata

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/record"
)

// metadataTopicID is the id of the metadata log's topic on every cluster.
func metadataTopicID() logstore.UUID { return logstore.UUID{15: 1} }

// raftLog is the metadata log's segments.
type raftLog struct {
	*logstore.Log
}

// openRaftLog opens or creates the segments in dir. All batches are checked;
// the log is cut at the first bad one, as Kafka does at each start.
func openRaftLog(fsys vfs.FS, dir string, segmentBytes int, segmentMs int64, logger *slog.Logger) (raftLog, error) {
	cfg := logstore.DefaultConfig()
	cfg.SegmentBytes, cfg.SegmentMs = segmentBytes, segmentMs
	cfg.RetentionMs, cfg.RetentionBytes = -1, -1 // segments go when snapshots cover them
	l, err := logstore.OpenLog(logstore.LogOptions{FS: fsys, Logger: logger, Dir: dir, Config: cfg, KeepIndexes: true, TopicID: metadataTopicID()})
	return raftLog{l}, err
}

// resetLog replaces all segments by an empty one that begins at offset base.
func resetLog(fsys vfs.FS, dir string, base int64) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); isSegmentFile(name) {
			if err := fsys.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	file, err := fsys.OpenFile(filepath.Join(dir, fmt.Sprintf("%020d.log", base)), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	return fsys.SyncDir(dir)
}

// isSegmentFile reports whether a file belongs to a segment.
func isSegmentFile(name string) bool {
	base, suffix, ok := strings.Cut(name, ".")
	if !ok || len(base) != 20 || strings.Trim(base, "0123456789") != "" {
		return false
	}
	switch suffix {
	case "log", "index", "timeindex", "txnindex", "snapshot":
		return true
	}
	return false
}

// Sizes of the reads of a replay. A batch of Kafka's has at most 8 MiB.
const (
	replayChunk   = 1 << 20
	maxReplayRead = 64 << 20
)

// replay calls fn for each batch that holds offsets from on. The batch is good
// until fn returns.
func (l raftLog) replay(from int64, fn func(record.Batch) error) error {
	var buf []byte
	for offset, end := from, l.EndOffset(); offset < end; {
		info, err := l.Read(offset, replayChunk, logstore.ReadOptions{UpperBound: end, MinOneMessage: true})
		if err != nil {
			return err
		}
		if info.Records == nil {
			return fmt.Errorf("%w: no record at offset %d, the log ends at %d", ErrMalformed, offset, end)
		}
		buf, err = readRange(info.Records, buf)
		if err != nil {
			return err
		}
		for rest := buf; len(rest) > 0; {
			var b record.Batch
			if b, rest, err = record.Next(rest); err != nil {
				return fmt.Errorf("batch after offset %d: %w", offset, err)
			}
			if b.LastOffset() < from {
				continue
			}
			if err := fn(b); err != nil {
				return err
			}
			offset = b.NextOffset()
		}
	}
	return nil
}

// readRange reads a whole range into buf, which grows when needed, and
// releases the range.
func readRange(r *logstore.Range, buf []byte) ([]byte, error) {
	defer r.Release()
	size := r.Len()
	if size > maxReplayRead || size > math.MaxInt {
		return nil, fmt.Errorf("%w: batch of %d bytes", ErrMalformed, size)
	}
	if int64(cap(buf)) < size {
		buf = make([]byte, size)
	}
	buf = buf[:size]
	if n, err := r.ReadAt(buf, 0); int64(n) < size {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return buf, nil
}
