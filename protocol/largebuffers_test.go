package protocol

import (
	"bytes"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

const mib = 1 << 20

// TestLargeBuffersComeAgain: no more of them are made than are in use at the same time.
func TestLargeBuffersComeAgain(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		made := 0
		var buffers Buffers
		buffers.large.provide = func(n int) ([]byte, error) { made++; return mapMemory(n) }
		for _, n := range []int{5 * mib, 8*mib + 1, 30 * mib, 6 * mib} {
			b := buffers.Get(n)
			if cap(b.B) < n || len(b.B) != 0 {
				t.Fatalf("asked for %d bytes, got %d of %d", n, len(b.B), cap(b.B))
			}
			b.B = b.B[:n]
			b.B[0], b.B[n-1] = 1, 2
			buffers.Put(b)
		}
		if made != 3 {
			t.Errorf("5, 9, 30 and 6 MiB, one after the other, took %d mappings", made)
		}
		a, b := buffers.Get(5*mib), buffers.Get(5*mib)
		if &a.B[:1][0] == &b.B[:1][0] {
			t.Error("the same buffer was given out twice")
		}
		buffers.Put(a)
		buffers.Put(b)
		if made != 3 {
			t.Errorf("a smaller buffer was made where a larger one was free: %d", made)
		}
		endsOf(t, &buffers)
	})
}

// endsOf waits until all free buffers have gone back to the system.
func endsOf(t *testing.T, buffers *Buffers) {
	t.Helper()
	time.Sleep(2*largeUnused + time.Millisecond)
	synctest.Wait()
	if n := freeCount(&buffers.large); n != 0 {
		t.Errorf("%d free buffers are left", n)
	}
}

func freeCount(l *largeBuffers) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.free)
}

// takeFree takes the free buffer that begins there.
func takeFree(l *largeBuffers, first *byte) *Buffer {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.free, func(b *Buffer) bool { return &b.B[:1][0] == first })
	if at < 0 {
		return nil
	}
	return l.removeLocked(at)
}

// TestLargeBuffersInUseStay: what is taken again and again stays, the rest of it goes, and so does what nobody takes.
func TestLargeBuffersInUseStay(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		var buffers Buffers
		b, other := buffers.Get(20*mib), buffers.Get(20*mib)
		first := &b.B[:1][0]
		b.B = b.B[:20*mib]
		b.B[5*mib-1], b.B[20*mib-1] = 7, 8
		buffers.Put(other)
		buffers.Put(b)
		for range 10 {
			time.Sleep(largeUnused / 2)
			synctest.Wait()
			b = takeFree(&buffers.large, first)
			if b == nil {
				t.Fatal("a buffer in use was dropped")
			}
			b.B = b.B[:5*mib]
			buffers.Put(b)
		}
		if n := freeCount(&buffers.large); n != 1 {
			t.Errorf("%d buffers are free where one was used", n)
		}
		b = takeFree(&buffers.large, first)
		whole := b.B[:20*mib]
		if whole[5*mib-1] != 7 || b.large.resident != 5*mib {
			t.Errorf("after frames of 5 MiB %d bytes have memory; the last of them is %d, not 7", b.large.resident, whole[5*mib-1])
		}
		buffers.Put(b)
		endsOf(t, &buffers)
	})
}

// TestLargeFramesWithoutMappings: where the system gives no mapping, memory follows the bytes all the same.
func TestLargeFramesWithoutMappings(t *testing.T) {
	var buffers Buffers
	buffers.large.provide = func(int) ([]byte, error) { return nil, unix.ENOMEM }
	frame := make([]byte, 21*mib)
	for i := range frame {
		frame[i] = byte(i >> 10)
	}
	stream := append(sized(frame), sized(frame[:5*mib])...)
	f := NewFrameReader(bytes.NewReader(stream), "a", 100*mib, &buffers)
	for _, want := range [][]byte{frame, frame[:5*mib]} {
		b, err := f.Next()
		if err != nil || !bytes.Equal(b.B, want) {
			t.Fatalf("a frame of %d bytes came back otherwise: %v", len(want), err)
		}
		buffers.Put(b)
	}
	if n := freeCount(&buffers.large); n != 0 {
		t.Errorf("%d buffers that are no mappings are kept", n)
	}
}

// BenchmarkLargeFrames reads requests of 10 MiB.
func BenchmarkLargeFrames(b *testing.B) {
	var buffers Buffers
	stream := sized(make([]byte, 10*mib))
	f := NewFrameReader(&endless{stream: stream}, "a", 100*mib, &buffers)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		frame, err := f.Next()
		if err != nil {
			b.Fatal(err)
		}
		buffers.Put(frame)
	}
}

// endless repeats a stream.
type endless struct {
	stream []byte
	rest   []byte
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		e.rest = e.stream
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

var _ io.Reader = (*endless)(nil)
