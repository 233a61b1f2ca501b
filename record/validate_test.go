package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const now = int64(1_790_000_000_000)

func TestCheckRecordSet(t *testing.T) {
	good := made(t, BuilderOptions{}, values(now, "v")...)
	cut := func(length int32) []byte {
		b := append([]byte(nil), good...)
		binary.BigEndian.PutUint32(b[atLength:], uint32(length))
		return b
	}
	magic := func(m byte) []byte {
		b := append([]byte(nil), good...)
		b[atMagic] = m
		return b
	}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	size := int32(len(good) - LogOverhead)
	for _, c := range []struct {
		name    string
		set     []byte
		kind    error
		scope   Scope
		message string
	}{
		{"good", good, nil, 0, ""},
		{"bytes behind it", join(good, []byte{0, 0, 0, 0, 0}), nil, 0, ""},
		{"a torn one behind it", join(good, good[:40]), nil, 0, ""},
		{"nothing", nil, ErrInvalidRecord, ScopePartition, ""},
		{"garbage", []byte("garbage"), ErrInvalidRecord, ScopePartition, ""},
		{"torn", good[:len(good)-4], ErrInvalidRecord, ScopePartition, ""},
		{"two", join(good, good), ErrInvalidRecord, ScopePartition, ""},
		{"length one more", cut(size + 1), ErrInvalidRecord, ScopePartition, ""},
		{"length one less", cut(size - 1), ErrCorruptMessage, ScopePartition, ""},
		{"length 4", cut(4), ErrCorruptMessage, ScopeRequest, "Record size 4 is less than the minimum record overhead (14)"},
		{"length negative", cut(-1), ErrCorruptMessage, ScopeRequest, "Record size -1 is less than the minimum record overhead (14)"},
		{"shorter than a header", cut(40)[:52], ErrCorruptMessage, ScopePartition, ""},
		{"magic 0", magic(0), ErrInvalidRecord, ScopePartition, ""},
		{"magic 1", magic(1), ErrInvalidRecord, ScopePartition, ""},
		{"magic 3", magic(3), ErrCorruptMessage, ScopeRequest, "Invalid magic found in record: 3"},
		{"magic -1", magic(255), ErrCorruptMessage, ScopeRequest, "Invalid magic found in record: -1"},
		{"bad batch behind it", join(good, magic(3)), ErrCorruptMessage, ScopePartition, ""},
		{"base offset", edit(good, func(b Batch) { b.SetBaseOffset(7) }), ErrInvalidRecord, ScopeLog, ""},
		{"too large", made(t, BuilderOptions{}, values(now, string(make([]byte, 200)))...), ErrMessageTooLarge, ScopePartition, ""},
		{"checksum", join(good[:len(good)-1], []byte{9}), ErrCorruptMessage, ScopePartition, ""},
	} {
		b, err := CheckRecordSet(c.set, 200)
		if c.kind == nil {
			if err != nil || !bytes.Equal(b, good) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		wantRefusal(t, c.name, err, c.kind, c.scope, c.message)
	}
}

func wantRefusal(t *testing.T, name string, err, kind error, scope Scope, message string) *ValidationError {
	t.Helper()
	var refused *ValidationError
	if !errors.As(err, &refused) || !errors.Is(err, kind) {
		t.Errorf("%s: got %v, want %v", name, err, kind)
		return &ValidationError{}
	}
	if refused.Scope != scope || refused.Message != message {
		t.Errorf("%s: scope %d message %q, want scope %d message %q", name, refused.Scope, refused.Message, scope, message)
	}
	if refused.Message == "" && refused.Detail == "" {
		t.Errorf("%s: nothing for the log", name)
	}
	return refused
}

// raw puts record bytes under a header for count records.
func raw(t testing.TB, codec Codec, count int32, records []byte) Batch {
	t.Helper()
	payload, err := Compress(nil, records, codec, 0)
	if err != nil {
		t.Fatal(err)
	}
	return edit(append(made(t, BuilderOptions{}, values(now, "")...)[:HeaderSize:HeaderSize], payload...), func(b Batch) {
		binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-LogOverhead))
		b[atAttributes+1] = byte(codec)
		binary.BigEndian.PutUint32(b[atLastOffsetDelta:], uint32(count-1))
		binary.BigEndian.PutUint32(b[atCount:], uint32(count))
	})
}

