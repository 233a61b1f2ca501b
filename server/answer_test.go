package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// rangeOf is a source over a file, with or without a descriptor to send from.
type rangeOf struct {
	file     *os.File
	off, n   int64
	hidden   bool // File reports nothing
	released *atomic.Int32
}

func (r *rangeOf) Len() int64 { return r.n }
func (r *rangeOf) ReadAt(p []byte, off int64) (int, error) {
	return r.file.ReadAt(p, r.off+off)
}
func (r *rangeOf) File() (uintptr, int64, bool) { return r.file.Fd(), r.off, !r.hidden }
func (r *rangeOf) Release()                     { r.released.Add(1) }

// segment is a file of random bytes.
func segment(t testing.TB, n int) (*os.File, []byte) {
	t.Helper()
	content := make([]byte, n)
	rnd := rand.NewChaCha8([32]byte{1})
	rnd.Read(content)
	name := filepath.Join(t.TempDir(), "00000000000000000000.log")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file, content
}

func TestPartsArriveAsOneFrame(t *testing.T) {
	file, content := segment(t, 8<<20)
	var released, done atomic.Int32
	sizes := []int64{0, 1, smallBytes, smallBytes + 1, gatherBytes, copyBytes + 1, sendfileBytes, sendfileBytes + 1, 3 << 20}
	for _, hidden := range []bool{false, true} {
		var want []byte
		f := start(t, Options{Handler: listing(func(context.Context, *protocol.Request) (protocol.Response, error) {
			var parts []protocol.Part
			want = nil
			off := int64(1)
			for i, n := range append(sizes, sizes...) {
				label := bytes.Repeat([]byte{byte(i)}, 7+i%3*smallBytes)
				parts = append(parts, protocol.Part{Bytes: label},
					protocol.Part{Source: &rangeOf{file, off, n, hidden, &released}})
				want = append(append(want, label...), content[off:off+n]...)
				off += int64(i)
			}
			return protocol.Response{Parts: parts, Done: func() { done.Add(1) }}, nil
		})})
		c := f.dial(t)
		for range 3 {
			released.Store(0)
			done.Store(0)
			c.send(&kmsg.FetchRequest{Version: 11}, 8)
			id, body := c.receive()
			if id != 8 || !bytes.Equal(body, want) {
				t.Fatalf("hidden %v: id %d, %d bytes, want %d", hidden, id, len(body), len(want))
			}
			c.works() // the release comes after the last byte
			if released.Load() != int32(2*len(sizes)) || done.Load() != 1 {
				t.Errorf("hidden %v: %d releases, %d done", hidden, released.Load(), done.Load())
			}
		}
	}
}

func TestPartsAfterFlexibleHeader(t *testing.T) {
	f := start(t, Options{Handler: listing(func(context.Context, *protocol.Request) (protocol.Response, error) {
		return protocol.Response{Parts: []protocol.Part{{Bytes: []byte("body")}}}, nil
	})})
	c := f.dial(t)
	c.send(&kmsg.FetchRequest{Version: 12}, 1)
	if _, body := c.receive(); string(body) != "\x00body" {
		t.Errorf("body %q", body)
	}
}

// TestShortFileClosesConnection: a promise that cannot be kept must not become
// an answer with other bytes in it.
func TestShortFileClosesConnection(t *testing.T) {
	file, _ := segment(t, 100<<10)
	for name, n := range map[string]int64{"gathered": smallBytes, "sent": 90 << 10} {
		for _, hidden := range []bool{false, true} {
			var released atomic.Int32
			f := start(t, Options{Handler: listing(func(context.Context, *protocol.Request) (protocol.Response, error) {
				return protocol.Response{Parts: []protocol.Part{
					{Source: &rangeOf{file, 100<<10 - n + 1, n, hidden, &released}},
				}}, nil
			})})
			c := f.dial(t)
			c.send(&kmsg.FetchRequest{Version: 4}, 1)
			got, err := io.ReadAll(c)
			if err != nil || int64(len(got)) >= 8+n {
				t.Errorf("%s, hidden %v: %d bytes, %v", name, hidden, len(got), err)
			}
			f.Close()
			if released.Load() != 1 {
				t.Errorf("%s, hidden %v: %d releases", name, hidden, released.Load())
			}
			if log := f.log.String(); !strings.Contains(log, "Fetch v4") || !strings.Contains(log, "shorter than the range") {
				t.Errorf("%s, hidden %v: log %s", name, hidden, log)
			}
		}
	}
}

// TestReleaseWithError: sources that come together with an error are released.
func TestReleaseWithError(t *testing.T) {
	var released atomic.Int32
	f := start(t, Options{Handler: handlerFunc(func(context.Context, *protocol.Request) (protocol.Response, error) {
		return protocol.Response{Parts: []protocol.Part{{Source: &rangeOf{released: &released}}}}, errors.New("no")
	})})
	c := f.dial(t)
	c.send(&kmsg.FetchRequest{Version: 4}, 1)
	c.closed()
	f.Close()
	if released.Load() != 1 {
		t.Errorf("%d releases", released.Load())
	}
}

// TestClientThatDoesNotRead holds up its own connection only, and lets go of
// its source when the server closes.
func TestClientThatDoesNotRead(t *testing.T) {
	file, _ := segment(t, 32<<20)
	for _, hidden := range []bool{false, true} {
		var released atomic.Int32
		f := start(t, Options{Handler: listing(func(context.Context, *protocol.Request) (protocol.Response, error) {
			return protocol.Response{Parts: []protocol.Part{{Source: &rangeOf{file, 0, 32 << 20, hidden, &released}}}}, nil
		})})
		slow, other := f.dial(t), f.dial(t)
		slow.send(&kmsg.FetchRequest{Version: 4}, 1)
		if _, err := io.ReadFull(slow, make([]byte, 100)); err != nil { // it is on its way
			t.Fatal(err)
		}
		for range 10 {
			other.works()
		}
		if released.Load() != 0 {
			t.Errorf("hidden %v: released before it was sent", hidden)
		}
		f.Close()
		if released.Load() != 1 {
			t.Errorf("hidden %v: %d releases", hidden, released.Load())
		}
	}
}

// TestClientThatDies in the middle of an answer.
func TestClientThatDies(t *testing.T) {
	file, _ := segment(t, 32<<20)
	done := make(chan struct{})
	var released atomic.Int32
	f := start(t, Options{Handler: listing(func(context.Context, *protocol.Request) (protocol.Response, error) {
		return protocol.Response{
			Parts: []protocol.Part{{Source: &rangeOf{file, 0, 32 << 20, false, &released}}},
			Done:  func() { close(done) },
		}, nil
	})})
	c := f.dial(t)
	c.send(&kmsg.FetchRequest{Version: 4}, 1)
	if _, err := io.ReadFull(c, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	<-done
	if released.Load() != 1 {
		t.Errorf("%d releases", released.Load())
	}
}
