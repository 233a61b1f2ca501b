package record

import (
	"bytes"
	"fmt"
	"testing"
)

// filterBatch has five records, the fourth a tombstone and the fifth with a
// header, at offset 100.
func filterBatch(t *testing.T, codec Codec, ty TimestampType) Batch {
	t.Helper()
	b := NewBuilder(BuilderOptions{BaseOffset: 100, LeaderEpoch: 3, Codec: codec, TimestampType: ty, LogAppendTimeMs: 9000,
		Producer: &Producer{ID: 7, Epoch: 1, BaseSequence: 40}})
	for i := range 5 {
		r := Record{Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "v%d", i), Timestamp: 5000 - int64(i)}
		if i == 3 {
			r.Value = nil
		}
		if i == 4 {
			r.Headers = []RecordHeader{{Key: []byte("h")}}
		}
		if err := b.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func recordsOf(t *testing.T, b Batch) (text string) {
	t.Helper()
	if err := b.ForEach(0, func(r *Record) error {
		text += fmt.Sprintf("%d@%d %s=%s %t %d;", r.Offset, r.Timestamp, r.Key, r.Value, r.Value == nil, len(r.Headers))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFilter(t *testing.T) {
	var f Filter
	for codec := None; codec <= Zstd; codec++ {
		for _, ty := range []TimestampType{CreateTime, LogAppendTime} {
			for _, horizon := range []int64{NoTimestamp, 1 << 41} {
				b := filterBatch(t, codec, ty)
				s, err := f.Select(b, 0, func(r *Record) bool { return r.OffsetDelta == 1 || r.OffsetDelta >= 3 })
				if err != nil || s != (Selection{Kept: 3, Total: 5, Tombstone: true}) {
					t.Fatalf("%v: %+v, %v", codec, s, err)
				}
				before := []byte("before")
				out, err := f.AppendRebuilt(bytes.Clone(before), horizon)
				if err != nil || !bytes.HasPrefix(out, before) {
					t.Fatalf("%v: %v", codec, err)
				}
				got := Batch(out[len(before):])
				checkRebuilt(t, b, got, ty, horizon)
			}
		}
	}
}

func checkRebuilt(t *testing.T, b, got Batch, ty TimestampType, horizon int64) {
	t.Helper()
	want := "101@4999 k1=v1 false 0;103@4997 k3= true 0;104@4996 k4=v4 false 1;"
	base, largest := int64(4999), int64(4999)
	if ty == LogAppendTime {
		want = "101@9000 k1=v1 false 0;103@9000 k3= true 0;104@9000 k4=v4 false 1;"
		base, largest = 9000, 9000
	}
	if horizon != NoTimestamp {
		base = horizon
	}
	if text := recordsOf(t, got); text != want {
		t.Errorf("records %s, want %s", text, want)
	}
	if got.BaseTimestamp() != base || got.MaxTimestamp() != largest || got.HasDeleteHorizon() != (horizon != NoTimestamp) {
		t.Errorf("base %d, max %d, horizon %t", got.BaseTimestamp(), got.MaxTimestamp(), got.HasDeleteHorizon())
	}
	if !got.ChecksumOK() || got.Size() != len(got) || got.Count() != 3 || got.LastOffset() != 104 || got.BaseOffset() != 100 ||
		got.LeaderEpoch() != 3 || got.ProducerID() != 7 || got.BaseSequence() != 40 || got.Codec() != b.Codec() || got.TimestampType() != ty {
		t.Errorf("header %x", got[:HeaderSize])
	}
}

func TestEmptied(t *testing.T) {
	b := filterBatch(t, Gzip, CreateTime)
	got := Batch(AppendEmptied(nil, b))
	if len(got) != HeaderSize || got.Size() != HeaderSize || !got.ChecksumOK() || got.Count() != 0 || got.Codec() != None ||
		got.BaseTimestamp() != NoTimestamp || got.MaxTimestamp() != 5000 || got.LastOffset() != 104 || got.ProducerID() != 7 {
		t.Errorf("%x", got)
	}
	if text := recordsOf(t, got); text != "" {
		t.Errorf("records %s", text)
	}
}

// FuzzFilter: what ForEach reads, the filter reads too, and rebuilt from all of
// its records the batch says the same.
func FuzzFilter(f *testing.F) {
	for codec := None; codec <= Zstd; codec++ {
		b := NewBuilder(BuilderOptions{Codec: codec})
		for i := range 3 {
			if err := b.Append(Record{Key: []byte{byte(i)}, Value: []byte("v"), Timestamp: int64(i)}); err != nil {
				f.Fatal(err)
			}
		}
		batch, err := b.Build()
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(batch))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, _, err := Next(data)
		if err != nil || b.Count() > 1000 {
			return
		}
		const most = 1 << 20
		wantErr := b.ForEach(most, func(*Record) error { return nil })
		var filter Filter
		s, err := filter.Select(b, most, func(*Record) bool { return true })
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("filter: %v, ForEach: %v", err, wantErr)
		}
		if err != nil || s.Kept == 0 {
			return
		}
		out, err := filter.AppendRebuilt(nil, NoTimestamp)
		if err != nil {
			t.Fatal(err)
		}
		if !Batch(out).ChecksumOK() || recordsOf(t, Batch(out)) != recordsOf(t, b) {
			t.Fatalf("rebuilt %q, was %q", recordsOf(t, Batch(out)), recordsOf(t, b))
		}
	})
}
