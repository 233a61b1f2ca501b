package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"
)

// Replacement is a segment in the making that shall take the place of one or
// more others. Its files change names while that happens, so that a crash at
// any point leaves either the old segments or the new one whole:
//
//	BASE.log.cleaned   being written; a start deletes it
//	BASE.log.swap      complete; a start finishes the replacement
//	BASE.log           in place
//
// and the same for .index, .timeindex and .txnindex. One goroutine uses it; the
// log takes appends and reads meanwhile.
type Replacement struct {
	log      *Log
	dir      string // of the log when it began
	segment  *segment
	interval int64 // index.interval.bytes
}

// Replace begins a replacement with a base offset. Files that an earlier one of
// this base left are deleted.
func (l *Log) Replace(base int64) (*Replacement, error) {
	cfg := l.config.Load()
	s := newSegment(l, base, cfg)
	s.setWaiting(cleanedSuffix)
	r := &Replacement{log: l, dir: l.Dir(), segment: s, interval: int64(cfg.IndexIntervalBytes)}
	if err := r.removeFiles(); err != nil {
		return nil, r.failure("prepare", err)
	}
	if err := s.create(); err != nil {
		return nil, r.failure("create", errors.Join(err, r.Discard()))
	}
	l.env.files.opened(s)
	return r, nil
}

// failure wraps an error of a file; ErrSegmentGone once the log is closed or
// went on in another directory.
func (r *Replacement) failure(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case r.log.closed.Load() || r.log.Dir() != r.dir:
		return ErrSegmentGone
	}
	return r.log.storage(fmt.Sprintf("%s replacement %020d", what, r.segment.base), err)
}

// Size is the bytes written so far.
func (r *Replacement) Size() int64 { return r.segment.size.Load() }

// String describes the new segment as Kafka's log lines do.
func (r *Replacement) String() string { return r.segment.String() }

// Append adds whole batches with ascending offsets and the index entries that
// an ordinary append gives them.
func (r *Replacement) Append(set []byte) error {
	if len(set) == 0 {
		return nil
	}
	s := r.segment
	at := s.size.Load()
	if err := s.write(set); err != nil {
		return r.failure("append to", err)
	}
	if err := s.addToIndexes(set, at, r.interval); err != nil {
		return r.failure("index", err)
	}
	s.size.Store(at + int64(len(set)))
	return nil
}

// AppendAborted adds an entry to the transaction index.
func (r *Replacement) AppendAborted(t AbortedTxn) error {
	return r.failure("append transaction index to", r.segment.aborted.append(t))
}

// Finish completes the files, makes them durable and gives them the
// modification time of the newest segment that they stand for.
func (r *Replacement) Finish(modified time.Time) error {
	s := r.segment
	err := s.seal(false)
	if err == nil {
		err = s.sync()
	}
	for _, suffix := range [...]string{logSuffix, indexSuffix, timeIndexSuffix} {
		if err == nil {
			err = r.log.env.fsys.SetModTime(s.path(suffix), modified.Truncate(time.Millisecond))
		}
	}
	return r.failure("finish", err)
}

// Swap puts the finished segment in the place of old, neighbours in the log.
// Readers see either the old ones or the new one; ranges of the old ones stay
// readable until they are released. The files of the old ones are renamed to
// .deleted and removed after file.delete.delay.ms.
//
// ErrSegmentGone when old is no longer in the log; then nothing has changed,
// and the replacement is to be discarded. After any other error too, unless the
// log has failed for good: then a restart sorts the files out.
func (r *Replacement) Swap(old []Segment) error {
	l := r.log
	if err := r.segment.rename(swapSuffix); err != nil {
		return r.failure("rename", err)
	}
	if err := r.swapIn(old); err != nil {
		return err
	}
	if err := l.env.fsys.SyncDir(l.Dir()); err != nil {
		return r.failure("swap in", err)
	}
	return nil
}

func (r *Replacement) swapIn(old []Segment) error {
	l, cfg := r.log, r.log.config.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usableLocked(); err != nil {
		return r.failure("swap in", err)
	}
	list := *l.segments.Load()
	at := slices.Index(list, old[0].s)
	if at < 0 || at+len(old) >= len(list) {
		return ErrSegmentGone
	}
	for i, o := range old {
		if list[at+i] != o.s {
			return ErrSegmentGone
		}
	}
	l.publishSegmentsLocked(slices.Concat(list[:at], []*segment{r.segment}, list[at+len(old):]), l.end.Load())
	l.recent.forget()
	var err error
	for _, o := range old {
		err = errors.Join(err, o.s.discard(cfg.deleteDelay()))
	}
	if err == nil {
		err = r.segment.rename("")
	}
	for _, o := range old {
		if err == nil && o.s.base != r.segment.base {
			err = l.discardSnapshot(o.s.base, cfg)
		}
	}
	if err != nil {
		return l.failLocked(fmt.Sprintf("swap in segment %020d", r.segment.base), err)
	}
	return nil
}

// Discard gives the replacement up and removes its files. After a successful
// Swap it must not be called.
func (r *Replacement) Discard() error {
	return r.failure("discard", errors.Join(r.segment.retire(), r.removeFiles()))
}

// InPlace reports whether the segment has become part of the log, be it under
// a temporary name because renaming failed half-way.
func (r *Replacement) InPlace() bool { return slices.Contains(*r.log.segments.Load(), r.segment) }

// removeFiles deletes files of this base that bear one of the temporary names.
func (r *Replacement) removeFiles() error {
	var all error
	for _, f := range segmentFiles {
		path := r.segment.path(f.suffix)
		if err := r.log.env.fsys.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// setWaiting names the files of a segment that nobody else knows yet.
func (s *segment) setWaiting(end string) {
	s.waiting.Store(&end)
	s.index.path, s.times.path, s.aborted.path = s.path(indexSuffix), s.path(timeIndexSuffix), s.path(txnIndexSuffix)
}

// rename changes what the names of the segment's files end in ("" for nothing),
// in Kafka's order. Others may read the segment meanwhile.
func (s *segment) rename(end string) error {
	if err := s.renameLog(end); err != nil {
		return err
	}
	if err := s.index.rename(s.path(indexSuffix)); err != nil {
		return err
	}
	if err := s.times.rename(s.path(timeIndexSuffix)); err != nil {
		return err
	}
	return s.aborted.rename(s.path(txnIndexSuffix))
}

func (s *segment) renameLog(end string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, before := s.path(logSuffix), s.waiting.Load()
	s.waiting.Store(&end)
	if err := s.log.env.fsys.Rename(from, s.path(logSuffix)); err != nil {
		s.waiting.Store(before)
		return err
	}
	return nil
}

// rename moves the file while nobody looks anything up.
func (x *indexFile) rename(to string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.fsys.Rename(x.path, to); err != nil {
		return err
	}
	x.path = to
	return nil
}

// rename moves the file, if there is one, while nobody reads it.
func (x *TxnIndex) rename(to string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if err := x.fsys.Rename(x.path, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	x.path = to
	return nil
}
