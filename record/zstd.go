package record

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// maxZstdWindow is the largest window that a frame may ask for, in bytes:
	// the limit of zstd's own library unless told otherwise.
	maxZstdWindow = 128 << 20
	// usualZstdWindow is the largest that decoders in the pool keep memory for.
	// Kafka's producers stay below it up to level 19.
	usualZstdWindow = 8 << 20
	// largeZstdReaders is how many frames with larger windows are decompressed
	// at a time: a few bytes can ask for maxZstdWindow.
	largeZstdReaders = 2

	zstdDefaultLevel = 3
	zstdMinLevel     = -131072
	zstdMaxLevel     = 22
)

type zstdReader struct {
	src   bytes.Reader
	dec   *zstd.Decoder
	large bool // holds a place in zstdPlaces, is not pooled
}

var zstdReaders sync.Pool // of *zstdReader, without large ones

// zstdPlaces holds a value for each large reader. The memory that it bounds is
// the process's, so there is one.
var zstdPlaces = sync.OnceValue(func() chan struct{} { return make(chan struct{}, largeZstdReaders) })

func openZstd(payload []byte) (decompressor, error) {
	var head zstd.Header
	if err := head.Decode(payload); err != nil {
		return nil, badCompression(Zstd, err)
	}
	window := head.WindowSize
	if head.SingleSegment {
		window = head.FrameContentSize
	}
	var r *zstdReader
	var err error
	if window > usualZstdWindow {
		zstdPlaces() <- struct{}{}
		r, err = newZstdReader(maxZstdWindow)
		if err != nil {
			<-zstdPlaces()
			return nil, err
		}
		r.large = true
	} else if pooled, ok := zstdReaders.Get().(*zstdReader); ok {
		r = pooled
	} else if r, err = newZstdReader(usualZstdWindow); err != nil {
		return nil, err
	}
	r.src.Reset(payload)
	if err := r.dec.Reset(readerOnly{&r.src}); err != nil {
		r.release()
		return nil, badCompression(Zstd, err)
	}
	return r, nil
}

// newZstdReader makes a decoder without goroutines, which can be left to the
// garbage collector.
func newZstdReader(window uint64) (*zstdReader, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(window))
	if err != nil {
		return nil, err
	}
	return &zstdReader{dec: dec}, nil
}

// readerOnly hides that the source is in memory, lest the decoder takes that as
// leave to decompress all of it at once.
type readerOnly struct{ io.Reader }

func (r *zstdReader) Read(p []byte) (int, error) { return r.dec.Read(p) }

func (r *zstdReader) release() {
	if r.large {
		r.dec.Close()
		<-zstdPlaces()
		return
	}
	r.src.Reset(nil)
	if r.dec.Reset(nil) == nil {
		zstdReaders.Put(r)
	}
}

type zstdWriter struct {
	*zstd.Encoder
	pool *sync.Pool
}

// zstdWriters has a pool for each of the four speeds that the encoder knows.
var zstdWriters [zstd.SpeedBestCompression + 1]sync.Pool

func newZstd(level int, w io.Writer) (compressor, error) {
	if level < zstdMinLevel || level > zstdMaxLevel {
		return nil, fmt.Errorf("zstd level %d is not %d to %d", level, zstdMinLevel, zstdMaxLevel)
	}
	if level == 0 {
		level = zstdDefaultLevel
	}
	speed := zstd.EncoderLevelFromZstd(level)
	pool := &zstdWriters[speed]
	if enc, ok := pool.Get().(*zstd.Encoder); ok {
		enc.Reset(w)
		return &zstdWriter{enc, pool}, nil
	}
	// Kafka's batches carry their own checksum; its zstd frames have none.
	enc, err := zstd.NewWriter(w, zstd.WithEncoderLevel(speed), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false), zstd.WithWindowSize(1<<20), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, err
	}
	return &zstdWriter{enc, pool}, nil
}

func (w *zstdWriter) Close() error {
	err := w.Encoder.Close()
	w.Encoder.Reset(nil)
	w.pool.Put(w.Encoder)
	return err
}
