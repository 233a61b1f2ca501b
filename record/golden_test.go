package record

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// golden reads a file that Kafka wrote, see testdata/ORIGIN.md.
func golden(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "kafka", name+".gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(gz)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// goldenInputs reads the batches that were sent in a case.
func goldenInputs(t testing.TB, name string) [][]byte {
	t.Helper()
	var sets [][]byte
	for data := golden(t, name+".input"); len(data) > 0; {
		n := 4 + int(binary.BigEndian.Uint32(data))
		sets = append(sets, data[4:n:n])
		data = data[n:]
	}
	return sets
}

// options are a topic's of the golden cases, at a time when these ran.
func goldenOptions(topic string) ValidateOptions {
	return ValidateOptions{TopicPartition: topic + "-0", NowMs: 1_790_000_000_000, BeforeMaxMs: 1<<63 - 1,
		AfterMaxMs: 3_600_000, Compression: Compression{Producer: true}}
}

// appendTo does what a log does with a record set, as far as this package goes.
func appendTo(log []byte, set []byte, maxBytes int, o ValidateOptions) ([]byte, error) {
	b, err := CheckRecordSet(bytes.Clone(set), maxBytes)
	if err != nil {
		return log, err
	}
	v, err := Validate(b, o)
	if err != nil {
		return log, err
	}
	next := int64(0)
	for rest := log; len(rest) > 0; {
		var last Batch
		if last, rest, err = Next(rest); err != nil {
			return log, err
		}
		next = last.NextOffset()
	}
	v.Batch.SetBaseOffset(next)
	v.Batch.SetLeaderEpoch(0)
	return append(log, v.Batch...), nil
}

func TestGoldenReject(t *testing.T) {
	sets := goldenInputs(t, "reject")
	outcome := map[int]error{1: ErrInvalidRecord, 2: ErrCorruptMessage, 3: ErrInvalidRecord, 4: ErrInvalidRecord,
		5: ErrInvalidRecord, 7: ErrInvalidRecord, 8: ErrCorruptMessage, 9: ErrInvalidRecord, 11: ErrInvalidRecord,
		12: ErrUnsupportedCompression, 13: ErrBadCompression, 14: ErrInvalidTimestamp, 15: ErrInvalidRecord,
		21: ErrInvalidRecord, 22: ErrInvalidRecord, 25: ErrInvalidRecord, 26: ErrInvalidRecord, 28: ErrMessageTooLarge}
	// The answer to these carried the log's start offset, to the others it did not.
	logScope := []int{1, 3, 4, 5, 12, 13, 14, 15, 21, 22, 25, 26}
	var rej, rejc, small []byte
	var err error
	check := func(i int) {
		t.Helper()
		if want := outcome[i]; !errors.Is(err, want) {
			t.Errorf("input %d: got %v, want %v", i, err, want)
			return
		}
		var refused *ValidationError
		if errors.As(err, &refused) && (refused.Scope == ScopeLog) != slices.Contains(logScope, i) {
			t.Errorf("input %d: scope %d", i, refused.Scope)
		}
	}
	for i, set := range sets[:25] {
		if i == 6 { // refused by the transactional bit, which is the request's matter
			continue
		}
		rej, err = appendTo(rej, set, 1<<20, goldenOptions("rej"))
		check(i)
	}
	compacted := goldenOptions("rejc")
	compacted.Compacted = true
	for _, i := range []int{0, 25, 26} {
		rejc, err = appendTo(rejc, sets[i], 1<<20, compacted)
		check(i)
	}
	for _, i := range []int{27, 28} {
		small, err = appendTo(small, sets[i], 200, goldenOptions("small"))
		check(i)
	}
	for topic, got := range map[string][]byte{"rej": rej, "rejc": rejc, "small": small} {
		if !bytes.Equal(got, golden(t, "reject."+topic+".log")) {
			t.Errorf("topic %s is not what Kafka wrote", topic)
		}
	}
}

func TestGoldenRecords(t *testing.T) {
	want := golden(t, "records.rec.log")
	sets := goldenInputs(t, "records")
	var got []byte
	var err error
	for i, set := range sets[:16] {
		if got, err = appendTo(got, set, 1<<20, goldenOptions("rec")); err != nil {
			t.Fatalf("input %d: %v", i, err)
		}
	}
	// In Kafka's log the last one comes behind two that are left out here.
	last, err := appendTo(nil, sets[16], 1<<20, goldenOptions("rec"))
	if err != nil {
		t.Fatal(err)
	}
	Batch(last).SetBaseOffset(27)
	if !bytes.Equal(append(got, last...), want) {
		t.Fatal("the log is not what Kafka wrote")
	}
	// Taking apart and building again gives the same bytes, where the producer
	// took the first record's timestamp as the base as Kafka's builder does.
	for rest := want; len(rest) > 0; {
		var b Batch
		var err error
		if b, rest, err = Next(rest); err != nil {
			t.Fatal(err)
		}
		build := NewBuilder(BuilderOptions{BaseOffset: b.BaseOffset(), LeaderEpoch: b.LeaderEpoch()})
		if err := b.ForEach(0, func(r *Record) error { return build.AppendAt(*r) }); err != nil {
			t.Fatal(err)
		}
		again, err := build.Build()
		if err != nil {
			t.Fatal(err)
		}
		if b.BaseTimestamp() == again.BaseTimestamp() && !bytes.Equal(b, again) {
			t.Errorf("batch at %d: built %x\nwant %x", b.BaseOffset(), again, b)
		}
	}
}

// describe prints what a reader of a batch sees.
func describe(t *testing.T, b Batch) string {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "%d-%d attributes %#x codec %v producer %d/%d/%d count %d time %d-%d\n", b.BaseOffset(), b.LastOffset(),
		b.Attributes(), b.Codec(), b.ProducerID(), b.ProducerEpoch(), b.BaseSequence(), b.Count(), b.BaseTimestamp(), b.MaxTimestamp())
	if err := b.ForEach(1<<20, func(r *Record) error {
		fmt.Fprintf(&out, "  %d %d %q %t %q %t %q\n", r.Offset, r.Timestamp, r.Key, r.Key == nil, r.Value, r.Value == nil, r.Headers)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestGoldenCodecs(t *testing.T) {
	sets := goldenInputs(t, "codecs")
	types := map[string]Compression{"producer": {Producer: true}, "uncompressed": {Codec: None}, "gzip": {Codec: Gzip},
		"snappy": {Codec: Snappy}, "lz4": {Codec: Lz4}, "zstd": {Codec: Zstd}}
	for name, compression := range types {
		t.Run(name, func(t *testing.T) {
			var log []byte
			o := goldenOptions("c-" + name)
			o.Compression = compression
			for i, set := range sets {
				var err error
				if log, err = appendTo(log, set, 1<<20, o); err != nil {
					t.Fatalf("input %d: %v", i, err)
				}
			}
			want := golden(t, "codecs."+name+".log")
			if name == "producer" || name == "uncompressed" {
				if !bytes.Equal(log, want) {
					t.Error("the log is not what Kafka wrote")
				}
			}
			for len(want) > 0 {
				var a, b Batch
				var err error
				if a, log, err = Next(log); err != nil {
					t.Fatal(err)
				}
				if b, want, err = Next(want); err != nil {
					t.Fatal(err)
				}
				if !a.ChecksumOK() || !b.ChecksumOK() {
					t.Error("wrong checksum")
				}
				if got, want := describe(t, a), describe(t, b); got != want {
					t.Errorf("got %s\nwant %s", got, want)
				}
			}
		})
	}
}

func TestGoldenMarkers(t *testing.T) {
	markers := 0
	for rest := golden(t, "txn.tx.log"); len(rest) > 0; {
		var b Batch
		var err error
		if b, rest, err = Next(rest); err != nil {
			t.Fatal(err)
		}
		m, err := b.Marker()
		if !b.IsControl() {
			if err != ErrNotMarker {
				t.Errorf("data batch at %d: %v", b.BaseOffset(), err)
			}
			continue
		}
		markers++
		if err != nil {
			t.Fatal(err)
		}
		built := BuildMarker(MarkerOptions{Offset: b.BaseOffset(), LeaderEpoch: b.LeaderEpoch(), TimestampMs: b.MaxTimestamp(),
			ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), Marker: m})
		if len(built) != MarkerSize || !bytes.Equal(built, b) {
			t.Errorf("marker at %d: built %x\nwant %x", b.BaseOffset(), built, b)
		}
	}
	if markers == 0 {
		t.Error("no marker in the file")
	}
}
