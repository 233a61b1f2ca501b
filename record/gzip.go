package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// errCutGzip says that a gzip block ends too early. Kafka treats that one as
// records that are missing, not as a broken block.
var errCutGzip = errors.New("gzip data ends before the stream does")

type gzipReader struct {
	src bytes.Reader
	gz  gzip.Reader
}

var gzipReaders = sync.Pool{New: func() any { return new(gzipReader) }}

func openGzip(payload []byte) (decompressor, error) {
	r := gzipReaders.Get().(*gzipReader)
	r.src.Reset(payload)
	if err := r.gz.Reset(&r.src); err != nil {
		r.release()
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, badCompression(Gzip, err)
	}
	return r, nil
}

func (r *gzipReader) Read(p []byte) (int, error) {
	n, err := r.gz.Read(p)
	if err == io.ErrUnexpectedEOF {
		err = errCutGzip
	}
	return n, err
}

func (r *gzipReader) release() {
	r.src.Reset(nil)
	gzipReaders.Put(r)
}

type gzipWriter struct {
	*gzip.Writer
	pool *sync.Pool
}

// gzipWriters has a pool for each level: the default (0) and 1 to 9.
var gzipWriters [10]sync.Pool

func newGzip(level int, w io.Writer) (compressor, error) {
	slot := level
	if level == gzip.DefaultCompression || level == 0 {
		level, slot = gzip.DefaultCompression, 0
	}
	if slot < 0 || slot > gzip.BestCompression {
		return nil, fmt.Errorf("gzip level %d is not -1 or 1 to 9", level)
	}
	pool := &gzipWriters[slot]
	if gz, ok := pool.Get().(*gzip.Writer); ok {
		gz.Reset(w)
		return &gzipWriter{gz, pool}, nil
	}
	gz, err := gzip.NewWriterLevel(w, level)
	if err != nil {
		return nil, err
	}
	return &gzipWriter{gz, pool}, nil
}

func (w *gzipWriter) Close() error {
	err := w.Writer.Close()
	w.Writer.Reset(io.Discard)
	w.pool.Put(w.Writer)
	return err
}
