package record

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/klauspost/compress/snappy"
)

// Snappy in Kafka is the stream of Java's snappy library:
//
//	82 53 4e 41 50 50 59 00   magic
//	i32 1                     version
//	i32 1                     oldest version that can read it
//	then blocks: i32 length, raw snappy block
//
// all integers big-endian. Where a block should begin, the whole header may
// come again. What does not start with the magic is one raw snappy block.
const (
	xerialMagic     = "\x82SNAPPY\x00"
	xerialHeader    = len(xerialMagic) + 8
	xerialVersion   = 1
	xerialBlockSize = 32 << 10 // plain bytes in a block that is written

	// maxSnappyRatio bounds what one byte of a snappy block can stand for: a
	// copy of 64 bytes takes three.
	maxSnappyRatio = 22
	// keepSnappy is the largest block buffer that goes back to the pool.
	keepSnappy = 4 << 20
)

var (
	errSnappyBlock  = errors.New("snappy block is malformed")
	errSnappyStream = errors.New("snappy stream is cut off")
)

type snappyReader struct {
	src   []byte // blocks that are not read yet
	raw   bool   // src is one raw block
	block []byte // plain bytes of the present block
	at    int    // how many of them were read
}

var snappyReaders = sync.Pool{New: func() any { return new(snappyReader) }}

func openSnappy(payload []byte) (decompressor, error) {
	r := snappyReaders.Get().(*snappyReader)
	r.src, r.raw, r.block, r.at = payload, true, r.block[:0], 0
	if len(payload) >= xerialHeader && string(payload[:len(xerialMagic)]) == xerialMagic {
		r.src, r.raw = payload[xerialHeader:], false
	}
	return r, nil
}

func (r *snappyReader) Read(p []byte) (int, error) {
	for r.at == len(r.block) {
		if len(r.src) == 0 {
			return 0, io.EOF
		}
		block, err := r.next()
		if err != nil {
			return 0, err
		}
		if err := r.decode(block); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.block[r.at:])
	r.at += n
	return n, nil
}

// next takes the next raw block off the source.
func (r *snappyReader) next() ([]byte, error) {
	if r.raw {
		block := r.src
		r.src = nil
		return block, nil
	}
	if len(r.src) >= xerialHeader && string(r.src[:len(xerialMagic)]) == xerialMagic {
		r.src = r.src[xerialHeader:]
	}
	if len(r.src) < 4 {
		return nil, errSnappyStream
	}
	n := int64(int32(binary.BigEndian.Uint32(r.src)))
	if n < 0 || n > int64(len(r.src)-4) {
		return nil, errSnappyStream
	}
	block := r.src[4 : 4+n]
	r.src = r.src[4+n:]
	return block, nil
}

func (r *snappyReader) decode(block []byte) error {
	size, err := snappy.DecodedLen(block)
	if err != nil || size > maxSnappyRatio*len(block) || !plainSnappy(block) {
		return errSnappyBlock
	}
	if cap(r.block) < size {
		r.block = make([]byte, size)
	}
	r.block, r.at = r.block[:size], 0
	if _, err := snappy.Decode(r.block, block); err != nil {
		r.block = r.block[:0]
		return errSnappyBlock
	}
	return nil
}

// plainSnappy tells whether the block keeps to snappy: the decoder also takes
// an extension that other readers do not know, marked by a copy from offset 0.
func plainSnappy(block []byte) bool {
	_, at := binary.Uvarint(block)
	if at <= 0 {
		return false
	}
	for at < len(block) {
		tag := block[at]
		switch tag & 3 {
		case 0: // literal
			n := int(tag >> 2)
			extra := max(0, n-59) // bytes that hold the length
			if at+1+extra > len(block) {
				return false
			}
			if extra > 0 {
				var le [4]byte
				copy(le[:], block[at+1:at+1+extra])
				n = int(binary.LittleEndian.Uint32(le[:]))
			}
			at += 1 + extra + n + 1
		case 1: // copy with 11 bits of offset
			if at+2 > len(block) || tag&0xe0 == 0 && block[at+1] == 0 {
				return false
			}
			at += 2
		case 2: // copy with 16 bits of offset
			if at+3 > len(block) || binary.LittleEndian.Uint16(block[at+1:]) == 0 {
				return false
			}
			at += 3
		default: // copy with 32 bits of offset
			if at+5 > len(block) || binary.LittleEndian.Uint32(block[at+1:]) == 0 {
				return false
			}
			at += 5
		}
	}
	return at == len(block)
}

func (r *snappyReader) release() {
	r.src = nil
	if cap(r.block) > keepSnappy {
		r.block = nil
	}
	snappyReaders.Put(r)
}

type snappyWriter struct {
	w     io.Writer
	plain []byte // at most xerialBlockSize
	out   []byte // length and compressed block
}

var snappyWriters = sync.Pool{New: func() any {
	return &snappyWriter{
		plain: make([]byte, 0, xerialBlockSize),
		out:   make([]byte, 4+snappy.MaxEncodedLen(xerialBlockSize)),
	}
}}

func newSnappy(w io.Writer) (compressor, error) {
	s := snappyWriters.Get().(*snappyWriter)
	s.w, s.plain = w, s.plain[:0]
	var header [xerialHeader]byte
	copy(header[:], xerialMagic)
	binary.BigEndian.PutUint32(header[8:], xerialVersion)
	binary.BigEndian.PutUint32(header[12:], xerialVersion)
	_, err := w.Write(header[:])
	return s, err
}

func (s *snappyWriter) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) {
		n := copy(s.plain[len(s.plain):cap(s.plain)], p[written:])
		s.plain = s.plain[:len(s.plain)+n]
		written += n
		if len(s.plain) == cap(s.plain) {
			if err := s.flush(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

func (s *snappyWriter) flush() error {
	block := snappy.Encode(s.out[4:], s.plain)
	binary.BigEndian.PutUint32(s.out, uint32(len(block)))
	s.plain = s.plain[:0]
	_, err := s.w.Write(s.out[:4+len(block)])
	return err
}

func (s *snappyWriter) Close() error {
	var err error
	if len(s.plain) > 0 {
		err = s.flush()
	}
	s.w = nil
	snappyWriters.Put(s)
	return err
}
