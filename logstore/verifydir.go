package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"minibroker/internal/vfs"
)

// VerifyDir is Verify for a directory of the operating system that nobody may
// have in use: ErrLocked if somebody has. progress, unless nil, is called before
// each partition with how many are done and how many there are.
func VerifyDir(dir string, progress func(name string, done, total int)) (found []Finding, err error) {
	return verifyLocked(vfs.OS(), dir, progress)
}

func verifyLocked(fsys vfs.FS, dir string, progress func(name string, done, total int)) (found []Finding, err error) {
	if info, err := fsys.Stat(dir); err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; give the data directory (log.dirs) that holds it", dir)
	}
	path := filepath.Join(dir, lockName)
	_, statErr := fsys.Stat(path)
	lock, err := fsys.Lock(path)
	if errors.Is(err, vfs.ErrLocked) {
		return nil, fmt.Errorf("%w: %s; stop the Kafka or minibroker that uses it first", ErrLocked, dir)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if errors.Is(statErr, fs.ErrNotExist) {
			err = errors.Join(err, fsys.Remove(path))
		}
		err = errors.Join(err, lock.Close())
	}()
	return verify(fsys, dir, progress)
}
