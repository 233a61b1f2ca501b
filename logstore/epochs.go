package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"

	"minibroker/internal/vfs"
)

// epochStart is the first offset written under a leader epoch.
type epochStart struct {
	epoch int32
	start int64
}

// LeaderEpochs remembers where each leader epoch of a partition began. Epochs
// and starts both ascend. The leader-epoch-checkpoint file is a checkpoint
// file with lines "epoch start", empty until the first epoch is assigned; it is
// replaced as a whole, and durable, before a change becomes visible.
//
// Two changes may reach the file later, with settle. Epochs cut off by a load
// are cut off again by the next. An epoch that begins at the end of the log has
// no record below the recovery point until a flush, which settles first; what
// a crash takes before that, recovery reads from the batches again, and an epoch
// without a batch gives way to the next one anyway.
//
// Readers wait for nobody.
type LeaderEpochs struct {
	fsys vfs.FS
	path string

	mu      sync.Mutex // one change at a time
	behind  bool       // the file does not have the entries yet
	missing bool       // there is no file yet
	unread  bool       // there is a file, and nobody has looked at it
	entries atomic.Pointer[[]epochStart]
}

// newLeaderEpochs is for a new directory. The file comes with the first epoch:
// an empty one would be replaced at once.
func newLeaderEpochs(fsys vfs.FS, dir string) *LeaderEpochs {
	e := &LeaderEpochs{fsys: fsys, path: dir + string(filepath.Separator) + leaderEpochCheckpointName, behind: true, missing: true}
	e.entries.Store(new([]epochStart))
	return e
}

// unreadLeaderEpochs is for a directory whose file tells of no epoch that counts.
func unreadLeaderEpochs(fsys vfs.FS, dir string) *LeaderEpochs {
	e := newLeaderEpochs(fsys, dir)
	e.missing, e.unread = false, true
	return e
}

// openLeaderEpochs reads the file in a partition's directory, creating it
// empty if it is missing. What is wrong in it is told by a *CorruptError.
func openLeaderEpochs(fsys vfs.FS, dir string) (*LeaderEpochs, error) {
	e := &LeaderEpochs{fsys: fsys, path: filepath.Join(dir, leaderEpochCheckpointName)}
	data, err := vfs.ReadFile(fsys, e.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = touch(fsys, e.path)
	}
	if err != nil {
		return nil, err
	}
	entries, err := parseLeaderEpochs(e.path, data)
	if err != nil {
		return nil, err
	}
	e.entries.Store(&entries)
	return e, nil
}

// parseLeaderEpochs reads the text. As in Kafka an entry replaces earlier ones
// that it contradicts.
func parseLeaderEpochs(path string, data []byte) ([]epochStart, error) {
	var entries []epochStart
	err := parseCheckpoint(path, data, 2, func(fields []string) error {
		epoch, err := strconv.ParseInt(fields[0], 10, 32)
		if err != nil {
			return fmt.Errorf("%w: epoch %q", ErrNotANumber, fields[0])
		}
		start, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return fmt.Errorf("%w: start offset %q", ErrNotANumber, fields[1])
		}
		if epoch < 0 || start < 0 {
			return fmt.Errorf("%w: epoch %d at offset %d", ErrMalformed, epoch, start)
		}
		entries, _ = assignEpoch(entries, epochStart{int32(epoch), start})
		return nil
	})
	return entries, err
}

func formatLeaderEpochs(entries []epochStart) []byte {
	b := appendCheckpointHead(nil, len(entries))
	for _, e := range entries {
		b = strconv.AppendInt(b, int64(e.epoch), 10)
		b = append(b, ' ')
		b = strconv.AppendInt(b, e.start, 10)
		b = append(b, '\n')
	}
	return b
}

// assignEpoch adds an entry. Entries with the same or a later epoch or start
// go: they were never led by anybody, or nothing was written under them.
func assignEpoch(entries []epochStart, add epochStart) ([]epochStart, bool) {
	n := len(entries)
	if n > 0 && entries[n-1].epoch == add.epoch && add.start >= entries[n-1].start {
		return entries, false
	}
	for n > 0 && (entries[n-1].epoch >= add.epoch || entries[n-1].start >= add.start) {
		n--
	}
	return append(entries[:n:n], add), true
}

func (e *LeaderEpochs) load() []epochStart { return *e.entries.Load() }

// storeLocked makes entries durable and then visible.
func (e *LeaderEpochs) storeLocked(entries []epochStart) error {
	if err := vfs.WriteFileAtomic(e.fsys, e.path, formatLeaderEpochs(entries), 0o644); err != nil {
		return err
	}
	e.behind, e.missing, e.unread = false, false, false
	e.entries.Store(&entries)
	return nil
}

// cutLocked writes entries that lost some at an end. After a power loss the file
// may be the old one, which the next load cuts again.
func (e *LeaderEpochs) cutLocked(entries []epochStart) error {
	if err := vfs.ReplaceFile(e.fsys, e.path, formatLeaderEpochs(entries), 0o644); err != nil {
		return err
	}
	e.entries.Store(&entries)
	return nil
}

