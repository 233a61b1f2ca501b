package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// OfflineDirs are the data directories that failed, when the store was opened or
// loaded or later. Their logs are not in the store; the other directories' are.
// A store whose only, or last, directory fails is not opened.
func (s *Store) OfflineDirs() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.offline)
}

// missAtStart notes that a directory failed, if that is what err says and
// another is left. Refusals are no failures: a directory that is in use, or of
// another cluster, is a mistake that the operator has to mend.
func (s *Store) missAtStart(path string, err error) bool {
	if !deviceFailed(err) || len(s.OfflineDirs())+1 >= len(s.o.Dirs) {
		return false
	}
	s.mu.Lock()
	s.offline = append(s.offline, path)
	s.mu.Unlock()
	s.env.logger.Error("Stopping serving logs in dir "+path+": it could not be read. Its partitions answer KAFKA_STORAGE_ERROR until the next start",
		slog.Any("error", err))
	return true
}

// deviceFailed tells errors of the file system from those about contents.
func deviceFailed(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	var call *os.SyscallError
	return !errors.Is(err, ErrLocked) && (errors.As(err, &path) || errors.As(err, &link) || errors.As(err, &call))
}

// passing are errors of the file system that say nothing against a directory:
// the disk is full, which ends, or this process has too much open or is closing.
func passing(err error) bool {
	for _, harmless := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, os.ErrClosed} {
		if errors.Is(err, harmless) {
			return true
		}
	}
	return false
}

// DeviceFailed reports whether an error is the file system's and says something against where the files lie: neither one about
// contents nor a passing one.
func DeviceFailed(err error) bool { return deviceFailed(err) && !passing(err) }

// suspect passes a failure in a directory on, unless it is a passing one.
func (s *Store) suspect(path string, err error) {
	if s.o.OnSuspect == nil || !DeviceFailed(err) {
		return
	}
	s.mu.RLock()
	at := slices.IndexFunc(s.dirs, func(d *Dir) bool { return filepath.Clean(d.Path) == filepath.Clean(path) })
	var dir *Dir
	if at >= 0 && !s.closed {
		dir = s.dirs[at]
	}
	s.mu.RUnlock()
	if dir != nil {
		s.o.OnSuspect(dir, err)
	}
}

// removalFailed is told of files that could not be removed.
func (s *Store) removalFailed(m removal, err error) {
	dir := filepath.Dir(m.path)
	if !m.dir {
		dir = filepath.Dir(dir) // a file of a partition
	}
	s.suspect(dir, err)
}

// Failed reports whether a directory is to be given up after an error in it, as
// Kafka does after any error: when the error is the device's, or when nothing can
// be written in the directory any more. Else the error concerns a single file.
func (d *Dir) Failed(cause error) bool {
	for _, lasting := range lastingErrors() {
		if errors.Is(cause, lasting) {
			return true
		}
	}
	d.mu.Lock() // the file is that of a checkpoint on its way
	defer d.mu.Unlock()
	probe := d.file(recoveryPointCheckpoint + ".tmp")
	err := touch(d.fsys, probe)
	if err == nil {
		err = d.fsys.Remove(probe)
	}
	return err != nil && !passing(err)
}

// TakeOffline takes a directory that failed out of use with all logs in it: their
// files are closed as they are, and nothing is written there any more. It returns
// the partitions. Nobody may append to them any more; readers keep what they hold.
func (s *Store) TakeOffline(d *Dir) []TopicPartition {
	s.changes.Lock()
	defer s.changes.Unlock()
	s.mu.Lock()
	if s.closed || !slices.Contains(s.dirs, d) {
		s.mu.Unlock()
		return nil
	}
	s.offline = append(s.offline, d.Path)
	s.mu.Unlock()
	for _, m := range s.moves.all() {
		if m.from == d || m.to == d {
			s.moves.giveUp(m.log.tp)
		}
	}
	gone, err := s.dropDir(d)
	if err != nil {
		s.env.logger.Debug("closing what failed", slog.Any("error", err))
	}
	return gone
}

// dropDir takes a directory out of the store, with the logs that were loaded
// already.
func (s *Store) dropDir(d *Dir) (partitions []TopicPartition, err error) {
	s.mu.Lock()
	var gone []*Log
	for tp, p := range s.logs {
		if p.dir == d {
			partitions = append(partitions, tp)
			if p.log != nil {
				gone = append(gone, p.log)
			}
			s.forgetLocked(tp)
		}
	}
	s.dirs = slices.DeleteFunc(slices.Clone(s.dirs), func(have *Dir) bool { return have == d })
	s.mu.Unlock()
	for _, l := range gone {
		err = errors.Join(err, l.abandon())
	}
	if err := errors.Join(err, d.unlock(false)); err != nil {
		return partitions, fmt.Errorf("let go of %s: %w", d.Path, err)
	}
	return partitions, nil
}
