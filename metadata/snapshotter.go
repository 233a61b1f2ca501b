package metadata

import (
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// snapshotter decides when a snapshot is due and writes it in the background.
type snapshotter struct {
	working sync.WaitGroup
	writing sync.Mutex // one snapshot at a time

	mu      sync.Mutex
	busy    bool
	bytes   int64 // of the log since the last snapshot
	sinceMs int64 // timestamp of the first record since then; 0 none
}

// grew notes bytes that were appended, or replayed, with their time in ms.
func (s *snapshotter) grew(bytes int, atMs int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes += int64(bytes)
	if s.sinceMs == 0 {
		s.sinceMs = atMs
	}
}

// claim reports whether a snapshot is due, and if so counts from now on.
func (s *snapshotter) claim(o *Options, nowMs int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := s.bytes >= o.SnapshotBytes || s.sinceMs != 0 && nowMs-s.sinceMs >= o.SnapshotIntervalMs
	if s.busy || !due {
		return false
	}
	s.busy, s.bytes, s.sinceMs = true, 0, 0
	return true
}

func (s *snapshotter) finished() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
}

// maybeSnapshot writes a snapshot of image in the background if one is due. It
// is asked after each change only: an idle node does no work.
func (s *Store) maybeSnapshot(image *Image) {
	if !s.snapshots.claim(&s.o, time.Now().UnixMilli()) {
		return
	}
	s.snapshots.working.Go(func() {
		defer s.snapshots.finished()
		if err := s.snapshot(image); err != nil {
			s.o.Logger.Error("Metadata snapshot: "+err.Error(), "logger", "org.apache.kafka.image.publisher.SnapshotGenerator")
		}
	})
}

// snapshot writes a snapshot of image and then removes what is no longer kept.
func (s *Store) snapshot(image *Image) error {
	s.snapshots.writing.Lock()
	defer s.snapshots.writing.Unlock()
	id := SnapshotID{End: image.LastOffset + 1, Epoch: image.lastEpoch}
	data, err := encodeSnapshot(id, image.controlRecords(), image.stateRecords(), image.level(), image.lastTimestamp, time.Now().UnixMilli())
	if err != nil {
		return err
	}
	if err := writeSnapshot(s.o.FS, s.o.Dir, id, data); err != nil {
		return err
	}
	s.o.Logger.Info(fmt.Sprintf("Wrote metadata snapshot %s of %d bytes", id, len(data)), "logger", "org.apache.kafka.image.publisher.SnapshotGenerator")
	return s.clean(time.Now())
}

// clean removes the oldest snapshots, and the log below the next one, as long
// as the directory is larger or the snapshot older than what is kept. The
// newest snapshot stays.
func (s *Store) clean(now time.Time) error {
	ids, err := listSnapshots(s.o.FS, s.o.Dir)
	if err != nil {
		return err
	}
	sizes, total := make([]int64, len(ids)), s.log.Size()
	ages := make([]time.Duration, len(ids))
	for i, id := range ids {
		info, err := s.o.FS.Stat(filepath.Join(s.o.Dir, id.fileName()))
		if err != nil {
			return err
		}
		sizes[i], ages[i] = info.Size(), now.Sub(info.ModTime())
		total += info.Size()
	}
	for i := 0; i+1 < len(ids); i++ {
		large := s.o.RetentionBytes >= 0 && total > s.o.RetentionBytes
		old := s.o.RetentionMs >= 0 && ages[i].Milliseconds() > s.o.RetentionMs
		if !large && !old {
			return nil
		}
		before := s.log.Size()
		if err := s.dropBefore(ids[i+1], now); err != nil {
			return err
		}
		if err := s.o.FS.Remove(filepath.Join(s.o.Dir, ids[i].fileName())); err != nil {
			return err
		}
		total -= sizes[i] + before - s.log.Size()
	}
	return nil
}

// dropBefore moves the log start to the end of a snapshot and removes the
// segments below.
func (s *Store) dropBefore(id SnapshotID, now time.Time) error {
	end := s.log.EndOffset()
	if _, err := s.log.DeleteRecords(min(id.End, end), end); err != nil {
		return err
	}
	_, err := s.log.ApplyRetention(end, now)
	return err
}
