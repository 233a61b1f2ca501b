package cleaner

import (
	"errors"
	"fmt"
	"io"

	"minibroker/logstore"
	"minibroker/record"
)

// batchReader walks the batches of segments through one buffer, which grows for
// a batch that does not fit and is its old self for the next segment.
type batchReader struct {
	size int               // of the buffer by default, bytes
	read func(n int) error // told after each piece that was read

	segment logstore.Segment
	file    *logstore.Range
	small   []byte
	buf     []byte
	lo, hi  int   // the bytes in buf that are not used yet
	pos     int64 // of buf[lo] in the file
}

// errNotWhole says that a segment does not end with a whole batch.
var errNotWhole = errors.New("no whole batch")

// open begins at a batch boundary of a segment.
func (r *batchReader) open(s logstore.Segment, pos int64) error {
	file, err := s.Open()
	if err != nil {
		return err
	}
	if r.small == nil {
		r.small = make([]byte, r.size)
	}
	r.segment, r.file, r.pos = s, file, pos
	r.buf, r.lo, r.hi = r.small, 0, 0
	return nil
}

func (r *batchReader) close() {
	r.file.Release()
	r.file, r.buf = nil, nil
}

// next returns a batch, valid until the next call, and its position; io.EOF
// behind the last one. Faults of the bytes come as *logstore.CorruptError.
//
// Of a batch that is not in the buffer yet only the header is read and returned
// when headerEnough says so; nil for never.
func (r *batchReader) next(headerEnough func(record.Batch) bool) (record.Batch, int64, error) {
	for {
		b, rest, err := record.Next(r.buf[r.lo:r.hi])
		if err == nil {
			r.lo = r.hi - len(rest)
			return b, r.passed(int64(len(b))), nil
		}
		if !errors.Is(err, record.ErrTruncated) {
			return nil, r.pos, r.segment.Corrupt(r.pos, err)
		}
		left := r.file.Len() - r.pos
		if left == 0 {
			return nil, r.pos, io.EOF
		}
		b = record.Batch(r.buf[r.lo:r.hi])
		if headerEnough != nil && len(b) >= record.HeaderSize && int64(b.Size()) <= left && headerEnough(b) {
			r.lo, r.hi = 0, 0
			return b[:record.HeaderSize], r.passed(int64(b.Size())), nil
		}
		if err := r.fill(left); err != nil {
			return nil, r.pos, err
		}
	}
}

// passed moves on by n bytes and returns where it stood before.
func (r *batchReader) passed(n int64) (at int64) {
	at = r.pos
	r.pos += n
	return at
}

// fill reads more behind the bytes that begin a batch. left is what the segment
// has from that batch on.
func (r *batchReader) fill(left int64) error {
	have, need := r.hi-r.lo, int64(record.LogOverhead)
	if have >= record.LogOverhead {
		need = int64(record.Batch(r.buf[r.lo:r.hi]).Size())
	}
	if need > left {
		return r.segment.Corrupt(r.pos, fmt.Errorf("%w: batch of %d bytes, %d left", errNotWhole, need, left))
	}
	into := r.buf
	if need > int64(len(into)) {
		into = make([]byte, need)
	}
	if r.lo > 0 || len(into) > len(r.buf) {
		copy(into, r.buf[r.lo:r.hi])
	}
	r.buf, r.lo, r.hi = into, 0, have
	// A large batch is read to its end only: the start of the next would have to be moved.
	n := int(min(max(int64(r.size), need)-int64(have), left-int64(have)))
	got, err := r.file.ReadAt(into[have:have+n], r.pos+int64(have))
	if got < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = r.segment.Corrupt(r.pos, io.ErrUnexpectedEOF)
		}
		return err
	}
	r.hi += n
	return r.read(n)
}
