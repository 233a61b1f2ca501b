package logstore

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
)

// OfflineDirs are the data directories that could not be read when the store
// was opened or loaded. Their logs are not in the store; the other directories'
// are. A store whose only, or last, directory fails is not opened.
func (s *Store) OfflineDirs() []string { return slices.Clone(s.offline) }

// takeOffline notes that a directory failed, if that is what err says and
// another is left. Refusals are no failures: a directory that is in use, or of
// another cluster, is a mistake that the operator has to mend.
func (s *Store) takeOffline(path string, err error) bool {
	if !deviceFailed(err) || len(s.offline)+1 >= len(s.o.Dirs) {
		return false
	}
	s.offline = append(s.offline, path)
	s.env.logger.Error("Stopping serving logs in dir "+path+": it could not be read. Its partitions answer KAFKA_STORAGE_ERROR until the next start",
		slog.Any("error", err), slog.String("logger", kafkaClasses+"LogManager"))
	return true
}

// deviceFailed tells errors of the file system from those about contents.
func deviceFailed(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	var call *os.SyscallError
	return !errors.Is(err, ErrLocked) && (errors.As(err, &path) || errors.As(err, &link) || errors.As(err, &call))
}

// dropDir takes a directory that failed while it was loaded out of the store,
// with the logs that were loaded already.
func (s *Store) dropDir(d *Dir) error {
	s.mu.Lock()
	var gone []*Log
	for tp, p := range s.logs {
		if p.dir == d {
			gone = append(gone, p.log)
			s.forgetLocked(tp)
		}
	}
	s.mu.Unlock()
	s.dirs = slices.DeleteFunc(s.dirs, func(have *Dir) bool { return have == d })
	var err error
	for _, l := range gone {
		err = errors.Join(err, l.abandon())
	}
	return errors.Join(err, d.unlock(false))
}
