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

	zstdDefaultLevel = 3
	zstdMinLevel     = -131072
	zstdMaxLevel     = 22
)

type zstdReader struct {
	src bytes.Reader
	dec *zstd.Decoder
}

var zstdReaders sync.Pool // of *zstdReader

func openZstd(payload []byte) (decompressor, error) {
	r, ok := zstdReaders.Get().(*zstdReader)
	if !ok {
		// One goroutine's worth of work and memory: with a concurrency of 1
		// the decoder starts no goroutines, so it can be left to the collector.
		dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, err
		}
		r = &zstdReader{dec: dec}
	}
	r.src.Reset(payload)
	if err := r.dec.Reset(readerOnly{&r.src}); err != nil {
		r.release()
		return nil, badCompression(Zstd, err)
	}
	return r, nil
}

// readerOnly hides that the source is in memory, lest the decoder takes that as
// leave to decompress all of it at once.
type readerOnly struct{ io.Reader }

func (r *zstdReader) Read(p []byte) (int, error) { return r.dec.Read(p) }

func (r *zstdReader) release() {
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
