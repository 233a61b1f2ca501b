package protocol

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestRequestsRoundTrip parses what kmsg writes, in every version.
func TestRequestsRoundTrip(t *testing.T) {
	all := everything(t)
	rnd := rand.New(rand.NewPCG(5, 6))
	eachVersion(t, func(t *testing.T, s *served, version int16) {
		sent := filled(rnd, s.Key, version, 2)
		req, err := ParseRequest(frameOf(sent, 42, "client"), all)
		if err != nil {
			t.Fatal(err)
		}
		if req.Key != s.Key || req.Version != version || req.CorrelationID != 42 || *req.ClientID != "client" {
			t.Errorf("header came back as %+v", req)
		}
		if !bytes.Equal(req.Body.AppendTo(nil), sent.AppendTo(nil)) {
			t.Errorf("sent %+v, got %+v", sent, req.Body)
		}
	})
}

// TestTableMatchesKmsg: flexible versions, ranges and names are those that the
// codec knows.
func TestTableMatchesKmsg(t *testing.T) {
	last := int16(-1)
	for _, row := range apiTable {
		req := kmsg.RequestForKey(row.Key)
		if row.Key <= last || req == nil || req.MaxVersion() < row.Max || row.Name != kmsg.NameForKey(row.Key) {
			t.Fatalf("row %+v does not fit the codec (or is out of order)", row)
		}
		last = row.Key
		for version := row.Min; version <= row.Max; version++ {
			req.SetVersion(version)
			if req.IsFlexible() != isFlexible(row.Key, version) {
				t.Errorf("%s v%d: flexible is %v in the codec", row.Name, version, req.IsFlexible())
			}
		}
	}
}

