package record

import (
	"fmt"
	"io"
)

// Codec is how the records of a batch are compressed; the number is the one in
// the batch's attributes.
type Codec int8

// The codecs.
const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	Lz4    Codec = 3
	Zstd   Codec = 4
)

var codecNames = [...]string{"none", "gzip", "snappy", "lz4", "zstd"}

// Known tells whether c is one of the five codecs.
func (c Codec) Known() bool { return c >= None && c <= Zstd }

// String returns the name that compression.type uses, except that None is
// "none".
func (c Codec) String() string {
	if !c.Known() {
		return fmt.Sprintf("unknown codec %d", int8(c))
	}
	return codecNames[c]
}

// decompressor reads the plain records. Its errors, io.EOF apart, mean that the
// compressed bytes are broken.
type decompressor interface {
	io.Reader
	// release gives the decompressor back to its pool.
	release()
}

// compressor writes the compressed records to the writer that it was opened
// with. Close writes what is left and gives it back to its pool.
type compressor interface {
	io.WriteCloser
}

// openDecompressor starts reading a compressed block. The payload must not
// change until release.
func openDecompressor(c Codec, payload []byte) (decompressor, error) {
	switch c {
	case Gzip:
		return openGzip(payload)
	case Snappy:
		return openSnappy(payload)
	case Lz4:
		return openLz4(payload)
	case Zstd:
		return openZstd(payload)
	}
	return nil, fmt.Errorf("%w: %v", ErrUnsupportedCompression, c)
}

// openCompressor starts a compressed block. Level 0 is the codec's default,
// others are those of compression.<codec>.level.
func openCompressor(c Codec, level int, w io.Writer) (compressor, error) {
	switch c {
	case Gzip:
		return newGzip(level, w)
	case Snappy:
		return newSnappy(w)
	case Lz4:
		return newLz4(level, w)
	case Zstd:
		return newZstd(level, w)
	}
	return nil, fmt.Errorf("%w: %v", ErrUnsupportedCompression, c)
}

// Compress appends src as one compressed block, of the form that Kafka's broker
// writes, to dst. Level 0 is the codec's default. None appends src itself.
func Compress(dst, src []byte, c Codec, level int) ([]byte, error) {
	if c == None {
		return append(dst, src...), nil
	}
	out := &sink{buf: dst}
	w, err := openCompressor(c, level, out)
	if err != nil {
		return dst, err
	}
	if _, err := w.Write(src); err != nil {
		w.Close()
		return dst, err
	}
	if err := w.Close(); err != nil {
		return dst, err
	}
	return out.buf, nil
}

// Decompress appends what the compressed block src holds to dst. More than
// limit bytes are ErrMessageTooLarge, broken ones ErrBadCompression.
func Decompress(dst, src []byte, c Codec, limit int) ([]byte, error) {
	if c == None {
		if len(src) > limit {
			return dst, fmt.Errorf("%w: more than %d bytes", ErrMessageTooLarge, limit)
		}
		return append(dst, src...), nil
	}
	r, err := openDecompressor(c, src)
	if err != nil {
		return dst, err
	}
	defer r.release()
	start := len(dst)
	var piece [4096]byte
	for {
		n, err := r.Read(piece[:])
		if len(dst)-start+n > limit {
			return dst[:start], fmt.Errorf("%w: more than %d bytes when decompressed", ErrMessageTooLarge, limit)
		}
		dst = append(dst, piece[:n]...)
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst[:start], badCompression(c, err)
		}
	}
}

func badCompression(c Codec, err error) error {
	return fmt.Errorf("%w (%v): %w", ErrBadCompression, c, err)
}

// sink collects bytes. Past its limit it only counts them, so that who fills it
// finds out in the end that it was too much.
type sink struct {
	buf   []byte
	limit int // 0 = none; counts the bytes that buf began with
	over  bool
}

func (s *sink) Write(p []byte) (int, error) {
	if s.limit > 0 && len(s.buf)+len(p) > s.limit {
		s.over = true
	}
	if !s.over {
		s.buf = append(s.buf, p...)
	}
	return len(p), nil
}
