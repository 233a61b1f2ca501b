package brokertest

import (
	"io/fs"

	"minibroker/internal/vfs"
)

// withoutSync is a file system that never waits for the disk. A test's files need to outlive the end of its broker, which they
// do, and not the end of the machine.
type withoutSync struct{ vfs.FS }

func unsynced() vfs.FS { return withoutSync{vfs.OS()} }

// OpenFile opens a file whose Sync does nothing.
func (w withoutSync) OpenFile(name string, flag int, perm fs.FileMode) (vfs.File, error) {
	f, err := w.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return fileWithoutSync{f}, nil
}

// SyncDir does nothing.
func (w withoutSync) SyncDir(string) error { return nil }

type fileWithoutSync struct{ vfs.File }

// Sync does nothing.
func (fileWithoutSync) Sync() error { return nil }
