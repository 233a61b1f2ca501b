package client

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/record"
)

// TestPartitionOf holds the hash against values of Kafka's own tests.
func TestPartitionOf(t *testing.T) {
	for key, want := range map[string]int32{"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107} {
		if got := int32(murmur2([]byte(key))); got != want {
			t.Errorf("%s: %d, want %d", key, got, want)
		}
		if p := PartitionOf([]byte(key), 7); p != (want&0x7fffffff)%7 {
			t.Errorf("%s goes to %d", key, p)
		}
	}
}

// answering is a connection whose other side reads a request and answers with the bytes.
func answering(t *testing.T, answer []byte) *Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var size [4]byte
		if _, err := io.ReadFull(theirs, size[:]); err == nil {
			if _, err = io.CopyN(io.Discard, theirs, int64(binary.BigEndian.Uint32(size[:]))); err == nil {
				_, _ = theirs.Write(answer) // who asked may have gone
			}
		}
		_ = theirs.Close()
	}()
	t.Cleanup(func() { _ = ours.Close(); <-done })
	return &Conn{Addr: "pipe", conn: ours, format: kmsg.NewRequestFormatter()}
}

func TestAnswers(t *testing.T) {
	// The answer of version 0 with one key: error 0, one element, key 3 from 0 to 12.
	good := "\x00\x00\x00\x10" + "\x00\x00\x00\x01" + "\x00\x00" + "\x00\x00\x00\x01" + "\x00\x03\x00\x00\x00\x0c"
	for _, c := range []struct {
		answer string
		want   error
	}{
		{good, nil},
		{good[:19], io.ErrUnexpectedEOF},
		{good[:6], io.ErrUnexpectedEOF},
		{"", io.EOF},
		{"HTTP/1.1 400 Bad Request\r\n", ErrNoBroker},
		{"\x00\x00\x00\x03\x00\x00\x00\x01", ErrNoBroker},
		{"\x7f\xff\xff\xff\x00\x00\x00\x01", ErrNoBroker},
		{strings.Replace(good, "\x00\x00\x00\x01", "\x00\x00\x00\x02", 1), ErrNoBroker},
		{strings.Replace(good, "\x01\x00\x00\x00\x00", "\x01\x00\x23\x00\x00", 1), ErrNoBroker},
	} {
		conn := answering(t, []byte(c.answer))
		err := conn.learnVersions(t.Context())
		if !errors.Is(err, c.want) {
			t.Errorf("%q: %v, want %v", c.answer, err, c.want)
		}
		if c.want == nil && conn.versions[3].MaxVersion != 12 {
			t.Errorf("versions: %v", conn.versions)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	silent := &Conn{conn: ours, format: kmsg.NewRequestFormatter()}
	if err := silent.learnVersions(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a silent broker: %v", err)
	}
	if err := ours.Close(); err != nil {
		t.Error(err)
	}
}

func TestSkipTags(t *testing.T) {
	for in, want := range map[string]string{"\x00rest": "rest", "\x01\x05\x02abrest": "rest", "\x02\x00\x00\x01\x01zrest": "rest"} {
		if got, err := skipTags([]byte(in)); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "\x01", "\x01\x00\x7fx", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
		if got, err := skipTags([]byte(in)); err == nil {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestUnservedVersions(t *testing.T) {
	c := &Conn{Addr: "x", versions: map[int16]kmsg.ApiVersionsResponseApiKey{int16(kmsg.Metadata): {ApiKey: int16(kmsg.Metadata), MinVersion: 99, MaxVersion: 100}}}
	for _, req := range []kmsg.Request{kmsg.NewPtrMetadataRequest(), kmsg.NewPtrFetchRequest()} {
		if _, err := c.Request(t.Context(), req, -1); err == nil || !strings.Contains(err.Error(), "x does not serve") {
			t.Errorf("%v", err)
		}
	}
}

func TestFailed(t *testing.T) {
	text := "more words"
	if err := Failed(3, &text); !errors.Is(err, kerr.UnknownTopicOrPartition) || !strings.Contains(err.Error(), "more words") {
		t.Error(err)
	}
	if err := Failed(0, &text); err != nil {
		t.Error(err)
	}
}

// FuzzRecordSet: whatever a broker sends as records, reading it ends.
func FuzzRecordSet(f *testing.F) {
	b := record.NewBuilder(record.BuilderOptions{BaseOffset: 3})
	if err := b.Append(record.Record{Value: []byte("v")}); err != nil {
		f.Fatal(err)
	}
	batch, err := b.Build()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(batch))
	f.Add([]byte(batch[:40]))
	f.Fuzz(func(_ *testing.T, set []byte) {
		p := Position{Offset: 3}
		_ = p.read(set, func(int32, *record.Record) error { return nil }) // an error is fine, a panic is not
	})
}
