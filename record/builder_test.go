package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

func TestBuilder(t *testing.T) {
	build := NewBuilder(BuilderOptions{BaseOffset: 100})
	for _, delta := range []int32{2, 5} {
		if err := build.AppendAt(Record{OffsetDelta: delta, Timestamp: now - int64(delta)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := build.AppendAt(Record{OffsetDelta: 5}); err == nil {
		t.Error("two records at one offset")
	}
	build.CoverTo(9)
	build.CoverTo(3)
	b, err := build.Build()
	if err != nil {
		t.Fatal(err)
	}
	if b.LastOffset() != 109 || b.Count() != 2 || build.Count() != 2 || b.MaxTimestamp() != now-2 || b.BaseTimestamp() != now-2 {
		t.Errorf("last offset %d, count %d, max timestamp %d", b.LastOffset(), b.Count(), b.MaxTimestamp())
	}
	var offsets []int64
	if err := b.ForEach(0, func(r *Record) error { offsets = append(offsets, r.Offset, r.Timestamp); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(offsets) != 4 || offsets[0] != 102 || offsets[1] != now-2 || offsets[2] != 105 || offsets[3] != now-5 {
		t.Errorf("records at %v", offsets)
	}
	if _, err := build.Build(); err == nil {
		t.Error("a batch was built twice")
	}
	if err := build.Append(Record{}); err == nil {
		t.Error("a record was added to a batch that is built")
	}
}

func TestBuilderLimit(t *testing.T) {
	for codec := None; codec <= Zstd; codec++ {
		for _, size := range []int{10, 100_000} {
			build := NewBuilder(BuilderOptions{Codec: codec, MaxBytes: 150})
			value := make([]byte, size)
			for i := range value {
				value[i] = byte(i * i * 7919 >> 3)
			}
			if err := build.Append(Record{Value: value}); err != nil {
				t.Fatal(err)
			}
			b, err := build.Build()
			if size == 10 && (err != nil || build.Len() != len(b)) {
				t.Errorf("%v: %v", codec, err)
			}
			if size != 10 && !errors.Is(err, ErrMessageTooLarge) {
				t.Errorf("%v: a batch of %d bytes, %v", codec, len(b), err)
			}
		}
	}
}

func TestForEachStops(t *testing.T) {
	stop := errors.New("stop")
	for codec := None; codec <= Zstd; codec++ {
		calls := 0
		err := made(t, BuilderOptions{Codec: codec}, values(now, "a", "b", "c")...).ForEach(0, func(*Record) error {
			calls++
			if calls == 2 {
				return stop
			}
			return nil
		})
		if err != stop || calls != 2 {
			t.Errorf("%v: %v after %d calls", codec, err, calls)
		}
	}
}

func TestForEachTimestamps(t *testing.T) {
	for codec := None; codec <= Zstd; codec++ {
		b := made(t, BuilderOptions{Codec: codec, BaseOffset: 40, TimestampType: LogAppendTime, LogAppendTimeMs: 77}, values(5, "a", "b")...)
		next := int64(40)
		if err := b.ForEach(0, func(r *Record) error {
			if r.Offset != next || r.Timestamp != 77 {
				t.Errorf("%v: %v", codec, r)
			}
			next++
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

func TestMarkerErrors(t *testing.T) {
	good := BuildMarker(MarkerOptions{Offset: 9, ProducerID: 4, ProducerEpoch: 2, TimestampMs: now, Marker: Marker{Commit: true, CoordinatorEpoch: 3}})
	if m, err := good.Marker(); err != nil || m != (Marker{Commit: true, CoordinatorEpoch: 3}) {
		t.Errorf("%+v, %v", m, err)
	}
	control := func(key, value []byte) Batch {
		return made(t, BuilderOptions{Control: true}, Record{Key: key, Value: value})
	}
	for name, b := range map[string]Batch{
		"data":         made(t, BuilderOptions{}, values(now, "v")...),
		"empty":        edit(good, func(b Batch) { binary.BigEndian.PutUint32(b[atCount:], 0) }),
		"another kind": control([]byte{0, 0, 0, 2}, make([]byte, 6)),
		"short key":    control([]byte{0, 0}, make([]byte, 6)),
		"null key":     control(nil, make([]byte, 6)),
		"short value":  control([]byte{0, 0, 0, 1}, make([]byte, 5)),
	} {
		if _, err := b.Marker(); !errors.Is(err, ErrNotMarker) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestBuilderReset builds batches one after another and holds them against those of a new Builder.
func TestBuilderReset(t *testing.T) {
	build := func(b *Builder, value string) Batch {
		t.Helper()
		for k := range 3 {
			if err := b.Append(Record{Timestamp: int64(k), Value: []byte(value)}); err != nil {
				t.Fatal(err)
			}
		}
		batch, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		return batch
	}
	var b Builder
	var first, kept Batch
	for n, o := range []BuilderOptions{
		{}, {Codec: Lz4, Transactional: true, Producer: &Producer{ID: 7, Epoch: 1}}, {MaxBytes: 500}, {Control: true}, {BaseOffset: 5},
	} {
		value := strings.Repeat(string(rune('a'+n)), 100-10*n)
		b.Reset(o)
		got := build(&b, value)
		if want := build(NewBuilder(o), value); !bytes.Equal(got, want) {
			t.Errorf("batch %d: %x instead of %x", n, got, want)
		}
		if n == 0 {
			first, kept = got, bytes.Clone(got)
		}
		if err := b.Append(Record{}); err == nil {
			t.Errorf("batch %d: a record after the end", n)
		}
	}
	if !bytes.Equal(first, kept) {
		t.Error("a later batch was written over the first")
	}
	b.Reset(BuilderOptions{Into: first})
	if again := build(&b, "b"); &again[0] != &first[0] {
		t.Error("Into is not used")
	}
}
