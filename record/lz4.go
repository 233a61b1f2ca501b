package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/pierrec/lz4/v4"
)

// An LZ4 frame, integers little-endian:
//
//	u32   magic 0x184d2204
//	u8    FLG: bits 6-7 version 1, 5 independent blocks, 4 block checksums,
//	      3 content size, 2 content checksum, 0-1 reserved
//	u8    BD: bits 4-6 block size 4 (64 KiB) to 7 (4 MiB)
//	u64   content size, if FLG says so
//	u8    second byte of xxHash32 of all from FLG
//	then blocks: u32 size (bit 31: not compressed), bytes, u32 checksum if FLG says so
//	u32   0
//	u32   content checksum, if FLG says so
//
// Written are FLG 0x60 and BD 0x40, as Kafka does. Like Kafka, the reader wants
// independent blocks, ignores the content checksum and what follows the frame.
const (
	lz4Magic           = 0x184d2204
	lz4Version         = 0x40
	lz4VersionMask     = 0xc0
	lz4Independent     = 0x20
	lz4BlockChecksum   = 0x10
	lz4ContentSize     = 0x08
	lz4ContentChecksum = 0x04
	lz4Reserved        = 0x03
	lz4Uncompressed    = 1 << 31
	lz4BlockSize       = 64 << 10 // of the blocks that are written
	lz4BlockSizeCode   = 0x40

	// maxLz4Ratio bounds what one byte of an LZ4 block can stand for.
	maxLz4Ratio = 255
	// usualLz4Ratio is what a block is first expected to stand for: enough for
	// nearly all, and far less than the largest block that the frame allows.
	usualLz4Ratio = 4
	// lz4DefaultLevel is Kafka's; it means the fast compressor.
	lz4DefaultLevel = 9
	lz4MaxLevel     = 17
)

var (
	errLz4Header = errors.New("lz4 frame header is malformed")
	errLz4Block  = errors.New("lz4 block is malformed")
	errLz4Cut    = errors.New("lz4 frame is cut off")
)

type lz4Reader struct {
	src      []byte // what follows the present block
	flags    byte
	maxBlock int    // bytes, by the frame's header
	block    []byte // plain bytes of the present block; it may lie in src
	own      []byte // the buffer for those
	at       int    // how many of block were read
	done     bool
}

var lz4Readers = sync.Pool{New: func() any { return new(lz4Reader) }}

func openLz4(payload []byte) (decompressor, error) {
	r := lz4Readers.Get().(*lz4Reader)
	*r = lz4Reader{src: payload, own: r.own}
	if err := r.header(); err != nil {
		r.release()
		return nil, badCompression(Lz4, err)
	}
	return r, nil
}

func (r *lz4Reader) header() error {
	if len(r.src) < 7 {
		return errLz4Cut
	}
	if binary.LittleEndian.Uint32(r.src) != lz4Magic {
		return errLz4Header
	}
	flags, bd := r.src[4], r.src[5]
	size := 6
	if flags&lz4ContentSize != 0 {
		size += 8
	}
	switch {
	case flags&lz4VersionMask != lz4Version, flags&lz4Reserved != 0, flags&lz4Independent == 0:
		return errLz4Header
	case bd&^0x70 != 0 || bd>>4 < 4:
		return errLz4Header
	case len(r.src) <= size:
		return errLz4Cut
	case r.src[size] != byte(xxHash32(r.src[4:size])>>8):
		return errLz4Header
	}
	r.flags, r.maxBlock = flags, 1<<(2*(bd>>4)+8)
	r.src = r.src[size+1:]
	return nil
}

