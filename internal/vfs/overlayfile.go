package vfs

import (
	"errors"
	"io"
	"io/fs"
	"sync"
	"time"
)

// overlayPage is the unit in which an overlay keeps what was written.
const overlayPage = 4096

// overlayNode is the content of a file: pages in memory over the first bytes of
// a file of the lower file system, and zeros where there is neither.
type overlayNode struct {
	below string // name in the lower file system, "" when it has none
	mode  fs.FileMode

	mu      sync.RWMutex
	size    int64
	kept    int64            // bytes of the lower file that are still seen
	pages   map[int64][]byte // by page number
	changed time.Time
}

func (n *overlayNode) info(name string) fs.FileInfo {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return overlayInfo{name: name, size: n.size, mode: n.mode, changed: n.changed}
}

func (n *overlayNode) truncate(size int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kept = min(n.kept, size)
	for number, page := range n.pages {
		start := number * overlayPage
		switch {
		case start >= size:
			delete(n.pages, number)
		case start+overlayPage > size:
			clear(page[size-start:])
		}
	}
	n.size, n.changed = size, time.Now()
}

// overlayFile is an open file of an overlay.
type overlayFile struct {
	name  string
	node  *overlayNode
	lower File // nil when the node has nothing below
}

// Name is the name that the file was opened with.
func (f *overlayFile) Name() string { return f.name }

// ReadAt reads pages where there are some, the lower file elsewhere.
func (f *overlayFile) ReadAt(p []byte, off int64) (int, error) {
	n := f.node
	n.mu.RLock()
	defer n.mu.RUnlock()
	if off < 0 {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: errors.New("negative offset")}
	}
	if off >= n.size {
		return 0, io.EOF
	}
	var end error
	if int64(len(p)) > n.size-off {
		p, end = p[:n.size-off], io.EOF
	}
	if len(n.pages) == 0 {
		if err := f.readLowerLocked(p, off); err != nil {
			return 0, err
		}
		return len(p), end
	}
	for done := 0; done < len(p); {
		at := off + int64(done)
		inPage := int(at % overlayPage)
		part := p[done:min(len(p), done+overlayPage-inPage)]
		if page := n.pages[at/overlayPage]; page != nil {
			copy(part, page[inPage:])
		} else if err := f.readLowerLocked(part, at); err != nil {
			return done, err
		}
		done += len(part)
	}
	return len(p), end
}

// readLowerLocked fills p from the lower file, with zeros behind its end.
func (f *overlayFile) readLowerLocked(p []byte, off int64) error {
	have := min(max(f.node.kept-off, 0), int64(len(p)))
	if have > 0 {
		if n, err := f.lower.ReadAt(p[:have], off); int64(n) < have {
			if err == nil || errors.Is(err, io.EOF) {
				err = &fs.PathError{Op: "read", Path: f.name, Err: io.ErrUnexpectedEOF}
			}
			return err
		}
	}
	clear(p[have:])
	return nil
}

// WriteAt writes into pages in memory.
func (f *overlayFile) WriteAt(p []byte, off int64) (int, error) {
	n := f.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pages == nil {
		n.pages = make(map[int64][]byte)
	}
	for done := 0; done < len(p); {
		at := off + int64(done)
		page := n.pages[at/overlayPage]
		if page == nil {
			page = make([]byte, overlayPage)
			if err := f.readLowerLocked(page, at-at%overlayPage); err != nil {
				return done, err
			}
			n.pages[at/overlayPage] = page
		}
		done += copy(page[at%overlayPage:], p[done:])
	}
	n.size = max(n.size, off+int64(len(p)))
	n.changed = time.Now()
	return len(p), nil
}

// Truncate sets the size.
func (f *overlayFile) Truncate(size int64) error {
	f.node.truncate(size)
	return nil
}

// Sync does nothing.
func (f *overlayFile) Sync() error { return nil }

// Stat describes the file.
func (f *overlayFile) Stat() (fs.FileInfo, error) { return f.node.info(f.name), nil }

// Fd is the lower file's descriptor while nothing of it was written over; it
// must be read up to the size of the file only.
func (f *overlayFile) Fd() (uintptr, bool) {
	f.node.mu.RLock()
	defer f.node.mu.RUnlock()
	if f.lower == nil || len(f.node.pages) > 0 || f.node.kept < f.node.size {
		return 0, false
	}
	return f.lower.Fd()
}

// Close lets go of the lower file; the content stays.
func (f *overlayFile) Close() error {
	if f.lower == nil {
		return nil
	}
	return f.lower.Close()
}

// overlayInfo describes a file or directory of an overlay.
type overlayInfo struct {
	name    string
	size    int64
	mode    fs.FileMode
	changed time.Time
}

// Name is the last part of the path.
func (i overlayInfo) Name() string { return i.name }

// Size is the size in bytes.
func (i overlayInfo) Size() int64 { return i.size }

// Mode is the type and the permissions.
func (i overlayInfo) Mode() fs.FileMode { return i.mode }

// ModTime is when the content was changed last.
func (i overlayInfo) ModTime() time.Time { return i.changed }

// IsDir says whether it is a directory.
func (i overlayInfo) IsDir() bool { return i.mode.IsDir() }

// Sys is nil: there is nothing else to say.
func (i overlayInfo) Sys() any { return nil }
