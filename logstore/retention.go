package logstore

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// ApplyRetention removes the segments that the settings no longer keep and
// returns how many: those below the log start offset; unless the log is only
// compacted, the oldest ones as long as more than retention.bytes remain; then
// those whose largest timestamp is older than retention.ms. Only segments
// wholly below the high watermark go. When all go, an empty one is rolled
// first. Files are renamed at once and removed after file.delete.delay.ms.
func (l *Log) ApplyRetention(highWatermark int64, now time.Time) (deleted int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return 0, err
	}
	cfg := l.config.Load()
	passes := []retentionPass{l.startBreached}
	if cfg.Delete || !cfg.Compact {
		passes = append(passes, l.sizeBreached, l.timeBreached)
	}
	for _, pass := range passes {
		n, err := l.retentionPassLocked(pass(cfg, now), highWatermark, cfg)
		deleted += n
		if err != nil {
			return deleted, l.storage("apply retention", err)
		}
	}
	return deleted, nil
}

// breach decides on one segment after the other, oldest first; next is nil for
// the last one.
type breach struct {
	qualifies func(s, next *segment) (bool, error)
	describe  func([]*segment) string
}

type retentionPass func(cfg *Config, now time.Time) breach

func (l *Log) startBreached(*Config, time.Time) breach {
	start := l.start.Load()
	return breach{
		qualifies: func(_, next *segment) (bool, error) { return next != nil && next.base <= start, nil },
		describe: func(gone []*segment) string {
			return fmt.Sprintf("Deleting segments due to log start offset %d breach: %s", start, describeSegments(gone))
		},
	}
}

func (l *Log) sizeBreached(cfg *Config, _ time.Time) breach {
	size := l.Size()
	excess := size - cfg.RetentionBytes
	if cfg.RetentionBytes < 0 || excess < 0 {
		return breach{}
	}
	return breach{
		qualifies: func(s, _ *segment) (bool, error) {
			if excess < s.size.Load() {
				return false, nil
			}
			excess -= s.size.Load()
			return true, nil
		},
		describe: func(gone []*segment) string {
			lines := make([]string, 0, len(gone))
			for _, s := range gone {
				size -= s.size.Load()
				lines = append(lines, fmt.Sprintf("Deleting segment %s due to log retention size %d breach. Log size after deletion will be %d.",
					s, cfg.RetentionBytes, size))
			}
			return strings.Join(lines, "\n")
		},
	}
}

func (l *Log) timeBreached(cfg *Config, now time.Time) breach {
	if cfg.RetentionMs < 0 {
		return breach{}
	}
	return breach{
		qualifies: func(s, next *segment) (bool, error) {
			if s.size.Load() == 0 {
				// To look at the largest timestamp makes Kafka create the time
				// index of a segment that never took a batch.
				if err := s.times.createMissing(); err != nil || next == nil {
					return false, err // an empty log has nothing to delete, whatever the age of its file
				}
			}
			ts, err := s.retentionTimestamp()
			if err != nil {
				return false, err
			}
			if ts > now.UnixMilli() {
				l.warn("UnifiedLog", fmt.Sprintf("%s contains future timestamp(s), making it ineligible to be deleted", s))
			}
			return now.UnixMilli()-ts > cfg.RetentionMs, nil
		},
		describe: func(gone []*segment) string {
			lines := make([]string, 0, len(gone))
			for _, s := range gone {
				lines = append(lines, fmt.Sprintf("Deleting segment %s due to log retention time %dms breach based on the largest record timestamp in the segment",
					s, cfg.RetentionMs))
			}
			return strings.Join(lines, "\n")
		},
	}
}

func (l *Log) retentionPassLocked(b breach, highWatermark int64, cfg *Config) (int, error) {
	if b.qualifies == nil {
		return 0, nil
	}
	list := *l.segments.Load()
	n := 0
	for ; n < len(list); n++ {
		upper, next := l.end.Load(), (*segment)(nil)
		if n+1 < len(list) {
			next = list[n+1]
			upper = next.base
		}
		if highWatermark < upper {
			break
		}
		ok, err := b.qualifies(list[n], next)
		if err != nil {
			return 0, err
		}
		if !ok || (next == nil && list[n].size.Load() == 0) {
			break
		}
	}
	if n == 0 {
		return 0, nil
	}
	return n, l.removeOldestLocked(n, b, cfg)
}

// removeOldestLocked takes the first n segments out of the log.
func (l *Log) removeOldestLocked(n int, b breach, cfg *Config) error {
	if n == len(*l.segments.Load()) {
		if err := l.rollLocked(l.end.Load(), cfg); err != nil {
			return err
		}
	}
	list := *l.segments.Load()
	gone, kept := list[:n], list[n:]
	if err := l.raiseStartLocked(kept[0].base, "segment deletion"); err != nil {
		return err
	}
	for _, line := range strings.Split(b.describe(gone), "\n") {
		l.info("UnifiedLog", line)
	}
	l.publishSegmentsLocked(append([]*segment(nil), kept...), l.end.Load())
	l.recent.forget()
	l.announceRemoval(gone, cfg)
	var err error
	for _, s := range gone {
		err = errors.Join(err, l.discardSegment(s, cfg))
	}
	return err
}

// discardSegment renames the files of a segment that left the log and the
// snapshot at its base, which go after the delay.
func (l *Log) discardSegment(s *segment, cfg *Config) error {
	if err := s.discard(cfg.deleteDelay()); err != nil {
		return err
	}
	return l.discardSnapshot(s.base, cfg)
}

// discardSnapshot renames the snapshot at an offset, if there is one.
func (l *Log) discardSnapshot(offset int64, cfg *Config) error {
	renamed, err := l.producers.markSnapshotDeleted(offset)
	if errors.Is(err, os.ErrNotExist) || renamed == "" {
		return nil
	}
	if err != nil {
		return err
	}
	l.env.removals.add(removal{due: time.Now().Add(cfg.deleteDelay()), path: renamed, what: "producer state snapshot"})
	return nil
}

// describeSegments lists segments as Kafka's log lines do.
func describeSegments(list []*segment) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = s.String()
	}
	return strings.Join(words, ", ")
}

// announceRemoval has a line written when the files of segments go.
func (l *Log) announceRemoval(gone []*segment, cfg *Config) {
	text := "Deleting segment files " + describeSegments(gone)
	l.env.removals.add(removal{due: time.Now().Add(cfg.deleteDelay()), say: func() { l.info("LocalLog", text) }})
}