func TestValidateHeader(t *testing.T) {
	two := made(t, BuilderOptions{}, values(now, "a", "b")...)
	put32 := func(at int, v int32) func(Batch) {
		return func(b Batch) { binary.BigEndian.PutUint32(b[at:], uint32(v)) }
	}
	both := func(count, delta int32) func(Batch) {
		return func(b Batch) { put32(atCount, count)(b); put32(atLastOffsetDelta, delta)(b) }
	}
	for name, c := range map[string]struct {
		change func(Batch)
		want   error
	}{
		"count 3":             {put32(atCount, 3), ErrInvalidRecord},
		"count 1":             {put32(atCount, 1), ErrInvalidRecord},
		"count -1":            {put32(atCount, -1), ErrInvalidRecord},
		"last delta 5":        {put32(atLastOffsetDelta, 5), ErrInvalidRecord},
		"last delta -1":       {put32(atLastOffsetDelta, -1), ErrInvalidRecord},
		"both too large":      {both(3, 2), ErrInvalidRecord},
		"both too small":      {both(1, 0), ErrInvalidRecord},
		"no records":          {both(0, -1), ErrInvalidRecord},
		"control":             {func(b Batch) { b[atAttributes+1] |= attrControl }, ErrInvalidRecord},
		"codec 6":             {func(b Batch) { b[atAttributes+1] |= 6 }, ErrUnsupportedCompression},
		"gzip bit":            {func(b Batch) { b[atAttributes+1] |= 1 }, ErrBadCompression},
		"no sequence":         {func(b Batch) { b[atProducerID+7], b[atProducerID] = 5, 0; clear(b[atProducerID : atProducerID+7]) }, ErrInvalidRecord},
		"sequence without id": {put32(atBaseSequence, 3), nil},
		"unused attribute":    {func(b Batch) { b[atAttributes+1] |= 0x80 }, nil},
		"append time bit":     {func(b Batch) { b[atAttributes+1] |= attrLogAppendTime }, nil},
		"delete horizon bit":  {func(b Batch) { b[atAttributes+1] |= attrDeleteHorizon }, nil},
		"transactional bit":   {func(b Batch) { b[atAttributes+1] |= attrTransactional }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := edit(two, c.change)
			before := bytes.Clone(b)
			_, err := Validate(b, goldenOptions("t"))
			if c.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantRefusal(t, name, err, c.want, ScopeLog, "")
			if !bytes.Equal(b, before) {
				t.Error("a refused batch was changed")
			}
		})
	}
}

func TestValidateRecordBytes(t *testing.T) {
	good := appendRecord(nil, &Record{Value: []byte("v"), Headers: []RecordHeader{{Key: []byte("k")}}}, 0, 0)
	patch := func(at int, v byte) []byte {
		b := bytes.Clone(good)
		b[at] = v
		return b
	}
	// length, attributes, time, offset, key, value, 'v', headers, length, 'k', null
	for _, c := range []struct {
		name              string
		records           []byte
		plain, compressed error
	}{
		{"good", good, nil, nil},
		{"attributes", patch(1, 0xff), nil, nil},
		{"null of another length", patch(4, 9), nil, nil},
		{"length too large", patch(0, 40), ErrInvalidRecord, nil},
		{"length too small", patch(0, good[0]-2), ErrInvalidRecord, nil},
		{"length negative", patch(0, 1), ErrInvalidRecord, ErrInvalidRecord},
		{"length no number", append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, good...), ErrUnreadable, ErrUnreadable},
		{"length cut", []byte{0x80}, ErrInvalidRecord, ErrInvalidRecord},
		{"empty", nil, ErrInvalidRecord, ErrInvalidRecord},
		{"value too long", patch(5, 100), ErrInvalidRecord, ErrInvalidRecord},
		{"headers negative", patch(7, 1), ErrInvalidRecord, ErrInvalidRecord},
		{"too many headers", patch(7, 100), ErrInvalidRecord, ErrInvalidRecord},
		{"header key null", patch(8, 1), ErrInvalidRecord, ErrInvalidRecord},
		{"bytes left", append(bytes.Clone(good), 0), ErrInvalidRecord, ErrInvalidRecord},
		{"cut", good[:len(good)-1], ErrInvalidRecord, ErrInvalidRecord},
	} {
		check := func(codec Codec, o ValidateOptions, want error) {
			_, err := Validate(raw(t, codec, 1, c.records), o)
			if want == nil && err == nil {
				return
			}
			if !errors.Is(err, want) || want == nil {
				t.Errorf("%s, %v to %v: got %v, want %v", c.name, codec, o.Compression, err, want)
			}
		}
		o := goldenOptions("t")
		check(None, o, c.plain)
		for _, codec := range []Codec{Gzip, Snappy, Lz4, Zstd} {
			if len(c.records) == 0 && (codec == Snappy || codec == Lz4) {
				continue // no block at all, which is checked elsewhere
			}
			check(codec, o, c.compressed)
		}
		o.Compression = Compression{Codec: Zstd}
		check(None, o, c.plain)
	}
}

