package logstore

import (
	"errors"
	"io/fs"
	"os"
)

// ensure makes the index ready for appends: the file exists and has its full size.
func (x *indexFile) ensure() error { return x.prepare(false) }

// ensureOpen does as ensure, and opens the file for the entries that are due.
func (x *indexFile) ensureOpen() error { return x.prepare(true) }

func (x *indexFile) prepare(open bool) error {
	x.mu.RLock()
	ready := x.sizedLocked() && (x.file != nil || !open && x.exists && !x.closed)
	x.mu.RUnlock()
	if ready {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.ensureLocked()
}

// sizedLocked reports whether the file, if there is one, has had the size that appends need since it was found or made.
func (x *indexFile) sizedLocked() bool { return x.known && !x.grows && !x.idle }

// keepOpen opens the file for look-ups and leaves it open until the index is
// parked, which whoever pins the segment can count on. A missing file is left
// to the look-up.
func (x *indexFile) keepOpen() error {
	x.mu.RLock()
	done := x.file != nil || x.from == 0 && x.known || x.closed
	x.mu.RUnlock()
	if done {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || x.file != nil {
		return nil
	}
	file, err := x.fsys.OpenFile(x.path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	x.file = file
	return nil
}