func (r *lz4Reader) Read(p []byte) (int, error) {
	for r.at == len(r.block) {
		if r.done {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.block[r.at:])
	r.at += n
	return n, nil
}

// next makes the next block the present one, or sets done.
func (r *lz4Reader) next() error {
	if len(r.src) < 4 {
		return errLz4Cut
	}
	field := binary.LittleEndian.Uint32(r.src)
	r.src = r.src[4:]
	size := int64(field &^ lz4Uncompressed)
	if size == 0 {
		r.block, r.at, r.done = nil, 0, true
		if r.flags&lz4ContentChecksum != 0 && len(r.src) < 4 {
			return errLz4Cut
		}
		return nil
	}
	if size > int64(r.maxBlock) {
		return errLz4Block
	}
	if size > int64(len(r.src)) {
		return errLz4Cut
	}
	bytes := r.src[:size]
	r.src = r.src[size:]
	if r.flags&lz4BlockChecksum != 0 {
		if len(r.src) < 4 {
			return errLz4Cut
		}
		if binary.LittleEndian.Uint32(r.src) != xxHash32(bytes) {
			return errLz4Block
		}
		r.src = r.src[4:]
	}
	if field&lz4Uncompressed != 0 {
		r.block, r.at = bytes, 0
		return nil
	}
	return r.decode(bytes)
}

func (r *lz4Reader) decode(bytes []byte) error {
	most := min(r.maxBlock, maxLz4Ratio*len(bytes))
	for room := min(most, max(usualLz4Ratio*len(bytes), cap(r.own))); ; room = most {
		if cap(r.own) < room {
			r.own = make([]byte, room)
		}
		n, err := lz4.UncompressBlock(bytes, r.own[:room])
		if err == nil {
			r.block, r.at = r.own[:n], 0
			return nil
		}
		if room == most {
			return errLz4Block
		}
	}
}

// release gives the reader back with its buffer, which is at most one block,
// 4 MiB: a fresh one for each batch would cost more than reading it.
func (r *lz4Reader) release() {
	*r = lz4Reader{own: r.own}
	lz4Readers.Put(r)
}

type lz4Writer struct {
	w     io.Writer
	level int // of the slow compressor; 0: the fast one
	fast  lz4.Compressor
	slow  lz4.CompressorHC
	plain []byte // at most lz4BlockSize
	out   []byte // size field and block
}

var lz4Writers = sync.Pool{New: func() any {
	return &lz4Writer{
		plain: make([]byte, 0, lz4BlockSize),
		out:   make([]byte, 4+lz4.CompressBlockBound(lz4BlockSize)),
	}
}}

func newLz4(level int, w io.Writer) (compressor, error) {
	if level < 0 || level > lz4MaxLevel {
		return nil, fmt.Errorf("lz4 level %d is not 1 to %d", level, lz4MaxLevel)
	}
	if level == lz4DefaultLevel {
		level = 0
	}
	z := lz4Writers.Get().(*lz4Writer)
	z.w, z.level, z.plain = w, level, z.plain[:0]
	if level > 0 {
		z.slow.Level = lz4.CompressionLevel(1 << (8 + min(level, 9)))
	}
	var header [7]byte
	binary.LittleEndian.PutUint32(header[:], lz4Magic)
	header[4], header[5] = lz4Version|lz4Independent, lz4BlockSizeCode
	header[6] = byte(xxHash32(header[4:6]) >> 8)
	_, err := w.Write(header[:])
	return z, err
}

func (z *lz4Writer) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) {
		n := copy(z.plain[len(z.plain):cap(z.plain)], p[written:])
		z.plain = z.plain[:len(z.plain)+n]
		written += n
		if len(z.plain) == cap(z.plain) {
			if err := z.flush(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

func (z *lz4Writer) flush() error {
	var n int
	var err error
	if z.level > 0 {
		n, err = z.slow.CompressBlock(z.plain, z.out[4:])
	} else {
		n, err = z.fast.CompressBlock(z.plain, z.out[4:])
	}
	if err != nil {
		return fmt.Errorf("compress lz4 block: %w", err)
	}
	size := uint32(n)
	if n == 0 || n >= len(z.plain) { // it does not get smaller
		n = copy(z.out[4:], z.plain)
		size = uint32(n) | lz4Uncompressed
	}
	binary.LittleEndian.PutUint32(z.out, size)
	z.plain = z.plain[:0]
	_, err = z.w.Write(z.out[:4+n])
	return err
}

func (z *lz4Writer) Close() error {
	var err error
	if len(z.plain) > 0 {
		err = z.flush()
	}
	if err == nil {
		_, err = z.w.Write([]byte{0, 0, 0, 0})
	}
	z.w = nil
	lz4Writers.Put(z)
	return err
}