func TestValidateOffsetDeltas(t *testing.T) {
	shifted := appendRecord(appendRecord(nil, &Record{}, 0, 3), &Record{}, 0, 4)
	if _, err := Validate(raw(t, None, 2, shifted), goldenOptions("t")); err != nil {
		t.Errorf("uncompressed: %v", err)
	}
	_, err := Validate(raw(t, Gzip, 2, shifted), goldenOptions("t"))
	wantRefusal(t, "compressed", err, ErrUnreadable, ScopeLog, "")
	o := goldenOptions("t")
	o.Compression = Compression{Codec: None}
	v, err := Validate(raw(t, Gzip, 2, shifted), o)
	if err != nil {
		t.Fatal(err)
	}
	next := int32(0)
	if err := v.Batch.ForEach(0, func(r *Record) error {
		if r.OffsetDelta != next {
			t.Errorf("offset delta %d after recompression, want %d", r.OffsetDelta, next)
		}
		next++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// Kafka's answers for records without keys in a compacted topic, word by word.
func TestValidateCompacted(t *testing.T) {
	const text = "Compacted topic cannot accept message without key in topic partition c-0"
	for _, codec := range []Codec{None, Gzip} {
		for _, target := range []Compression{{Producer: true}, {Codec: Lz4}} {
			o := goldenOptions("c")
			o.Compacted, o.Compression = true, target
			key := []byte("a")
			mixed := made(t, BuilderOptions{Codec: codec}, Record{Timestamp: now, Key: key}, Record{Timestamp: now}, Record{Timestamp: now, Key: []byte{}})
			_, err := Validate(mixed, o)
			refused := wantRefusal(t, "one", err, ErrInvalidRecord, ScopeLog, "One or more records have been rejected due to 1 record errors in total, "+
				"and only showing the first three errors at most: [RecordError(batchIndex=1, message='"+text+"')]")
			if len(refused.Records) != 1 || refused.Records[0] != (RecordError{1, text}) {
				t.Errorf("records %v", refused.Records)
			}
			_, err = Validate(made(t, BuilderOptions{Codec: codec}, values(now, "a", "b", "c", "d")...), o)
			item := func(i int) string { return fmt.Sprintf("RecordError(batchIndex=%d, message='%s')", i, text) }
			refused = wantRefusal(t, "all", err, ErrInvalidRecord, ScopeLog, "One or more records have been rejected due to 4 record errors in total, "+
				"and only showing the first three errors at most: ["+item(0)+", "+item(1)+", "+item(2)+"]")
			if len(refused.Records) != 4 {
				t.Errorf("%d records", len(refused.Records))
			}
		}
	}
}

func TestValidateTimestamps(t *testing.T) {
	const invalid = "One or more records have been rejected due to invalid timestamp"
	text := func(ts int64, offset int) string {
		return fmt.Sprintf("Timestamp %d of message with offset %d is out of range. The timestamp should be within [%d, %d]",
			ts, offset, now-60_000, now+60_000)
	}
	stamped := func(stamps ...int64) []Record {
		var records []Record
		for _, ts := range stamps {
			records = append(records, Record{Timestamp: ts})
		}
		return records
	}
	for _, c := range []struct {
		stamps []int64
		want   []RecordError
	}{
		{[]int64{now, now - 60_000, now + 60_000, NoTimestamp}, nil},
		{[]int64{now - 60_001}, []RecordError{{0, text(now-60_001, 0)}}},
		{[]int64{now + 60_001}, []RecordError{{0, text(now+60_001, 0)}}},
		{[]int64{now, now - 70_000, now}, []RecordError{{1, text(now-70_000, 1)}}},
		{[]int64{now, now - 70_000, now - 80_000}, []RecordError{{1, text(now-70_000, 1)}, {2, text(now-80_000, 2)}}},
		{[]int64{-5}, []RecordError{{0, text(-5, 0)}}},
	} {
		for _, codec := range []Codec{None, Gzip} {
			for _, target := range []Compression{{Producer: true}, {Codec: Snappy}} {
				o := goldenOptions("t")
				o.BeforeMaxMs, o.AfterMaxMs, o.Compression = 60_000, 60_000, target
				_, err := Validate(made(t, BuilderOptions{Codec: codec}, stamped(c.stamps...)...), o)
				if c.want == nil {
					if err != nil {
						t.Errorf("%v: %v", c.stamps, err)
					}
					continue
				}
				refused := wantRefusal(t, fmt.Sprint(c.stamps), err, ErrInvalidTimestamp, ScopeLog, invalid)
				if fmt.Sprint(refused.Records) != fmt.Sprint(c.want) {
					t.Errorf("%v: got %v, want %v", c.stamps, refused.Records, c.want)
				}
				o.TimestampType = LogAppendTime
				if _, err := Validate(made(t, BuilderOptions{Codec: codec}, stamped(c.stamps...)...), o); err != nil {
					t.Errorf("%v under LogAppendTime: %v", c.stamps, err)
				}
			}
		}
	}
}

func TestValidateTimestampType(t *testing.T) {
	marked := made(t, BuilderOptions{TimestampType: LogAppendTime, LogAppendTimeMs: now}, values(1, "ab")...)
	o := goldenOptions("t")
	o.TimestampType = LogAppendTime
	_, err := Validate(append(Batch(nil), marked...), o)
	refused := wantRefusal(t, "marked by the client", err, ErrInvalidTimestamp, ScopeLog,
		"One or more records have been rejected due to invalid timestamp")
	want := fmt.Sprintf("Invalid timestamp type in message DefaultRecord(offset=0, timestamp=%d, key=0 bytes, value=2 bytes)."+
		" Producer should not set timestamp type to LogAppendTime.", now)
	if len(refused.Records) != 1 || refused.Records[0].Message != want {
		t.Errorf("got %v", refused.Records)
	}
	v, err := Validate(append(Batch(nil), marked...), goldenOptions("t"))
	if err != nil || v.Batch.TimestampType() != CreateTime || v.Batch.MaxTimestamp() != now || !v.Batch.ChecksumOK() {
		t.Errorf("on a CreateTime topic: %v", err)
	}
	for _, codec := range []Codec{None, Gzip} {
		for _, target := range []Compression{{Producer: true}, {Codec: Zstd}} {
			o.Compression = target
			v, err := Validate(made(t, BuilderOptions{Codec: codec}, Record{Timestamp: 1000}, Record{Timestamp: 9000}), o)
			if err != nil {
				t.Fatal(err)
			}
			b := v.Batch
			if b.TimestampType() != LogAppendTime || b.MaxTimestamp() != now || b.BaseTimestamp() != 1000 || !b.ChecksumOK() {
				t.Errorf("type %v max %d base %d", b.TimestampType(), b.MaxTimestamp(), b.BaseTimestamp())
			}
			if v.LogAppendTimeMs != now || v.MaxTimestampMs != now || v.OffsetOfMaxTimestampDelta != 1 {
				t.Errorf("got %+v", v)
			}
		}
	}
}

func TestValidateCorrectsMaxTimestamp(t *testing.T) {
	for _, codec := range []Codec{None, Gzip, Snappy, Lz4, Zstd} {
		b := made(t, BuilderOptions{Codec: codec}, Record{Timestamp: 1000}, Record{Timestamp: 1010}, Record{Timestamp: 1010}, Record{Timestamp: 7})
		wrong := edit(b, func(b Batch) { binary.BigEndian.PutUint64(b[atMaxTimestamp:], 1) })
		v, err := Validate(wrong, goldenOptions("t"))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(v.Batch, b) || &v.Batch[0] != &wrong[0] {
			t.Errorf("%v: not corrected in place", codec)
		}
		if v.MaxTimestampMs != 1010 || v.OffsetOfMaxTimestampDelta != 1 || v.LogAppendTimeMs != -1 {
			t.Errorf("%v: %+v", codec, v)
		}
	}
}

func TestValidateRecompresses(t *testing.T) {
	long := strings.Repeat("all work and no play ", 5000)
	source := made(t, BuilderOptions{Producer: &Producer{ID: 7, Epoch: 2, BaseSequence: 40}, Transactional: true},
		Record{Timestamp: now, Key: []byte("k"), Value: []byte(long), Headers: []RecordHeader{{Key: []byte("h"), Value: []byte("v")}, {Key: []byte{}}}},
		Record{Timestamp: now - 5, Value: []byte{}}, Record{Timestamp: now + 5, Key: []byte{}})
	for from := None; from <= Zstd; from++ {
		for to := None; to <= Zstd; to++ {
			o := goldenOptions("t")
			o.Compression = Compression{Codec: from}
			v, err := Validate(append(Batch(nil), source...), o)
			if err != nil {
				t.Fatal(err)
			}
			o.Compression = Compression{Codec: to}
			if v, err = Validate(v.Batch, o); err != nil {
				t.Fatalf("%v to %v: %v", from, to, err)
			}
			if v.Batch.Codec() != to || !v.Batch.ChecksumOK() {
				t.Errorf("%v to %v: codec %v", from, to, v.Batch.Codec())
			}
			o.Compression = Compression{Codec: None}
			if v, err = Validate(v.Batch, o); err != nil {
				t.Fatal(err)
			}
			v.Batch.SetLeaderEpoch(-1)
			if !bytes.Equal(v.Batch, source) {
				t.Errorf("%v to %v and back is another batch", from, to)
			}
		}
	}
	o := goldenOptions("t")
	o.MaxBatchBytes = 1000
	o.Compression = Compression{Codec: Gzip}
	small, err := Validate(append(Batch(nil), source...), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Compression = Compression{Codec: None}
	_, err = Validate(small.Batch, o)
	wantRefusal(t, "larger after recompression", err, ErrMessageTooLarge, ScopePartition, "")
	o = goldenOptions("t")
	o.MaxDecompressedBytes = 1000
	_, err = Validate(small.Batch, o)
	wantRefusal(t, "record too large", err, ErrInvalidRecord, ScopeLog, "")
}

// A small block can hold many faulty records; what is kept of them is bounded.
func TestValidateManyFaults(t *testing.T) {
	const count = 200_000
	one := appendRecord(nil, &Record{}, 0, 0)
	o := goldenOptions("c")
	o.Compacted = true
	_, err := Validate(raw(t, Zstd, count, bytes.Repeat(one, count)), o)
	var refused *ValidationError
	if !errors.As(err, &refused) || len(refused.Records) != maxRecordErrors {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(refused.Message, "due to 200000 record errors") {
		t.Errorf("message %q", refused.Message)
	}
}

func TestValidateAllocatesNothing(t *testing.T) {
	b := made(t, BuilderOptions{}, values(now, "a", "b", "c", strings.Repeat("x", 300))...)
	set := []byte(b)
	o := goldenOptions("t")
	if n := testing.AllocsPerRun(100, func() {
		checked, err := CheckRecordSet(set, 1<<20)
		if err == nil {
			_, err = Validate(checked, o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
