package logstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"minibroker/record"
)

// countingReader counts the bytes that are read.
type countingReader struct {
	io.ReaderAt
	read int64
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.read += int64(n)
	return n, err
}

// walkAll lists the batches that a walk with a buffer of n bytes finds, and how it ends.
func walkAll(file io.ReaderAt, limit int64, n int) (found []string, end error) {
	walk := batchWalk{file: file, limit: limit, buf: make([]byte, n)}
	for {
		at := walk.pos
		b, err := walk.next()
		if err != nil {
			return found, fmt.Errorf("%d: %w", at, err)
		}
		if whole := b.Size() <= n; whole != (len(b) == b.Size()) {
			return found, fmt.Errorf("%d: %d bytes of a batch of %d in a buffer of %d", at, len(b), b.Size(), n)
		}
		found = append(found, fmt.Sprintf("%d-%d at %d, %d", b.BaseOffset(), b.LastOffset(), at, b.MaxTimestamp()))
	}
}

// TestBatchWalk: with each size of its buffer a walk finds the same batches and the same damage, and reads no byte twice.
func TestBatchWalk(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var file []byte
	var starts []int
	for at := int64(0); at < 40; at++ {
		b := record.NewBuilder(record.BuilderOptions{BaseOffset: at})
		must(t, b.Append(record.Record{Timestamp: 1000 + at, Value: bytes.Repeat([]byte{byte(at)}, random.IntN(700))}))
		batch, err := b.Build()
		must(t, err)
		starts = append(starts, len(file))
		file = append(file, batch...)
	}
	flipped := bytes.Clone(file)
	flipped[starts[30]+40] ^= 1
	for name, content := range map[string][]byte{
		"good": file, "torn": file[:len(file)-5], "zeros behind": append(bytes.Clone(file), make([]byte, 300)...), "flipped bit": flipped,
	} {
		want, wantEnd := walkAll(bytes.NewReader(content), int64(len(content)), len(content))
		if len(want) < 30 {
			t.Fatalf("%s: %d batches", name, len(want))
		}
		for n := record.HeaderSize; n < 900; n += 7 {
			reader := &countingReader{ReaderAt: bytes.NewReader(content)}
			found, end := walkAll(reader, int64(len(content)), n)
			if fmt.Sprint(found) != fmt.Sprint(want) || end.Error() != wantEnd.Error() || errors.Is(end, errBadBatch) != errors.Is(wantEnd, errBadBatch) {
				t.Fatalf("%s, buffer of %d: %d batches, %v; want %d, %v", name, n, len(found), end, len(want), wantEnd)
			}
			if reader.read > int64(len(content)) {
				t.Errorf("%s, buffer of %d: %d bytes read of %d", name, n, reader.read, len(content))
			}
		}
	}
}
