package logstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Store is all data directories of a broker and the logs in them.
type Store struct {
	env *env
	o   Options
	id  string // cluster id

	deleteDelay atomic.Int64 // milliseconds
	moves       *moves
	unfinished  []unfinishedMove // that Load found; ResumeMoves begins them again
	ahead       surveys          // until Load is over

	// changes keeps removals apart from everything else; creations may run side
	// by side, since most of their time goes to waiting for syncs. It is never
	// taken on the data path.
	changes sync.RWMutex

	mu      sync.RWMutex // a leaf
	dirs    []*Dir       // in use; replaced, never written
	offline []string     // directories that failed
	logs    map[TopicPartition]placed
	used    map[*Dir]int // logs in each directory
	placing uint64       // changes of logs and their directories so far
	closed  bool

	unsettled    []*Log        // created and not durable yet; see create.go; guarded by mu
	wakeSettling chan struct{} // holds a value while there are such
}

// ErrUnknownLog: the store has no log of that partition.
var ErrUnknownLog = errors.New("unknown log")

// placed is a log and where it is.
type placed struct {
	log *Log
	dir *Dir
}

// CleanStop is what a clean stop writes down.
type CleanStop struct {
	BrokerEpoch int64 // -1 if unknown
}

func (o *Options) withDefaults() {
	if o.RecoveryThreads <= 0 {
		o.RecoveryThreads = 2
	}
	if o.Default == (Config{}) {
		o.Default = DefaultConfig()
	}
	if o.Configs == nil {
		fallback := o.Default
		o.Configs = func() func(string) Config { return func(string) Config { return fallback } }
	}
}

// Open locks the data directories, formats empty ones and reads what stands at
// their top level. It refuses directories of another cluster or node. The logs
// are not loaded yet.
func Open(o Options) (*Store, error) {
	o.withDefaults()
	if len(o.Dirs) == 0 {
		return nil, errors.New("no data directory given: set log.dirs")
	}
	s := &Store{env: newEnv(o.FS, o.Logger, o.OpenFiles), o: o, logs: make(map[TopicPartition]placed), used: make(map[*Dir]int), moves: newMoves(),
		wakeSettling: make(chan struct{}, 1)}
	s.env.suspect = s.suspect
	s.env.removals.failed = s.removalFailed
	s.deleteDelay.Store(o.DeleteDelayMs)
	if err := s.openDirs(); err != nil {
		for _, d := range s.dirs {
			err = errors.Join(err, d.unlock(false))
		}
		return nil, err
	}
	return s, nil
}

func (s *Store) openDirs() error {
	s.id = s.o.ClusterID
	metas := make([]MetaProperties, 0, len(s.o.Dirs))
	for _, path := range s.o.Dirs {
		d, meta, err := openDir(s.env.fsys, path, s.o.NodeID, s.env.logger)
		if err != nil && s.missAtStart(path, err) {
			continue
		}
		if err != nil {
			return err
		}
		s.dirs = append(s.dirs, d)
		metas = append(metas, meta)
		if meta.ClusterID == "" {
			continue
		}
		if s.id == "" {
			s.id = meta.ClusterID
		}
		if meta.ClusterID != s.id {
			return fmt.Errorf("%s belongs to cluster %s, not to %s; choose an empty directory or the right cluster.id",
				d.file(metaPropertiesName), meta.ClusterID, s.id)
		}
	}
	if s.id == "" {
		s.id = NewUUID().String()
	}
	for i, d := range s.dirs {
		if err := d.format(metas[i], s.o.NodeID, s.id); err != nil {
			return err
		}
	}
	// Nothing is refused from here on: a crash counts as one now.
	for _, d := range s.dirs {
		if err := removeCleanShutdown(s.env.fsys, d.Path); err != nil {
			return err
		}
	}
	return nil
}

// format completes meta.properties; a complete one is left alone.
func (d *Dir) format(meta MetaProperties, nodeID int32, clusterID string) error {
	d.DirectoryID = meta.DirectoryID
	if meta.ClusterID != "" && meta.DirectoryID != (UUID{}) {
		return nil
	}
	if meta.DirectoryID == (UUID{}) {
		meta.DirectoryID = NewUUID()
	}
	d.DirectoryID = meta.DirectoryID
	meta.NodeID, meta.ClusterID, meta.Version = nodeID, clusterID, 1
	return WriteMetaProperties(d.fsys, d.Path, meta)
}