// Assign notes that epoch begins at offset start. Nothing happens if the
// latest epoch is the same and began no later.
func (e *LeaderEpochs) Assign(epoch int32, start int64) error {
	if epoch < 0 || start < 0 {
		return fmt.Errorf("%w: leader epoch %d at offset %d", ErrMalformed, epoch, start)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	entries, changed := assignEpoch(e.load(), epochStart{epoch, start})
	if !changed && !e.behind {
		return nil
	}
	if e.missing {
		return e.fillLocked(entries)
	}
	return e.storeLocked(entries)
}

// fillLocked writes the file of a new directory, which becomes durable as a
// whole: nothing is in it that could be lost.
func (e *LeaderEpochs) fillLocked(entries []epochStart) error {
	if err := writeNew(e.fsys, e.path, formatLeaderEpochs(entries), 0); err != nil {
		return err
	}
	e.behind, e.missing = false, false
	e.entries.Store(&entries)
	return nil
}

// sync makes the file durable as it is; there may be none.
func (e *LeaderEpochs) sync() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return syncFile(e.fsys, e.path)
}

// begin notes an epoch that starts at the end of the log, as Assign does, and
// leaves the file to settle.
func (e *LeaderEpochs) begin(epoch int32, start int64) error {
	if epoch < 0 || start < 0 {
		return fmt.Errorf("%w: leader epoch %d at offset %d", ErrMalformed, epoch, start)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if entries, changed := assignEpoch(e.load(), epochStart{epoch, start}); changed {
		e.entries.Store(&entries)
		e.behind = true
	}
	return nil
}

// Latest is the newest epoch, false when there is none.
func (e *LeaderEpochs) Latest() (int32, bool) {
	entries := e.load()
	if len(entries) == 0 {
		return -1, false
	}
	return entries[len(entries)-1].epoch, true
}

// EndOffsetFor answers where records of an epoch end: the greatest known epoch
// not above it and the start of the next one, or logEnd for the latest.
// (-1, -1) for an epoch above all known.
func (e *LeaderEpochs) EndOffsetFor(epoch int32, logEnd int64) (int32, int64) {
	entries := e.load()
	n := len(entries)
	if epoch < 0 || n == 0 || epoch > entries[n-1].epoch {
		return -1, -1
	}
	if epoch == entries[n-1].epoch {
		return epoch, logEnd
	}
	next := sort.Search(n, func(i int) bool { return entries[i].epoch > epoch })
	if next == 0 {
		return epoch, entries[0].start
	}
	return entries[next-1].epoch, entries[next].start
}

// EpochAt is the epoch that the record at offset was written under, false when
// the offset lies below all known.
func (e *LeaderEpochs) EpochAt(offset int64) (int32, bool) {
	entries := e.load()
	next := sort.Search(len(entries), func(i int) bool { return entries[i].start > offset })
	if next == 0 {
		return -1, false
	}
	return entries[next-1].epoch, true
}

// truncateFromEnd forgets the epochs that begin at or above end, as a load does
// with those under which nothing was written. The file follows with the next
// Assign or with settle.
func (e *LeaderEpochs) truncateFromEnd(end int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	entries := e.load()
	n := sort.Search(len(entries), func(i int) bool { return entries[i].start >= end })
	if n == len(entries) {
		return
	}
	kept := slices.Clone(entries[:n])
	e.entries.Store(&kept)
	e.behind = true
}

// settle brings a file that is behind up to date; it is durable then.
func (e *LeaderEpochs) settle() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.behind {
		return nil
	}
	if e.missing && len(e.load()) == 0 {
		return touch(e.fsys, e.path)
	}
	if e.unread && len(e.load()) == 0 {
		info, err := e.fsys.Stat(e.path)
		if err == nil && info.Size() == 0 {
			e.behind, e.unread = false, false // it is as right as one that tells of none
			return nil
		}
	}
	return e.storeLocked(e.load())
}

// truncateFromStart removes the epochs that begin at or below start, except
// the last of them, which then begins there.
func (e *LeaderEpochs) truncateFromStart(start int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	entries := e.load()
	n := sort.Search(len(entries), func(i int) bool { return entries[i].start > start })
	if n == 0 || (n == 1 && entries[0].start == start) {
		return nil
	}
	kept := slices.Clone(entries[n-1:])
	kept[0].start = start
	return e.cutLocked(kept)
}

// replace puts other epochs in the place of all; the file is durable.
func (e *LeaderEpochs) replace(entries []epochStart) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.storeLocked(entries)
}

// adopt goes on with the epochs and the file of another.
func (e *LeaderEpochs) adopt(other *LeaderEpochs) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.path, e.behind, e.missing, e.unread = other.path, other.behind, other.missing, other.unread
	e.entries.Store(other.entries.Load())
}

// clear removes all epochs.
func (e *LeaderEpochs) clear() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.storeLocked(nil)
}
