package record

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"
)

// edit changes a copy of a batch and renews its checksum.
func edit(b Batch, change func(Batch)) Batch {
	b = append(Batch(nil), b...)
	change(b)
	b.renewCRC()
	return b
}

// made builds a batch as a producer sends it.
func made(t testing.TB, o BuilderOptions, records ...Record) Batch {
	t.Helper()
	o.LeaderEpoch = -1
	build := NewBuilder(o)
	for _, r := range records {
		if err := build.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	b, err := build.Build()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// values are records with values only.
func values(timestamp int64, values ...string) []Record {
	var records []Record
	for _, v := range values {
		records = append(records, Record{Timestamp: timestamp, Value: []byte(v)})
	}
	return records
}

func TestBatchFields(t *testing.T) {
	horizon := int64(77)
	b := made(t, BuilderOptions{BaseOffset: 1 << 40, TimestampType: LogAppendTime, LogAppendTimeMs: 99, Transactional: true,
		Control: true, DeleteHorizonMs: &horizon, Producer: &Producer{ID: 5, Epoch: 6, BaseSequence: math.MaxInt32}},
		Record{Timestamp: 80}, Record{Timestamp: 81})
	h, err := ParseHeader(b[:HeaderSize])
	if err != nil {
		t.Fatal(err)
	}
	want := Header{BaseOffset: 1 << 40, Length: int32(len(b) - LogOverhead), LeaderEpoch: -1, Magic: 2, CRC: b.computeCRC(),
		Attributes: 0x78, LastOffsetDelta: 1, BaseTimestamp: 77, MaxTimestamp: 99, ProducerID: 5, ProducerEpoch: 6,
		BaseSequence: math.MaxInt32, Count: 2}
	if h != want {
		t.Errorf("got  %+v\nwant %+v", h, want)
	}
	if h.Size() != len(b) || h.NextOffset() != 1<<40+2 || h.LastOffset() != b.LastOffset() || h.LastSequence() != 0 {
		t.Errorf("size %d, next offset %d, last sequence %d", h.Size(), h.NextOffset(), h.LastSequence())
	}
	if !h.IsControl() || !h.IsTransactional() || !h.HasDeleteHorizon() || h.Codec() != None || h.TimestampType() != LogAppendTime {
		t.Errorf("attributes of %+v", h)
	}
	if !b.IsControl() || !b.IsTransactional() || !b.HasDeleteHorizon() || b.Codec() != None || b.TimestampType() != LogAppendTime {
		t.Errorf("attributes %#x", b.Attributes())
	}
	if !b.ChecksumOK() {
		t.Error("wrong checksum")
	}
	b[len(b)-1] ^= 1
	if b.ChecksumOK() {
		t.Error("a changed byte goes unnoticed")
	}
}

func TestSetMaxTimestamp(t *testing.T) {
	b := edit(made(t, BuilderOptions{}, values(5, "v")...), func(b Batch) { b[atAttributes] = 0x80 })
	before := string(b)
	b.SetMaxTimestamp(CreateTime, 5)
	if string(b) != before {
		t.Error("a batch that is right was changed")
	}
	b.SetMaxTimestamp(LogAppendTime, 9)
	if b.MaxTimestamp() != 9 || b.Attributes() != attrLogAppendTime || !b.ChecksumOK() {
		t.Errorf("max %d, attributes %#x, checksum %t", b.MaxTimestamp(), b.Attributes(), b.ChecksumOK())
	}
}

func TestLastSequence(t *testing.T) {
	for _, c := range []struct{ base, delta, want int32 }{
		{NoSequence, 4, NoSequence},
		{0, 0, 0},
		{10, 5, 15},
		{math.MaxInt32 - 1, 1, math.MaxInt32},
		{math.MaxInt32, 1, 0},
		{math.MaxInt32 - 2, 10, 7},
	} {
		if got := lastSequence(c.base, c.delta); got != c.want {
			t.Errorf("%d + %d = %d, want %d", c.base, c.delta, got, c.want)
		}
	}
}

func TestNext(t *testing.T) {
	one := made(t, BuilderOptions{}, values(1, "one")...)
	two := made(t, BuilderOptions{}, values(1, "two")...)
	b, rest, err := Next(append(append([]byte(nil), one...), two...))
	if err != nil || string(b) != string(one) || string(rest) != string(two) {
		t.Fatalf("first: %v", err)
	}
	if cap(b) != len(b) {
		t.Error("appending to a batch would overwrite the next one")
	}
	for n := range one {
		if _, _, err := Next(one[:n]); err != ErrTruncated {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	for _, length := range []int32{-1, 0, 13, HeaderSize - LogOverhead - 1, math.MaxInt32} {
		bad := append(Batch(nil), one...)
		binary.BigEndian.PutUint32(bad[atLength:], uint32(length))
		if _, _, err := Next(bad); !errors.Is(err, ErrCorrupt) {
			t.Errorf("length %d: %v", length, err)
		}
		if _, err := ParseHeader(bad); !errors.Is(err, ErrCorrupt) {
			t.Errorf("header with length %d: %v", length, err)
		}
	}
	bad := append(Batch(nil), one...)
	bad[atMagic] = 1
	if _, _, err := Next(bad); !errors.Is(err, ErrCorrupt) {
		t.Errorf("magic 1: %v", err)
	}
	if _, err := ParseHeader(one[:HeaderSize-1]); err != ErrTruncated {
		t.Errorf("short header: %v", err)
	}
}
