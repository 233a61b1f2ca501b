package logstore

import (
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"
)

// mostAhead bounds the directories that are surveyed before the load, so that
// memory is: each takes about 500 bytes until it is loaded.
const mostAhead = 16 << 10

// surveys are directories of partitions that were looked at before the load
// could begin: it waits for the settings of topics, which one processor gathers
// while the others would have nothing to do.
type surveys struct {
	stopped atomic.Bool
	working sync.WaitGroup
	dirs    map[*Dir]*dirSurvey // not changed once work has begun
}

// dirSurvey is what was found in one data directory. It is the work's until that
// has ended.
type dirSurvey struct {
	entries    []fs.DirEntry // nil when it could not be listed
	partitions []*partitionDir
}

// partitionDir is a directory to load.
type partitionDir struct {
	dirName
	survey *survey // nil when nobody has looked yet
}

// SurveyAhead begins to look at the directories of partitions; Load, Close and
// Abort end it. Nobody else may change them until then. What it cannot read is left
// to Load.
func (s *Store) SurveyAhead() {
	dirs := s.Dirs()
	s.ahead.dirs = make(map[*Dir]*dirSurvey, len(dirs))
	for _, d := range dirs {
		s.ahead.dirs[d] = new(dirSurvey)
	}
	for d, found := range s.ahead.dirs {
		s.ahead.working.Go(func() { s.surveyDirs(d, found) })
	}
}

func (s *Store) surveyDirs(d *Dir, found *dirSurvey) {
	entries, err := s.env.fsys.ReadDir(d.Path)
	if err != nil {
		return
	}
	found.entries = entries
	for _, e := range entries {
		if name, err := parseDirName(e.Name()); err == nil && isPartitionDir(e) && name.suffix == "" {
			found.partitions = append(found.partitions, &partitionDir{dirName: name})
		}
	}
	first := found.partitions[:min(len(found.partitions), mostAhead)]
	_ = forEach(max(1, runtime.GOMAXPROCS(0)-1), first, func(p *partitionDir) error {
		if !s.ahead.stopped.Load() {
			p.survey, _ = surveyDir(s.env.fsys, d.file(p.tp.String()))
		}
		return nil
	})
}

// isPartitionDir reports whether an entry of a data directory should be one of a
// partition, as far as its name does not say otherwise.
func isPartitionDir(e fs.DirEntry) bool {
	return e.IsDir() && e.Name() != metadataLogDir && e.Name() != remoteIndexCacheDir
}

// stop ends the work that has begun.
func (a *surveys) stop() {
	a.stopped.Store(true)
	a.working.Wait()
}

// take is what was found in a directory, nothing if nobody has looked.
func (a *surveys) take(d *Dir) dirSurvey {
	if found := a.dirs[d]; found != nil {
		return *found
	}
	return dirSurvey{}
}
