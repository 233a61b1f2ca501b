package vfs

import (
	"io"
	"io/fs"
	"maps"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

const pageSize = 4096

// page is a piece of a file. A shared page belongs to more than one content and
// is never written again.
type page struct {
	bytes  [pageSize]byte
	shared atomic.Bool // file systems that share a page have a lock each
}

// content is what a file holds; pages that are missing read as zeros.
type content struct {
	size  int64
	pages map[int64]*page
}

// snapshot returns a copy that shares the pages.
func (c *content) snapshot() content {
	for _, p := range c.pages {
		p.shared.Store(true)
	}
	return content{size: c.size, pages: maps.Clone(c.pages)}
}

func (c *content) readAt(dst []byte, off int64) int {
	if off >= c.size {
		return 0
	}
	dst = dst[:min(int64(len(dst)), c.size-off)]
	for n := 0; n < len(dst); {
		at := off + int64(n)
		from := int(at % pageSize)
		piece := dst[n:min(len(dst), n+pageSize-from)]
		if p := c.pages[at/pageSize]; p != nil {
			copy(piece, p.bytes[from:])
		} else {
			clear(piece)
		}
		n += len(piece)
	}
	return len(dst)
}

func (c *content) writeAt(src []byte, off int64) {
	for n := 0; n < len(src); {
		at := off + int64(n)
		n += copy(c.writable(at / pageSize).bytes[at%pageSize:], src[n:])
	}
	c.size = max(c.size, off+int64(len(src)))
}

func (c *content) writable(number int64) *page {
	p := c.pages[number]
	if p != nil && !p.shared.Load() {
		return p
	}
	fresh := &page{}
	if p != nil {
		fresh.bytes = p.bytes
	}
	if c.pages == nil {
		c.pages = make(map[int64]*page)
	}
	c.pages[number] = fresh
	return fresh
}

func (c *content) truncate(size int64) {
	if size < c.size {
		for number := range c.pages {
			if number*pageSize >= size {
				delete(c.pages, number)
			}
		}
		if rest := size % pageSize; rest != 0 && c.pages[size/pageSize] != nil {
			clear(c.writable(size / pageSize).bytes[rest:])
		}
	}
	c.size = size
}

// memFile is an open file of a Mem.
type memFile struct {
	fs   *Mem
	node *node
	name string
	flag int

	closed bool // guarded by fs.mu
}

const accessMask = os.O_RDONLY | os.O_WRONLY | os.O_RDWR

func (f *memFile) failed(op string, err error) error {
	return &fs.PathError{Op: op, Path: f.name, Err: err}
}

// useLocked checks that the file is open, and opened for writing if need be.
func (f *memFile) useLocked(op string, write bool) error {
	access := f.flag & accessMask
	switch {
	case f.closed:
		return f.failed(op, fs.ErrClosed)
	case write && access == os.O_RDONLY, !write && access == os.O_WRONLY:
		return f.failed(op, syscall.EBADF)
	}
	return nil
}

func (f *memFile) Name() string { return f.name }

func (f *memFile) Fd() (uintptr, bool) { return 0, false }

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.useLocked("read", false); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, f.failed("read", syscall.EINVAL)
	}
	n := f.node.data.readAt(p, off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if err := f.fs.note(OpWrite, f.name); err != nil {
		return 0, err
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.useLocked("write", true); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, f.failed("write", syscall.EINVAL)
	}
	f.node.data.writeAt(p, off)
	f.node.mtime = time.Now()
	return len(p), nil
}

func (f *memFile) Truncate(size int64) error {
	if err := f.fs.note(OpTruncate, f.name); err != nil {
		return err
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.useLocked("truncate", true); err != nil {
		return err
	}
	if size < 0 {
		return f.failed("truncate", syscall.EINVAL)
	}
	f.node.data.truncate(size)
	f.node.mtime = time.Now()
	return nil
}

func (f *memFile) Sync() error {
	if err := f.fs.note(OpSync, f.name); err != nil {
		return err
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed {
		return f.failed("sync", fs.ErrClosed)
	}
	f.node.synced = f.node.data.snapshot()
	return nil
}

func (f *memFile) Stat() (fs.FileInfo, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed {
		return nil, f.failed("stat", fs.ErrClosed)
	}
	return f.node.info(splitPath(f.name)[len(splitPath(f.name))-1]), nil
}

func (f *memFile) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.closed {
		return f.failed("close", fs.ErrClosed)
	}
	f.closed = true
	return nil
}

// memInfo describes a node at one moment.
type memInfo struct {
	name  string
	size  int64
	mode  fs.FileMode
	mtime time.Time
}

func (n *node) info(name string) memInfo {
	return memInfo{name: name, size: n.data.size, mode: n.mode, mtime: n.mtime}
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) Mode() fs.FileMode  { return i.mode }
func (i memInfo) ModTime() time.Time { return i.mtime }
func (i memInfo) IsDir() bool        { return i.mode.IsDir() }
func (i memInfo) Sys() any           { return nil }
