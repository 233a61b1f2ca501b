package minibroker

import (
	"errors"
	"fmt"
	"io/fs"

	"minibroker/internal/vfs"
)

// formatting is the first start on empty data directories: some twenty small files, which are synced together after the
// broker serves instead of one by one before. Nothing that must last is answered before that is done.
type formatting struct {
	fs   *vfs.Deferred
	done chan struct{}
	err  error // guarded by done
}

// beginFormatting returns nil unless all the data directories are missing or empty.
func beginFormatting(fsys vfs.FS, dirs []string) (*formatting, error) {
	for _, dir := range dirs {
		entries, err := fsys.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("look into data directory %s: %w", dir, err)
		}
		if len(entries) > 0 {
			return nil, nil
		}
	}
	return &formatting{fs: vfs.NewDeferred(fsys), done: make(chan struct{})}, nil
}

// finish syncs everything.
func (f *formatting) finish() error {
	f.err = f.fs.Flush()
	close(f.done)
	return f.err
}

// wait returns when everything is synced; at once for a broker that formatted nothing.
func (f *formatting) wait() error {
	if f == nil {
		return nil
	}
	<-f.done
	return f.err
}
