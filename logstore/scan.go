package logstore

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"minibroker/record"
)

// scanChunk is how much of a segment is read at once while walking headers:
// one page, the distance between two index entries by default.
const scanChunk = 4096

var errNoBatch = errors.New("no whole batch")

type chunk [scanChunk]byte

// headerScan walks the batches of a segment file by their headers alone.
type headerScan struct {
	file  io.ReaderAt
	pos   int64 // of the next batch
	limit int64 // end of the readable bytes

	chunk    *chunk
	chunkPos int64
	chunkLen int
}

// chunkPool is handed to each scan by its owner, so that no scan allocates.
type chunkPool struct{ pool sync.Pool }

func (p *chunkPool) get() *chunk {
	if c, ok := p.pool.Get().(*chunk); ok {
		return c
	}
	return new(chunk)
}

func (p *chunkPool) put(c *chunk) { p.pool.Put(c) }

// next returns the header (61 bytes, good for the getters of the fixed fields)
// and the position of the next batch, and moves behind it. io.EOF means that
// the scan ended exactly at the limit; an error that wraps errNoBatch that the
// bytes left make no whole batch. The header is valid until the next call.
func (h *headerScan) next() (record.Batch, int64, error) {
	left := h.limit - h.pos
	if left <= 0 {
		return nil, h.pos, io.EOF
	}
	if left < record.HeaderSize {
		return nil, h.pos, fmt.Errorf("%w: %d bytes left", errNoBatch, left)
	}
	head, err := h.header()
	if err != nil {
		return nil, h.pos, err
	}
	size := int64(head.Size())
	if size < record.HeaderSize || size > left {
		return nil, h.pos, fmt.Errorf("%w: batch of %d bytes, %d left", errNoBatch, size, left)
	}
	at := h.pos
	h.pos += size
	return head, at, nil
}

// has reports whether the chunk holds the bytes of [from, to) of the file.
func (h *headerScan) has(from, to int64) bool {
	return h.chunk != nil && from >= h.chunkPos && to <= h.chunkPos+int64(h.chunkLen)
}

func (h *headerScan) header() (record.Batch, error) {
	from := h.pos - h.chunkPos
	if from < 0 || from+record.HeaderSize > int64(h.chunkLen) {
		n := min(int64(scanChunk), h.limit-h.pos)
		got, err := h.file.ReadAt(h.chunk[:n], h.pos)
		if got < record.HeaderSize {
			if err == nil || errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("%w: file ends at %d", errNoBatch, h.pos+int64(got))
			}
			return nil, fmt.Errorf("read at %d: %w", h.pos, err)
		}
		h.chunkPos, h.chunkLen, from = h.pos, got, 0
	}
	return record.Batch(h.chunk[from : from+record.HeaderSize]), nil
}
