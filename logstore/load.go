package logstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"
)

// loader opens one log directory. The order of its steps decides which files
// are left after which damage:
//
//  1. remove .deleted and .cleaned files, finish or drop .swap files
//  2. open every .log, rebuild what has no .index
//  3. after an unclean stop recover from the recovery point on
//  4. find the end offset, give the last segment full-size indexes
//  5. cut the epochs, bring the producer state up to the end
type loader struct {
	log      *Log
	o        LogOptions
	cfg      *Config
	segments []*segment

	surveyed  *survey        // the directory, before anything was changed
	blank     bool           // one segment at offset 0 without a byte
	snapshots *ProducerState // lists the snapshot files
	handedOut bool           // snapshots was, and is not empty any more
	unsynced  []int64        // snapshots written
}

// OpenLog opens or creates the log in o.Dir. Nobody else may have it open; a
// lock is not taken. Removed segments go at the next OpenLog.
func OpenLog(o LogOptions) (*Log, error) {
	l, err := openLog(newEnv(o.FS, o.Logger, 0), o)
	if err != nil {
		return nil, fmt.Errorf("open log %s: %w", o.Dir, err)
	}
	return l, nil
}

func openLog(env *env, o LogOptions) (*Log, error) { return openSurveyed(env, o, nil) }

// openSurveyed is openLog with a look at the directory that was taken ahead, if it was.
func openSurveyed(env *env, o LogOptions, ahead *survey) (*Log, error) {
	l, err := newLog(env, o)
	if err != nil {
		return nil, err
	}
	d := &loader{log: l, o: o, surveyed: ahead}
	d.cfg = &d.o.Config
	if err := d.load(strings.HasSuffix(l.name, deleteDirSuffix)); err != nil {
		return nil, errors.Join(err, d.abandon())
	}
	return l, nil
}

// newLog is a log without files.
func newLog(env *env, o LogOptions) (*Log, error) {
	l := &Log{env: env, keepIndexes: o.KeepIndexes, lastFlush: time.Now()}
	dir, id := o.Dir, o.TopicID // o is not kept
	l.dir.Store(&dir)
	l.config.Store(env.sharedConfig(o.Config))
	l.unstable.Store(-1)
	l.topicID.Store(&id)
	name, err := parseDirName(filepath.Base(o.Dir))
	if err != nil {
		return nil, err
	}
	l.tp, l.name = name.tp, filepath.Base(o.Dir)
	return l, nil
}

// newProducerState is an empty state. The one that was made before it has come to
// its end: the list of files is handed on.
func (d *loader) newProducerState() *ProducerState {
	if d.handedOut {
		d.snapshots = d.snapshots.successor()
	}
	d.handedOut = true
	return d.snapshots
}

// listSnapshots notes the snapshots that the directory has.
func (d *loader) listSnapshots(files fileList) {
	d.handedOut = false
	d.snapshots = &ProducerState{fsys: d.log.env.fsys, dir: d.o.Dir, logger: d.log.env.logger, expirationMs: d.cfg.ProducerIDExpirationMs}
	for _, e := range files {
		d.snapshots.noteSnapshot(e.Name())
	}
	slices.Sort(d.snapshots.snapshots)
}

func (d *loader) load(deleted bool) error {
	fresh, err := d.survey()
	if err != nil {
		return err
	}
	if err := d.topicID(); err != nil {
		return err
	}
	files := d.surveyed.files
	if d.blank, err = files.blank(); err != nil {
		return err
	}
	derive, err := d.openEpochs(fresh, files)
	if err != nil {
		return err
	}
	if files, err = d.finishSwaps(files); err != nil {
		return err
	}
	d.listSnapshots(files)
	if err := d.openSegments(files); err != nil {
		return err
	}
	if derive {
		if err := d.deriveEpochs(); err != nil {
			return err
		}
	}
	end := int64(0)
	if deleted {
		err = d.createIfEmpty(0)
	} else {
		end, err = d.offsets()
	}
	if err != nil {
		return err
	}
	return d.state(end)
}

