package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func sized(frame []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)
}

// TestFramesOfAllSizes reads frames around every class of buffers, in one piece
// and a byte at a time.
func TestFramesOfAllSizes(t *testing.T) {
	var stream []byte
	var want [][]byte
	for _, class := range append([]int{1, 1000}, bufferClasses[:]...) {
		for _, n := range []int{class, class + 1, 3 * class} {
			frame := bytes.Repeat([]byte{byte(n), byte(n >> 8), 3}, n/3+1)[:n]
			want = append(want, frame)
			stream = append(stream, sized(frame)...)
		}
	}
	for name, r := range map[string]io.Reader{
		"whole":        bytes.NewReader(stream),
		"halves":       iotest.HalfReader(bytes.NewReader(stream)),
		"with the end": iotest.DataErrReader(bytes.NewReader(stream)),
		"when ready":   &readyReader{Reader: bytes.NewReader(stream)},
		"ready halves": &readyReader{Reader: iotest.HalfReader(bytes.NewReader(stream))},
		"ready pieces": &readyReader{Reader: &pieces{Reader: bytes.NewReader(stream)}},
	} {
		var buffers Buffers
		if ready, ok := r.(*readyReader); ok {
			ready.buffers = &buffers
		}
		f := NewFrameReader(r, "a", 100<<20, &buffers)
		for i, frame := range want {
			b, err := f.Next()
			if err != nil {
				t.Fatalf("%s, frame %d: %v", name, i, err)
			}
			if !bytes.Equal(b.B, frame) {
				t.Fatalf("%s, frame %d of %d bytes came back as %d others", name, i, len(frame), len(b.B))
			}
			buffers.Put(b)
		}
		if _, err := f.Next(); err != io.EOF {
			t.Fatalf("%s: %v at the end", name, err)
		}
	}
}

// readyReader takes its buffers when it reads, as a socket does.
type readyReader struct {
	io.Reader
	buffers *Buffers
}

func (r *readyReader) ReadReady(n int) (*Buffer, error) {
	b := r.buffers.Get(n)
	k, err := io.ReadAtLeast(r.Reader, b.B[:n], 1)
	b.B = b.B[:k]
	return b, err
}

// pieces reads 1, 2, 3, ... bytes at a time.
type pieces struct {
	io.Reader
	n int
}

func (p *pieces) Read(b []byte) (int, error) {
	p.n++
	return p.Reader.Read(b[:min(p.n, len(b))])
}

// TestShortFramesInARow reads frames that came in one piece: each is its own, and all buffers but those of the frames go back.
func TestShortFramesInARow(t *testing.T) {
	var stream []byte
	const frames = 3000
	for i := range frames {
		stream = append(stream, sized(bytes.Repeat([]byte{byte(i)}, 1+i%97))...)
	}
	var buffers Buffers
	f := NewFrameReader(bytes.NewReader(stream), "a", 1000, &buffers)
	var kept []*Buffer
	for i := range frames {
		b, err := f.Next()
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, b)
		if len(kept) > 10 {
			old := i - 10
			if !bytes.Equal(kept[0].B, bytes.Repeat([]byte{byte(old)}, 1+old%97)) {
				t.Fatalf("frame %d is not what it was", old)
			}
			buffers.Put(kept[0])
			kept = kept[1:]
		}
	}
	if _, err := f.Next(); err != io.EOF || f.rest != nil {
		t.Errorf("at the end: %v, %v is left", err, f.rest)
	}
}

func TestBadSizes(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"zero", "\x00\x00\x00\x00", "size 0 is not within 1 to 1000"},
		{"negative", "\xff\xff\xff\xff", "size -1 is not within"},
		{"above the limit", "\x00\x00\x03\xe9", "size 1001 is not within"},
		{"http", "GET / HTTP/1.1\r\n", "HTTP request"},
		{"tls", "\x16\x03\x01\x00\xc8\x01\x00", "TLS handshake"},
	}
	for _, test := range tests {
		var buffers Buffers
		_, err := NewFrameReader(strings.NewReader(test.in), "10.0.0.1:5", 1000, &buffers).Next()
		var frameErr *FrameError
		if !errors.As(err, &frameErr) || frameErr.Addr != "10.0.0.1:5" || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestEndInsideFrame(t *testing.T) {
	for _, in := range []string{"\x00", "\x00\x00\x00\x05", "\x00\x00\x00\x05abcd"} {
		var buffers Buffers
		_, err := NewFrameReader(strings.NewReader(in), "a", 1000, &buffers).Next()
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// TestClaimCostsLittle: a client that claims 100 MiB and sends little gets little.
func TestClaimCostsLittle(t *testing.T) {
	claim := binary.BigEndian.AppendUint32(nil, 100<<20)
	for _, sent := range []int{0, 10, 100 << 10} {
		in := append(append([]byte(nil), claim...), make([]byte, sent)...)
		var buffers Buffers
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := NewFrameReader(bytes.NewReader(in), "a", 100<<20, &buffers).Next()
		runtime.ReadMemStats(&after)
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > uint64(4*sent+128<<10) {
			t.Errorf("%d bytes sent, %d allocated", sent, got)
		}
	}
}

// FuzzFrame reads arbitrary bytes as a connection's requests.
func FuzzFrame(f *testing.F) {
	all := everything(f)
	for _, s := range all.byKey {
		if s != nil {
			f.Add(sized(append(headerOf(s.Key, s.Max, s.Max >= s.flexible), make([]byte, 40)...)))
		}
	}
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var buffers Buffers
		r := NewFrameReader(bytes.NewReader(in), "fuzz", 1<<20, &buffers)
		req := Request{RemoteAddr: "fuzz"}
		for {
			b, err := ReadRequest(r, all, &req)
			if err != nil {
				knownError(t, err)
				return
			}
			buffers.Put(b)
		}
	})
}

// knownError fails on errors that a server would not know how to log.
func knownError(t *testing.T, err error) {
	t.Helper()
	var frameErr *FrameError
	var decodeErr *DecodeError
	if !errors.As(err, &frameErr) && !errors.As(err, &decodeErr) && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("unexpected kind of error: %v", err)
	}
}