// TestRefusals: what closes a connection, as measured on Apache Kafka 4.4.0.
func TestRefusals(t *testing.T) {
	all := everything(t)
	tests := []struct {
		name, frame string
		want        error
	}{
		{"unknown key", "03e7 0000 00000007 000178", ErrUnknownKey},
		{"negative key", "ffff 0000 00000007 000178", ErrUnknownKey},
		{"controller API", "0034 0000 00000007 000178", ErrUnknownKey},
		{"removed API", "0004 0007 00000007 000178 00", ErrUnknownKey},
		{"Metadata too new", "0003 000e 00000007 000178 00", ErrUnservedVersion},
		{"Fetch too old", "0001 0003 00000007 000178 00", ErrUnservedVersion},
		{"negative version", "0003 ffff 00000007 000178 00", ErrUnservedVersion},
		{"listed but unserved Produce", "0000 0002 00000007 000178", ErrUnservedVersion},
		{"ApiVersions without its body", "0012 0003 00000007 000178 00", ErrTruncated},
		{"body cut short", "0003 0001 00000007 000178 0000", ErrTruncated},
		{"array too long", "0003 0001 00000007 000178 7fffffff", ErrTruncated},
		{"null array", "0000 0003 00000007 000178 ffff 0001 00000000 ffffffff", ErrNull},
		{"null string", "0003 0001 00000007 000178 00000001 ffff", ErrNull},
		{"broken header tags", "0003 000c 00000007 000178 01 00 05 00", ErrTruncated},
	}
	for _, test := range tests {
		_, err := ParseRequest(unhex(t, test.frame), all)
		var decodeErr *DecodeError
		if !errors.Is(err, test.want) || !errors.As(err, &decodeErr) || decodeErr.ClientID != "x" {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	for _, short := range []string{"", "0003", "0003 0001 000000", "0003 0001 00000007 00", "0003 0001 00000007 0002 78"} {
		var frameErr *FrameError
		if _, err := ParseRequest(unhex(t, short), all); !errors.As(err, &frameErr) {
			t.Errorf("header %q: %v", short, err)
		}
	}
}

// TestAccepted: what looks odd and is served all the same.
func TestAccepted(t *testing.T) {
	all := everything(t)
	for name, frame := range map[string]string{
		"bytes behind the end":       "0003 0001 00000007 000178 00000000 6578747261",
		"array length below null":    "0003 0001 00000007 000178 fffffffe",
		"null client id":             "0003 0001 00000007 ffff 00000000",
		"client id length below -1":  "0003 0001 00000007 fffe 00000000",
		"unknown tags in the header": "0003 000c 00000007 000178 020a0201020b00 01 00 00 00",
		"unknown tags in the body":   "0003 000c 00000007 000178 00 01 00 00 020a0201020b00",
		"tags out of order":          "0003 000c 00000007 000178 00 01 00 00 020b000a020102",
		"bytes behind ApiVersions":   "0012 0000 00000007 000178 01020304",
		"hidden API":                 "0047 0000 00000007 000178 00 00000000000000000000000000000000 00",
	} {
		if _, err := ParseRequest(unhex(t, frame), all); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnknownApiVersions: any version of ApiVersions is answered.
func TestUnknownApiVersions(t *testing.T) {
	all := everything(t)
	for _, frame := range []string{"0012 007f 00000007 000178 00deadbeef", "0012 0006 00000007 000178 00", "0012 ffff 00000007 000178"} {
		req, err := ParseRequest(unhex(t, frame), all)
		if err != nil {
			t.Fatal(err)
		}
		if !req.Unsupported || req.Version != 0 || req.Body != nil {
			t.Fatalf("%q: %+v", frame, req)
		}
		want := unhex(t, "0000 0010 00000007 0023 00000001 0012 0000 0005")
		if got := AppendResponse(nil, req, all.UnsupportedVersion()); !bytes.Equal(got, want) {
			t.Errorf("answer %x, want %x", got, want)
		}
	}
}

// TestResponseHeaders: tags follow the correlation id in flexible versions,
// never in ApiVersions; both ways of making a frame agree.
func TestResponseHeaders(t *testing.T) {
	eachVersion(t, func(t *testing.T, s *served, version int16) {
		req := &Request{Key: s.Key, Version: version, CorrelationID: 0x01020304}
		body := kmsg.ResponseForKey(s.Key)
		frame := AppendResponse([]byte("before"), req, body)
		start := AppendResponseStart(nil, req, len(body.AppendTo(nil)))
		if want := append(append([]byte("before"), start...), body.AppendTo(nil)...); !bytes.Equal(frame, want) {
			t.Errorf("whole %x, in parts %x", frame, want)
		}
		tagged := version >= s.flexible && s.Key != apiVersionsKey
		if got := len(start) == 9; got != tagged {
			t.Errorf("header has tags: %v, want %v", got, tagged)
		}
	})
}

// TestReuse: a request that is parsed into again keeps nothing but its sender.
func TestReuse(t *testing.T) {
	all := everything(t)
	req := &Request{RemoteAddr: "a", Listener: "L"}
	if err := all.Parse(unhex(t, "0012 007f 00000007 000178"), req); err != nil {
		t.Fatal(err)
	}
	id := req.ClientID
	if err := all.Parse(unhex(t, "0003 0001 00000008 000178 00000000"), req); err != nil {
		t.Fatal(err)
	}
	if req.Unsupported || req.Body == nil || req.CorrelationID != 8 || req.RemoteAddr != "a" || req.Listener != "L" {
		t.Errorf("%+v", req)
	}
	if req.ClientID != id {
		t.Error("the same client id was copied again")
	}
	err := all.Parse(unhex(t, "0003 0001 00000008 ffff 0000"), req)
	if err == nil || req.ClientID != nil || req.Body != nil {
		t.Errorf("error %v, request %+v", err, req)
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(string(bytes.ReplaceAll([]byte(s), []byte(" "), nil)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// FuzzHeader parses arbitrary frames.
func FuzzHeader(f *testing.F) {
	f.Add([]byte{0, 18, 0, 3, 0, 0, 0, 1, 0, 1, 'x', 0})
	f.Add([]byte{0, 3, 0, 12, 0, 0, 0, 1, 255, 255, 1, 0, 1, 255, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, frame []byte) {
		h, rest, err := ReadHeader(frame)
		if err != nil {
			return
		}
		if h.Key == 0 && len(frame) < 10 {
			t.Fatalf("header of %d bytes", len(frame))
		}
		if h.ClientID != nil && 10+len(h.ClientID)+len(rest) != len(frame) {
			t.Fatalf("%d bytes of client id and %d behind it in a frame of %d", len(h.ClientID), len(rest), len(frame))
		}
	})
}

// FuzzDecode parses arbitrary bodies of every API and version, and checks that
// what was decoded can be written and decoded again.
func FuzzDecode(f *testing.F) {
	all := everything(f)
	rnd := rand.New(rand.NewPCG(7, 8))
	for _, s := range all.byKey {
		if s == nil {
			continue
		}
		for version := s.MinServed; version <= s.Max; version++ {
			f.Add(frameOf(filled(rnd, s.Key, version, 2), 1, "fuzz"))
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		req, err := ParseRequest(frame, all)
		if err != nil {
			knownError(t, err)
			return
		}
		if req.Unsupported {
			return
		}
		again, err := ParseRequest(frameOf(req.Body, 1, "fuzz"), all)
		if err != nil {
			t.Fatalf("written again: %v", err)
		}
		if reflect.TypeOf(again.Body) != reflect.TypeOf(req.Body) {
			t.Fatalf("%T became %T", req.Body, again.Body)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	all := everything(b)
	records := make([]byte, 1<<20)
	produce := &kmsg.ProduceRequest{Version: 11, Acks: 1, Topics: []kmsg.ProduceRequestTopic{
		{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: records}}}}}
	fetch := &kmsg.FetchRequest{Version: 17, ReplicaState: kmsg.NewFetchRequestReplicaState(), Topics: []kmsg.FetchRequestTopic{
		{Partitions: fetchPartitions(1)}}}
	for name, body := range map[string]kmsg.Request{
		"Produce1MB": produce, "Fetch": fetch, "ApiVersions": &kmsg.ApiVersionsRequest{},
	} {
		frame := frameOf(body, 1, "bench")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var req Request
			for b.Loop() {
				if err := all.Parse(frame, &req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
