package logstore

import (
	"io"

	"minibroker/internal/vfs"
)

// Range is a pinned range of bytes of one segment file: whole batches as they
// are stored. The file stays open until Release, even if the segment is
// deleted or the log is closed meanwhile.
type Range struct {
	segment *segment
	file    vfs.File
	pos     int64 // first byte in the file
	size    int64
	held    *chunk // the whole range, from pos - heldPos on; nil when it is in the file only
	heldPos int64
}

// Len is the number of bytes.
func (r *Range) Len() int64 { return r.size }

// ReadAt reads from off, relative to the range's start, and follows
// io.ReaderAt: io.EOF when the range ends before p is full.
func (r *Range) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= r.size {
		return 0, io.EOF
	}
	short := int64(len(p)) > r.size-off
	if short {
		p = p[:r.size-off]
	}
	var n int
	var err error
	if r.held != nil {
		n = copy(p, r.held[r.pos-r.heldPos+off:])
	} else {
		n, err = r.file.ReadAt(p, r.pos+off)
	}
	if err == nil && short {
		err = io.EOF
	}
	return n, err
}

// File gives the descriptor of the segment file and the position of the range
// in it, for sendfile; ok is false when there is no descriptor.
func (r *Range) File() (fd uintptr, off int64, ok bool) {
	fd, ok = r.file.Fd()
	return fd, r.pos, ok
}

// Release lets go of the file. It must be called exactly once.
func (r *Range) Release() {
	if r.held != nil {
		r.segment.log.env.chunks.put(r.held)
		r.held = nil
	}
	r.file = nil
	r.segment.unpin()
}
