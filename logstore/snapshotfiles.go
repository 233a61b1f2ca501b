package logstore

import (
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// listSnapshots finds the snapshot files of the directory.
func (p *ProducerState) listSnapshots() error {
	entries, err := p.fsys.ReadDir(p.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	p.noteSnapshots(names)
	return nil
}

// noteSnapshots picks the snapshot files out of the names in the directory.
func (p *ProducerState) noteSnapshots(names []string) {
	p.snapshots = nil
	for _, name := range names {
		p.noteSnapshot(name)
	}
	slices.Sort(p.snapshots)
}

// noteSnapshot adds a file to the list if it is a snapshot.
func (p *ProducerState) noteSnapshot(name string) {
	if !strings.HasSuffix(name, snapshotSuffix) {
		return
	}
	if offset, suffix, ok := parseSegmentFileName(name); ok && suffix == snapshotSuffix {
		p.snapshots = append(p.snapshots, offset)
	}
}

// successor is an empty state over the same files; p is not used any more.
func (p *ProducerState) successor() *ProducerState {
	return &ProducerState{fsys: p.fsys, dir: p.dir, logger: p.logger, expirationMs: p.expirationMs, snapshots: p.snapshots, held: p.held}
}

// largestHeld bounds the snapshots that are held in memory: what is larger is
// worth a file at once.
const largestHeld = 4 << 10

// holdSnapshot does as takeSnapshot without sync, but a small file is written by
// writeHeld.
func (p *ProducerState) holdSnapshot() (taken bool, err error) {
	if p.end <= p.lastTaken {
		return false, nil
	}
	if len(p.producers)*snapshotEntrySize > largestHeld {
		_, _, taken, err = p.takeSnapshot(false)
		return taken, err
	}
	if p.held == nil {
		p.held = make(map[int64][]byte)
	}
	p.held[p.end] = encodeSnapshot(p.ordered())
	p.noteTaken()
	return true, nil
}

// noteTaken lists the snapshot at the map end offset.
func (p *ProducerState) noteTaken() {
	if at, found := slices.BinarySearch(p.snapshots, p.end); !found {
		p.snapshots = slices.Insert(p.snapshots, at, p.end)
	}
	p.lastTaken = p.end
}

// writeHeld writes the files of the snapshots that are held, without waiting
// for the disk.
func (p *ProducerState) writeHeld() error {
	for _, offset := range slices.Sorted(maps.Keys(p.held)) {
		if err := writeSnapshot(p.fsys, p.snapshotPath(offset), p.held[offset], false); err != nil {
			return err
		}
		delete(p.held, offset)
	}
	return nil
}

// readSnapshot reads a snapshot that is held or has a file.
func (p *ProducerState) readSnapshot(offset int64) ([]*producerEntry, error) {
	if b, ok := p.held[offset]; ok {
		return decodeSnapshot(p.snapshotPath(offset), b)
	}
	return readSnapshot(p.fsys, p.snapshotPath(offset))
}

func (p *ProducerState) snapshotPath(offset int64) string {
	return filepath.Join(p.dir, segmentFileName(offset, snapshotSuffix))
}

// latestSnapshot is the offset of the newest snapshot file.
func (p *ProducerState) latestSnapshot() (int64, bool) {
	if len(p.snapshots) == 0 {
		return noOffset, false
	}
	return p.snapshots[len(p.snapshots)-1], true
}

// takeSnapshot writes the state to a file named by the map end offset, unless
// that is not beyond the last snapshot. sync makes it durable at once.
func (p *ProducerState) takeSnapshot(sync bool) (offset int64, count int, written bool, err error) {
	if p.end <= p.lastTaken {
		return p.end, len(p.producers), false, nil
	}
	if err := writeSnapshot(p.fsys, p.snapshotPath(p.end), encodeSnapshot(p.ordered()), sync); err != nil {
		return p.end, len(p.producers), false, err
	}
	delete(p.held, p.end)
	p.noteTaken()
	return p.end, len(p.producers), true, nil
}

// syncSnapshot makes a snapshot durable that was written without; it may run
// beside everything else. os.ErrNotExist when it is gone.
func (p *ProducerState) syncSnapshot(offset int64) error {
	file, err := p.fsys.OpenFile(p.snapshotPath(offset), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// removeSnapshot deletes a snapshot file; a missing one is fine.
func (p *ProducerState) removeSnapshot(offset int64) error {
	p.forgetSnapshot(offset)
	err := p.fsys.Remove(p.snapshotPath(offset))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (p *ProducerState) forgetSnapshot(offset int64) {
	delete(p.held, offset)
	if at, found := slices.BinarySearch(p.snapshots, offset); found {
		p.snapshots = slices.Delete(p.snapshots, at, at+1)
	}
}

// markSnapshotDeleted renames the snapshot at offset so that it can be removed
// later, and returns its new path; "" when there is none.
func (p *ProducerState) markSnapshotDeleted(offset int64) (renamed string, err error) {
	p.forgetSnapshot(offset)
	path := p.snapshotPath(offset)
	err = p.fsys.Rename(path, path+deletedSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return path + deletedSuffix, nil
}

// removeStraySnapshots deletes the snapshots that stand at no segment's base,
// except the newest of them if it is not below the last segment: that one was
// taken at a stop.
func (p *ProducerState) removeStraySnapshots(bases []int64) error {
	last := noOffset
	if len(bases) > 0 {
		last = slices.Max(bases)
	}
	keep := noOffset
	var strays []int64
	for _, offset := range p.snapshots {
		if !slices.Contains(bases, offset) {
			strays = append(strays, offset)
			keep = offset
		}
	}
	for _, offset := range strays {
		if offset == keep && offset >= last {
			continue
		}
		if err := p.removeSnapshot(offset); err != nil {
			return err
		}
	}
	return nil
}

// truncateAndReload brings the state back to the newest snapshot between start
// (exclusive) and end (inclusive); snapshots outside are deleted. Where that
// cannot be read the one before is taken, else the state is empty at start.
// Producers that expired by now are left out. The batches from mapEndOffset on
// have to be applied again.
func (p *ProducerState) truncateAndReload(start, end int64, now time.Time) error {
	for _, offset := range slices.Clone(p.snapshots) {
		if offset <= start || offset > end {
			if err := p.removeSnapshot(offset); err != nil {
				return err
			}
		}
	}
	if end == p.end {
		p.lastTaken = start
		if latest, ok := p.latestSnapshot(); ok {
			p.lastTaken = latest
		}
		return nil
	}
	p.clear()
	for {
		latest, ok := p.latestSnapshot()
		if !ok {
			p.lastTaken, p.end = start, start
			return nil
		}
		entries, err := p.readSnapshot(latest)
		var corrupt *CorruptError
		switch {
		case errors.As(err, &corrupt), errors.Is(err, fs.ErrNotExist):
			p.logger.Warn("producer snapshot left out", slog.Any("error", err))
			if err := p.removeSnapshot(latest); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		p.loadEntries(entries, now)
		p.lastTaken, p.end = latest, latest
		return nil
	}
}

func (p *ProducerState) loadEntries(entries []*producerEntry, now time.Time) {
	for _, e := range entries {
		if p.expired(e, now) {
			continue
		}
		e.fromSnapshot = true
		p.insert(e)
		if e.inTransaction() {
			p.addOpen(e)
		}
	}
}

// truncateFullyAndStartAt forgets all producers and deletes all snapshots.
func (p *ProducerState) truncateFullyAndStartAt(offset int64) error {
	p.clear()
	for _, at := range slices.Clone(p.snapshots) {
		if err := p.removeSnapshot(at); err != nil {
			return err
		}
	}
	p.lastTaken, p.end = 0, offset
	return nil
}