// survey looks at the directory, unless that was done ahead. A missing one is made;
// fresh tells so.
func (d *loader) survey() (fresh bool, err error) {
	if d.surveyed != nil {
		return false, nil
	}
	fsys := d.log.env.fsys
	d.surveyed, err = surveyDir(fsys, d.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		d.surveyed = &survey{idErr: fs.ErrNotExist}
		return true, fsys.MkdirAll(d.o.Dir, 0o755)
	}
	return false, err
}

// topicID takes the id from partition.metadata, or writes that for a new directory.
func (d *loader) topicID() error {
	fsys := d.log.env.fsys
	err := d.surveyed.idErr
	if err == nil {
		*d.log.topicID.Load() = d.surveyed.id.TopicID // nobody else has the log yet
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		const instead = "The topic id is taken from the cluster's metadata, if that knows the topic."
		if err := setMalformedAside(fsys, d.log.env.logger, d.path(partitionMetadataName), instead, err); err != nil {
			return err
		}
	}
	if d.o.TopicID == (UUID{}) {
		return nil
	}
	return writePartitionMetadata(fsys, d.o.Dir, PartitionMetadata{TopicID: d.o.TopicID})
}

// openSegments opens every .log in name order and recovers those that lack an
// offset index. What the indexes say is not looked at.
func (d *loader) openSegments(files fileList) error {
	for _, e := range files {
		name := e.Name()
		base, suffix, ok := parseSegmentFileName(name)
		if !ok {
			continue
		}
		switch suffix {
		case indexSuffix, timeIndexSuffix, txnIndexSuffix:
			if !files.hasOf(base, logSuffix) {
				d.log.warn("LogLoader", "Found an orphaned index file "+d.path(name)+", with no corresponding log file.")
				if err := d.log.env.fsys.Remove(d.path(name)); err != nil {
					return err
				}
			}
		case logSuffix:
			if err := d.openSegment(base, files); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *loader) openSegment(base int64, files fileList) error {
	s := newSegment(d.log, base, d.cfg)
	if !d.blank {
		size, err := files.size(segmentFileName(base, logSuffix))
		if err != nil {
			return err
		}
		s.size.Store(size)
	}
	s.unchecked.Store(true)
	s.found = true
	hasIndex, hasTimes, hasAborted := files.hasOf(base, indexSuffix), files.hasOf(base, timeIndexSuffix), files.hasOf(base, txnIndexSuffix)
	s.indexed = hasIndex && hasTimes
	if !hasAborted {
		s.aborted.noteMissing()
	}
	if !hasTimes {
		if err := s.times.createEmpty(); err != nil {
			return err
		}
	}
	logFile := func() string { return d.path(segmentFileName(base, logSuffix)) }
	if !hasIndex {
		if d.o.Clean || base < d.o.RecoveryPoint {
			d.log.error("LogLoader", "Could not find offset index file corresponding to log file "+logFile()+
				", recovering segment and rebuilding index files...")
		}
		if err := d.recoverSealed(s); err != nil {
			return err
		}
	} else if hasAborted {
		if err := s.aborted.sanityCheck(); errors.Is(err, ErrCorruptIndex) {
			d.log.warn("LogLoader", "Found a corrupted index file corresponding to log file "+logFile()+" due to "+
				err.Error()+", recovering segment and rebuilding index files...")
			if err := d.recoverSealed(s); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	d.segments = append(d.segments, s)
	return nil
}

// offsets recovers what an unclean stop may have hurt and finds the end.
func (d *loader) offsets() (end int64, err error) {
	if !d.o.Clean {
		if err := d.recoverUnflushed(); err != nil {
			return 0, err
		}
	}
	known := len(d.segments) > 0
	if known {
		if end, err = d.checkedEnd(); err != nil {
			return 0, err
		}
		if end < d.o.LogStartOffset {
			known = false
			if err := d.startAfterEnd(end); err != nil {
				return 0, err
			}
		}
	}
	if err := d.createIfEmpty(d.o.LogStartOffset); err != nil {
		return 0, err
	}
	if !known {
		end = d.segments[len(d.segments)-1].base
	}
	point := min(d.o.RecoveryPoint, end)
	if d.o.Clean && known {
		point = end
	}
	d.log.recoveryPoint.Store(point)
	last := d.segments[len(d.segments)-1]
	if last.indexed {
		return end, errors.Join(last.index.growLater(), last.times.growLater())
	}
	return end, errors.Join(last.index.resizeFull(), last.times.resizeFull(), last.parkIndexes())
}

// checkedEnd is the end offset. A clean stop leaves the recovery point there: if
// it is elsewhere, the marker does not belong to these files, and what may not
// have reached the disk is recovered. Kafka 4.4.0 believes the marker.
func (d *loader) checkedEnd() (int64, error) {
	end, err := d.endOffset()
	if err != nil || !d.o.Clean || end == d.o.RecoveryPoint || end < d.o.LogStartOffset {
		return end, err
	}
	d.log.warn("LogLoader", fmt.Sprintf("The log ends at %d, but the clean stop was at %d: the clean shutdown file does not fit it. Recovering it.",
		end, d.o.RecoveryPoint))
	d.o.Clean = false
	if err := d.recoverUnflushed(); err != nil {
		return 0, err
	}
	return d.endOffset()
}

// endOffset is the offset after the last batch: from the last offset index
// entry on, headers are walked to the end of the file. When they do not lead
// there, the end of a cleanly stopped log was damaged; Kafka then hides all
// records of the segment or does not start, here the segment is recovered.
func (d *loader) endOffset() (int64, error) {
	last := d.segments[len(d.segments)-1]
	end, err := last.nextOffset()
	if !errors.Is(err, errNoBatch) {
		return end, err
	}
	d.log.warn("LogLoader", fmt.Sprintf("Segment %d does not end with a whole batch, recovering it.", last.base))
	if _, err := d.recoverSegment(last); err != nil {
		return 0, err
	}
	return last.nextOffset()
}

// nextOffset is the offset after the last batch of the file. errNoBatch when
// the bytes after the last index entry are not whole batches.
func (s *segment) nextOffset() (int64, error) {
	if s.walkedEnd != nil {
		return *s.walkedEnd, nil
	}
	size := s.size.Load()
	if size == 0 {
		return s.base, nil
	}
	offset, pos, err := s.index.last()
	if err != nil {
		return 0, err
	}
	if int64(pos) < 0 || int64(pos) >= size {
		return 0, fmt.Errorf("%w: index entry at %d, file of %d bytes", errNoBatch, pos, size)
	}
	scan, done, err := s.scan(int64(pos), size)
	if err != nil {
		return 0, err
	}
	defer done()
	next := s.base
	for {
		head, _, err := scan.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		next = head.NextOffset()
	}
	if next <= offset {
		return 0, fmt.Errorf("%w: index entry for offset %d, file ends at %d", errNoBatch, offset, next)
	}
	return next, nil
}

// startAfterEnd empties a log whose start was raised past its end, as happens
// when segments were taken away.
func (d *loader) startAfterEnd(end int64) error {
	d.log.warn("LogLoader", fmt.Sprintf("Deleting all segments because logEndOffset (%d) is smaller than logStartOffset %d."+
		" This could happen if segment files were deleted from the file system.", end, d.o.LogStartOffset))
	gone := d.segments
	d.segments = nil
	if err := d.discard(gone); err != nil {
		return err
	}
	return errors.Join(d.log.epochs.clear(), d.newProducerState().truncateFullyAndStartAt(d.o.LogStartOffset))
}

// createIfEmpty gives a log without segments an empty one.
func (d *loader) createIfEmpty(base int64) error {
	if len(d.segments) > 0 {
		return nil
	}
	s, err := createSegment(d.log, base, d.cfg)
	if err != nil {
		return err
	}
	d.segments = []*segment{s}
	return nil
}

// state cuts the epochs to what is there, loads the producers and publishes
// the log.
func (d *loader) state(end int64) error {
	l := d.log
	if err := d.reportGaps(); err != nil {
		return err
	}
	d.segments[len(d.segments)-1].unchecked.Store(false) // its end was just looked at
	start := max(d.o.LogStartOffset, d.segments[0].base)
	l.epochs.truncateFromEnd(end)
	// Like Kafka by the checkpointed start: the epochs of a first segment that
	// was lost stay.
	if err := l.epochs.truncateFromStart(d.o.LogStartOffset); err != nil {
		return err
	}
	// Recovery wrote and deleted snapshots through states of its own.
	l.producers = d.newProducerState()
	bases := make([]int64, len(d.segments))
	for i, s := range d.segments {
		bases[i] = s.base
	}
	if err := l.producers.removeStraySnapshots(bases); err != nil {
		return err
	}
	if err := d.rebuildProducers(l.producers, start, end, d.o.Clean); err != nil {
		return err
	}
	l.unsynced = d.unsynced
	segments := d.segments // the loader is not kept
	l.segments.Store(&segments)
	l.end.Store(end)
	l.start.Store(start)
	l.raiseRecoveryPoint(start)
	l.publishUnstableLocked()
	return nil
}

// finishSwaps removes temporary files and completes replacements of segments
// that were interrupted while their files were renamed. It returns the files
// that are there then.
func (d *loader) finishSwaps(files fileList) (fileList, error) {
	if !files.unfinished() {
		return files, nil
	}
	minCleaned := int64(-1)
	for _, name := range files.names() {
		if base, suffix, ok := parseSegmentFileName(name); ok && strings.HasSuffix(suffix, cleanedSuffix) && (minCleaned < 0 || base < minCleaned) {
			minCleaned = base
		}
	}
	swaps, empty := make(map[string]int64), d.emptySwaps(files)
	kept := make(fileList, 0, len(files))
	for _, e := range files {
		name := e.Name()
		base, _, ok := parseSegmentFileName(name)
		unfinished := minCleaned >= 0 && base >= minCleaned
		switch {
		case strings.HasSuffix(name, deletedSuffix) && !strings.HasSuffix(name, ".checkpoint"+deletedSuffix),
			strings.HasSuffix(name, cleanedSuffix),
			strings.HasSuffix(name, swapSuffix) && ok && (unfinished || empty[base]):
			if err := d.log.env.fsys.Remove(d.path(name)); err != nil {
				return nil, err
			}
			continue
		case strings.HasSuffix(name, swapSuffix) && ok:
			swaps[name] = base
		}
		kept = append(kept, e)
	}
	files = kept
	if len(swaps) == 0 {
		return files, nil
	}
	if err := d.removeReplaced(files, swaps); err != nil {
		return nil, err
	}
	if err := d.renameSwaps(swaps); err != nil {
		return nil, err
	}
	return d.list()
}

// removeReplaced deletes the files of the segments that the finished swap
// files stand for.
func (d *loader) removeReplaced(files fileList, swaps map[string]int64) error {
	from, to := int64(-1), int64(-1)
	for name, base := range swaps {
		if !strings.HasSuffix(name, logSuffix+swapSuffix) {
			continue
		}
		d.log.info("LogLoader", "Found log file "+d.path(name)+
			" from interrupted swap operation, which is recoverable from .swap files by renaming.")
		end, err := d.swapEnd(name, base)
		if err != nil {
			return err
		}
		if from < 0 || base < from {
			from = base
		}
		to = max(to, end)
	}
	if from < 0 {
		return nil
	}
	for _, name := range files.names() {
		offset, _, ok := parseSegmentFileName(name)
		if !ok || strings.HasSuffix(name, swapSuffix) || offset < from || offset >= to {
			continue
		}
		d.log.info("LogLoader", "Deleting segment files "+name+" that is compacted but has not been deleted yet.")
		if err := d.log.env.fsys.Remove(d.path(name)); err != nil {
			return err
		}
	}
	return nil
}

func (d *loader) renameSwaps(swaps map[string]int64) error {
	names := make([]string, 0, len(swaps))
	for name := range swaps {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		d.log.info("LogLoader", "Recovering file "+name+" by renaming from .swap files.")
		if err := d.log.env.fsys.Rename(d.path(name), d.path(strings.TrimSuffix(name, swapSuffix))); err != nil {
			return err
		}
	}
	return d.log.env.fsys.SyncDir(d.o.Dir)
}

func (d *loader) path(name string) string { return d.o.Dir + string(filepath.Separator) + name }

// abandon closes what a failed load had open.
func (d *loader) abandon() error {
	var err error
	for _, s := range d.segments {
		err = errors.Join(err, s.retire())
	}
	return err
}
