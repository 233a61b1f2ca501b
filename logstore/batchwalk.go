package logstore

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"minibroker/record"
)

// errBadBatch means that the bytes at a position are no intact batch.
var errBadBatch = errors.New("bad batch")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batchWalk reads a file batch by batch and checks the checksum of each
// without ever holding more than its buffer.
type batchWalk struct {
	file  io.ReaderAt
	pos   int64
	limit int64
	buf   []byte // not smaller than a header
	have  []byte // bytes of buf that stand at pos

	head [record.HeaderSize]byte // of a batch that does not fit buf
}

// walkBuffer is how much a batchWalk reads at once: what a second-level cache
// holds, since the bytes are copied there and looked at once.
type walkBuffer [64 << 10]byte

// walkPool keeps the buffers of walks that ended.
type walkPool struct{ pool sync.Pool }

func (p *walkPool) get() *walkBuffer {
	if b, ok := p.pool.Get().(*walkBuffer); ok {
		return b
	}
	return new(walkBuffer)
}

func (p *walkPool) put(b *walkBuffer) { p.pool.Put(b) }

// minLength is the smallest batchLength Kafka's reader takes for one; zeros,
// which a preallocated file ends with, are below.
const minLength = 14

// next returns the batch at pos: whole if it fits the buffer, else its header;
// good until the next call. io.EOF when the rest is too short to be a batch;
// errBadBatch when it cannot be one.
func (w *batchWalk) next() (record.Batch, error) {
	left := w.limit - w.pos
	if left <= record.LogOverhead+5 { // nothing behind the magic byte
		return nil, io.EOF
	}
	head, err := w.fill(int(min(left, record.HeaderSize)))
	if err != nil {
		return nil, err
	}
	length := int32(uint32(head[8])<<24 | uint32(head[9])<<16 | uint32(head[10])<<8 | uint32(head[11]))
	if length < minLength {
		return nil, fmt.Errorf("%w: length field %d", errBadBatch, length)
	}
	size := int64(length) + record.LogOverhead
	if size > left {
		return nil, io.EOF
	}
	if size < record.HeaderSize {
		return nil, fmt.Errorf("%w: %d bytes", errBadBatch, size)
	}
	read := w.small
	if size > int64(len(w.buf)) {
		read = w.large
	}
	batch, sum, err := read(size)
	if err != nil {
		return nil, err
	}
	if batch.CRC() != sum {
		return nil, fmt.Errorf("%w: checksum %#08x, stored %#08x", errBadBatch, sum, batch.CRC())
	}
	w.pos += size
	return batch, nil
}

// covered is where the bytes begin that the checksum is of: at the attributes.
const covered = 21

// small reads a batch that fits the buffer and computes its checksum.
func (w *batchWalk) small(size int64) (record.Batch, uint32, error) {
	b, err := w.fill(int(size))
	if err != nil {
		return nil, 0, err
	}
	w.have = w.have[size:]
	return record.Batch(b), crc32.Checksum(b[covered:], castagnoli), nil
}

// large computes the checksum of a batch piece by piece. Each byte of the file
// is read once.
func (w *batchWalk) large(size int64) (record.Batch, uint32, error) {
	copy(w.head[:], w.have)
	sum, at, end := crc32.Checksum(w.have[covered:], castagnoli), w.pos+int64(len(w.have)), w.pos+size
	w.have = nil
	for at < end {
		n, err := w.file.ReadAt(w.buf[:min(int64(len(w.buf)), w.limit-at)], at)
		if n == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, 0, err
		}
		mine := min(int64(n), end-at)
		sum = crc32.Update(sum, castagnoli, w.buf[:mine])
		at += mine
		w.have = w.buf[mine:n]
	}
	return w.head[:], sum, nil
}

// fill returns n bytes at pos. What of them is there already is moved to the
// front of the buffer and not read again.
func (w *batchWalk) fill(n int) ([]byte, error) {
	if len(w.have) >= n {
		return w.have[:n], nil
	}
	kept := copy(w.buf, w.have)
	want := min(int64(len(w.buf)), w.limit-w.pos)
	got, err := w.file.ReadAt(w.buf[kept:want], w.pos+int64(kept))
	w.have = w.buf[:kept+got]
	if len(w.have) >= n {
		return w.have[:n], nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	return nil, err
}
