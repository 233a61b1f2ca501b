package logstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Load loads the log of every partition directory, RecoveryThreads at a time
// in each data directory. Directories of removed partitions are queued for
// RunDeletions. Any log that cannot be loaded fails the whole, as does a
// directory whose name is no partition's.
func (s *Store) Load(ctx context.Context) error {
	begin := time.Now()
	s.env.logger.Info("Loading logs from log dirs [" + strings.Join(s.o.Dirs, ", ") + "]")
	s.ahead.stop()
	defer func() { s.ahead.dirs = nil }()
	total, unclean := 0, []string{}
	if err := s.loadDirs(ctx); err != nil {
		return err
	}
	for _, d := range s.dirs {
		d.loaded = true
		if !d.Clean {
			unclean = append(unclean, d.Path)
		}
	}
	s.mu.RLock()
	total = len(s.logs)
	s.mu.RUnlock()
	line := fmt.Sprintf("Loaded %d logs in %dms", total, time.Since(begin).Milliseconds())
	if total > 0 && len(unclean) > 0 {
		line += " (unclean log dirs = [" + strings.Join(unclean, ", ") + "])"
	}
	s.env.logger.Info(line)
	return nil
}

// loadDirs loads all directories side by side. One that fails goes offline.
func (s *Store) loadDirs(ctx context.Context) error {
	var mu sync.Mutex
	failed := make(map[*Dir]error)
	dirs := s.Dirs()
	_ = forEach(len(dirs), dirs, func(d *Dir) error {
		err := s.loadDir(ctx, d)
		if err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed[d] = err
		}
		return nil
	})
	var all error
	for d, err := range failed {
		if s.missAtStart(d.Path, err) {
			_, err = s.dropDir(d)
		}
		all = errors.Join(all, err)
	}
	return all
}

func (s *Store) loadDir(ctx context.Context, d *Dir) error {
	names, err := s.partitionDirs(d)
	if err != nil {
		return err
	}
	switch {
	case len(names) == 0:
		s.env.logger.Info("No logs found to be loaded in " + d.Path)
	case d.Clean:
		s.env.logger.Info(fmt.Sprintf("Skipping recovery of %d logs from %s since clean shutdown file was found", len(names), d.Path))
	default:
		s.env.logger.Info(fmt.Sprintf("Recovering %d logs from %s since no clean shutdown file was found", len(names), d.Path))
	}
	s.expect(len(names))
	var done atomic.Int64
	configFor := s.o.Configs()
	err = forEach(s.atOnce(), names, func(p *partitionDir) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return s.loadLog(d, p, configFor(p.tp.Topic), func() string {
			return "(" + strconv.FormatInt(done.Add(1), 10) + "/" + strconv.Itoa(len(names)) + " completed in " + d.Path + ")"
		})
	})
	d.recoveryPoints, d.startOffsets = nil, nil
	return err
}

// expect makes room for so many more logs, so that the map need not grow with them.
func (s *Store) expect(more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	logs := make(map[TopicPartition]placed, len(s.logs)+more)
	maps.Copy(logs, s.logs)
	s.logs = logs
}

// partitionDirs lists the directories to load.
func (s *Store) partitionDirs(d *Dir) ([]*partitionDir, error) {
	ahead := s.ahead.take(d)
	entries := ahead.entries
	if entries == nil {
		var err error
		if entries, err = s.env.fsys.ReadDir(d.Path); err != nil {
			return nil, err
		}
	}
	names := ahead.partitions
	for _, e := range entries {
		if !isPartitionDir(e) {
			continue
		}
		name, err := parseDirName(e.Name())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.Path, err)
		}
		switch name.suffix {
		case deleteDirSuffix:
			s.scheduleDelete(filepath.Join(d.Path, e.Name()))
		case strayDirSuffix:
			s.env.logger.Warn("Found stray log dir " + filepath.Join(d.Path, e.Name()) + ", left alone")
		case futureDirSuffix:
			s.mu.Lock()
			s.unfinished = append(s.unfinished, unfinishedMove{tp: name.tp, in: d, path: filepath.Join(d.Path, e.Name())})
			s.mu.Unlock()
		default:
			if ahead.entries == nil {
				names = append(names, &partitionDir{dirName: name})
			}
		}
	}
	return names, nil
}

func (s *Store) loadLog(d *Dir, p *partitionDir, cfg Config, progress func() string) error {
	begin := time.Now()
	path := d.file(p.tp.String())
	surveyed := p.survey
	p.survey = nil // it is in nobody's way any more
	l, err := openSurveyed(s.env, LogOptions{
		Dir: path, Config: cfg, Clean: d.Clean,
		RecoveryPoint: d.recoveryPoints[p.tp], LogStartOffset: d.startOffsets[p.tp],
	}, surveyed)
	if err != nil {
		return fmt.Errorf("load log %s: %w", path, err)
	}
	if have := s.putFound(l, d); have != nil {
		return s.setCopyAside(l, d, have)
	}
	place := progress()
	if s.env.logger.Enabled(context.Background(), slog.LevelInfo) {
		line := l.appendTo(append(make([]byte, 0, 512), "Completed load of "...))
		line = strconv.AppendInt(append(line, " with "...), int64(len(*l.segments.Load())), 10)
		line = strconv.AppendInt(append(line, " segments, local-log-start-offset "...), l.StartOffset(), 10)
		line = strconv.AppendInt(append(line, " and log-end-offset "...), l.EndOffset(), 10)
		line = strconv.AppendInt(append(line, " in "...), time.Since(begin).Milliseconds(), 10)
		s.env.logger.Info(string(append(append(line, "ms "...), place...)))
	}
	return nil
}

// setCopyAside deals with a second directory of a partition. When both hold the
// same, a crash came while a copy took the place of its source: one is set
// aside. Else people have to choose; Kafka 4.4.0 leaves it to them always.
func (s *Store) setCopyAside(l *Log, d *Dir, have *Log) error {
	path := l.Dir()
	if err := l.abandon(); err != nil {
		return err
	}
	if !l.isCopyOf(have) {
		return fmt.Errorf("partition %s is in %s and in %s: remove one of them", l.tp, have.Dir(), path)
	}
	if err := l.rename(d.file(setAsideDirName(l.tp, strayDirSuffix))); err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	s.env.logger.Warn("Partition " + l.tp.String() + " is in " + have.Dir() + " and in " + path + ", with the same records; the second is renamed to " + l.Dir())
	return nil
}

// String describes the log as Kafka's log lines do. The high watermark is not
// known here; at load time it is the log start.
func (l *Log) String() string { return string(l.appendTo(make([]byte, 0, 256))) }

func (l *Log) appendTo(b []byte) []byte {
	b = append(append(append(b, "Log(dir="...), l.Dir()...), ", "...)
	if have := l.TopicID(); have != (UUID{}) {
		b = append(append(append(b, "topicId="...), have.String()...), ", "...)
	}
	b = append(append(b, "topic="...), l.tp.Topic...)
	b = strconv.AppendInt(append(b, ", partition="...), int64(l.tp.Partition), 10)
	start := l.start.Load()
	for _, of := range [...]string{", highWatermark=", ", lastStableOffset=", ", logStartOffset="} {
		b = strconv.AppendInt(append(b, of...), start, 10)
	}
	b = strconv.AppendInt(append(b, ", logEndOffset="...), l.end.Load(), 10)
	return append(b, ')')
}