// logsPerThread is how many logs share one recovery thread. Kafka's threads
// wait for the syncs of one log before they begin the next; most of the time of
// a load or a stop is such waiting, and a file system does many small syncs
// together almost as fast as one. The work between them is bounded by the
// processors, not by this.
const logsPerThread = 8

// atOnce is how many logs of a directory are loaded or closed at the same time.
func (s *Store) atOnce() int { return logsPerThread * s.o.RecoveryThreads }

// ClusterID is the id in meta.properties.
func (s *Store) ClusterID() string { return s.id }

// Dirs lists the data directories in use, in the order given to Open. Those that failed are left out.
func (s *Store) Dirs() []*Dir {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.dirs)
}

// Log returns the partition's log, nil when there is none.
func (s *Store) Log(tp TopicPartition) *Log {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.logs[tp].log
}

// Logs returns all logs, by topic and partition.
func (s *Store) Logs() []*Log {
	s.mu.RLock()
	logs := make([]*Log, 0, len(s.logs))
	for _, p := range s.logs {
		if p.log != nil {
			logs = append(logs, p.log)
		}
	}
	s.mu.RUnlock()
	slices.SortFunc(logs, func(a, b *Log) int {
		return cmp.Or(cmp.Compare(a.tp.Topic, b.tp.Topic), cmp.Compare(a.tp.Partition, b.tp.Partition))
	})
	return logs
}

// Count is how many partitions there are.
func (s *Store) Count() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.logs)
}

// LogDir is the data directory of a partition, nil when there is none.
func (s *Store) LogDir(tp TopicPartition) *Dir {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.logs[tp].dir
}

// Create makes a partition's directory in dir, or where the fewest logs are,
// and opens its empty log. id goes to partition.metadata. Several may be
// created at the same time. It does not wait for the disk; see createLog.
func (s *Store) Create(tp TopicPartition, id UUID, dir *Dir, cfg Config) (*Log, error) {
	s.changes.RLock()
	defer s.changes.RUnlock()
	dir, err := s.reserve(tp, dir)
	if err != nil {
		return nil, err
	}
	path := dir.file(tp.String())
	l, err := createLog(s.env, LogOptions{Dir: path, Config: cfg, Clean: true, TopicID: id})
	if err != nil {
		s.release(tp)
		s.suspect(dir.Path, err)
		return nil, fmt.Errorf("%w: create log %s: %w", ErrStorage, path, err)
	}
	s.put(l, dir)
	s.fresh(l)
	s.env.logger.Info("Created log for partition " + tp.String() + " in " + path)
	return l, nil
}

// reserve claims the partition's name in dir, or in the directory with the
// fewest logs: until put or release there is an entry without a log.
func (s *Store) reserve(tp TopicPartition, dir *Dir) (*Dir, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if have, taken := s.logs[tp]; taken {
		return nil, fmt.Errorf("create log %s: it exists in %s", tp, have.dir.Path)
	}
	if dir == nil {
		dir = s.leastUsedLocked()
	}
	if !slices.Contains(s.dirs, dir) {
		return nil, fmt.Errorf("%w: create log %s: %s is offline", ErrStorage, tp, dir.Path)
	}
	s.placeLocked(tp, placed{dir: dir})
	return dir, nil
}

func (s *Store) release(tp TopicPartition) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetLocked(tp)
}

func (s *Store) leastUsedLocked() *Dir {
	dirs := s.dirs
	if s.o.Cordoned != nil {
		open := slices.DeleteFunc(slices.Clone(dirs), func(d *Dir) bool { return s.o.Cordoned(d.Path) })
		if len(open) > 0 { // else a topic of the broker itself has to go somewhere
			dirs = open
		}
	}
	return slices.MinFunc(dirs, func(a, b *Dir) int { return cmp.Compare(s.used[a], s.used[b]) })
}

// placeLocked enters a log, or changes its entry.
func (s *Store) placeLocked(tp TopicPartition, p placed) {
	if have, ok := s.logs[tp]; ok {
		s.used[have.dir]--
	}
	s.used[p.dir]++
	s.logs[tp] = p
	s.placing++
}

func (s *Store) forgetLocked(tp TopicPartition) {
	if have, ok := s.logs[tp]; ok {
		s.used[have.dir]--
	}
	delete(s.logs, tp)
	s.placing++
}

// Placings counts the changes of which logs there are and of the directories
// that they are in.
func (s *Store) Placings() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.placing
}

func (s *Store) put(l *Log, dir *Dir) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.placeLocked(l.tp, placed{log: l, dir: dir})
}

// putFound is put for a log that was found on disk; another one of the same
// partition that is there already is returned instead.
func (s *Store) putFound(l *Log, dir *Dir) (other *Log) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.logs[l.tp].log; have != nil {
		return have
	}
	s.placeLocked(l.tp, placed{log: l, dir: dir})
	return nil
}

// take removes a log from the map.
func (s *Store) take(tp TopicPartition) (placed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.logs[tp]
	if p.log == nil {
		return p, fmt.Errorf("%w: %s", ErrUnknownLog, tp)
	}
	s.forgetLocked(tp)
	return p, nil
}

// Delete takes partitions away: their directories are renamed to ...-delete and
// the checkpoint files are rewritten without them, once for all; the files go by
// RunDeletions when the delay has passed. Readers keep what they hold. Errors, of
// each partition: ErrUnknownLog, ErrStorage.
func (s *Store) Delete(tps ...TopicPartition) error {
	s.changes.Lock()
	defer s.changes.Unlock()
	for _, tp := range tps {
		s.moves.giveUp(tp)
	}
	gone, err := s.setAside(tps, deleteDirSuffix)
	if err != nil {
		err = fmt.Errorf("delete logs: %w", err)
	}
	for _, d := range s.Dirs() {
		if len(gone[d]) == 0 {
			continue
		}
		if failed := d.dropFromCleaner(placedPartitions(gone[d]), s.env.logger); failed != nil {
			err = errors.Join(err, fmt.Errorf("delete logs: %w", failed))
		}
		for _, p := range gone[d] {
			s.env.logger.Info("Log for partition " + p.log.tp.String() + " is renamed to " + p.log.Dir() + " and is scheduled for deletion")
			s.scheduleDelete(p.log.Dir())
		}
	}
	return err
}

// Stray puts a partition aside that the cluster does not know: its directory
// is renamed to ...-stray and left alone for good.
func (s *Store) Stray(tp TopicPartition) error {
	s.changes.Lock()
	defer s.changes.Unlock()
	gone, err := s.setAside([]TopicPartition{tp}, strayDirSuffix)
	if err != nil {
		return fmt.Errorf("set stray log %s aside: %w", tp, err)
	}
	for d, placed := range gone {
		s.env.logger.Warn("Log in " + d.file(tp.String()) + " marked stray and renamed to " + placed[0].log.Dir())
	}
	return nil
}

// setAside renames the directories of partitions, syncs what names them and
// rewrites the checkpoints, once in each log dir: a topic has many partitions, and
// each sync makes everyone wait who changes topics. What could be renamed is
// returned by log dir, also when something failed.
func (s *Store) setAside(tps []TopicPartition, suffix string) (map[*Dir][]placed, error) {
	gone := map[*Dir][]placed{}
	var errs []error
	for _, tp := range tps {
		p, err := s.take(tp)
		if err == nil {
			err = errors.Join(p.log.SettleLoad(), p.log.abandon())
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if err := p.log.renameUnsynced(p.dir.file(setAsideDirName(tp, suffix))); err != nil {
			s.suspect(p.dir.Path, err)
			errs = append(errs, fmt.Errorf("%w: %w", ErrStorage, err))
			continue
		}
		gone[p.dir] = append(gone[p.dir], p)
	}
	for _, d := range s.Dirs() {
		if len(gone[d]) == 0 {
			continue
		}
		if err := s.env.fsys.SyncDir(d.Path); err != nil {
			s.suspect(d.Path, err)
			errs = append(errs, fmt.Errorf("%w: %w", ErrStorage, err))
			continue
		}
		errs = append(errs, s.checkpointRecoveryPoints(d), s.checkpointLogStarts(d))
	}
	return gone, errors.Join(errs...)
}

// placedPartitions are the partitions of logs.
func placedPartitions(logs []placed) []TopicPartition {
	tps := make([]TopicPartition, len(logs))
	for i, p := range logs {
		tps[i] = p.log.tp
	}
	return tps
}

// SetDeleteDelay changes Options.DeleteDelayMs for what is removed from now on.
func (s *Store) SetDeleteDelay(ms int64) { s.deleteDelay.Store(ms) }

func (s *Store) scheduleDelete(path string) {
	delay := max(s.deleteDelay.Load(), 0)
	s.env.removals.add(removal{due: time.Now().Add(time.Duration(delay) * time.Millisecond), path: path, dir: true})
}

// RunDeletions removes segments and partitions whose delay is over, as they
// become due, until ctx ends. Errors are logged.
func (s *Store) RunDeletions(ctx context.Context) error {
	if s.o.InitialTaskDelayMs > 0 {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Duration(s.o.InitialTaskDelayMs) * time.Millisecond):
		}
	}
	return s.env.removals.run(ctx)
}

// RemoveDue removes what is due at now, once, and tells when the next removal
// is due, zero when none waits.
func (s *Store) RemoveDue(now time.Time) (next time.Time, err error) {
	return s.env.removals.removeDue(now)
}

// Close stops cleanly: every log is sealed, flushed and closed, the checkpoint
// files and the clean marker are written, the locks released. High watermarks
// have to be checkpointed before. A second Close does nothing.
func (s *Store) Close(c CleanStop) error {
	byDir, ok := s.shut()
	if !ok {
		return nil
	}
	err := s.Settle()
	for _, m := range s.moves.all() {
		err = errors.Join(err, m.future.Load().Close())
	}
	dirs := s.Dirs()
	for _, d := range dirs {
		err = errors.Join(err, s.closeDir(d, byDir[d], c))
	}
	s.env.background.Wait()
	for _, d := range dirs {
		err = errors.Join(err, d.unlock(true))
	}
	return err
}

// shut closes the store for changes and lists the logs by directory.
func (s *Store) shut() (map[*Dir][]*Log, bool) {
	s.ahead.stop()
	s.changes.Lock()
	defer s.changes.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	s.closed = true
	byDir := make(map[*Dir][]*Log, len(s.dirs))
	for _, p := range s.logs {
		byDir[p.dir] = append(byDir[p.dir], p.log)
	}
	return byDir, true
}

func (s *Store) closeDir(d *Dir, logs []*Log, c CleanStop) error {
	err := forEach(s.atOnce(), logs, (*Log).Close)
	if err == nil {
		err = errors.Join(s.checkpointRecoveryPoints(d), s.checkpointLogStarts(d))
	}
	if err != nil {
		return fmt.Errorf("stop %s: %w", d.Path, err)
	}
	if !d.loaded && !d.Clean {
		return nil // logs not loaded were not checked: the next start has to
	}
	return writeCleanShutdown(d.fsys, d.Path, CleanShutdown{BrokerEpoch: c.BrokerEpoch})
}

// Abort lets go of everything as a crash would: nothing is flushed or written.
func (s *Store) Abort() error {
	byDir, ok := s.shut()
	if !ok {
		return nil
	}
	var err error
	for _, d := range s.Dirs() {
		err = errors.Join(err, forEach(s.atOnce(), byDir[d], (*Log).abandon))
	}
	for _, m := range s.moves.all() {
		err = errors.Join(err, m.future.Load().abandon())
	}
	s.env.background.Wait()
	for _, d := range s.Dirs() {
		err = errors.Join(err, d.unlock(false))
	}
	return err
}

// forEach calls do for each item in n goroutines and waits for all.
func forEach[T any](n int, items []T, do func(T) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all error
	for range min(n, len(items)) {
		wg.Go(func() {
			for at := int(next.Add(1)) - 1; at < len(items); at = int(next.Add(1)) - 1 {
				if err := do(items[at]); err != nil {
					mu.Lock()
					all = errors.Join(all, err)
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return all
}
