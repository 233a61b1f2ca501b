package record

import (
	"bytes"
	"fmt"
	"testing"
)

// seeds are the batches that Kafka and its producers wrote.
func seeds(f *testing.F) [][]byte {
	var all [][]byte
	for _, name := range []string{"reject", "records", "codecs"} {
		for _, set := range goldenInputs(f, name) {
			if len(set) < 4096 {
				all = append(all, set)
			}
		}
	}
	for rest := golden(f, "txn.tx.log"); len(rest) > 0; {
		b, next, err := Next(rest)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, b)
		rest = next
	}
	return all
}

// FuzzBatch feeds bytes to everything that takes a batch from outside.
func FuzzBatch(f *testing.F) {
	for _, set := range seeds(f) {
		f.Add(set, int8(0), false)
		f.Add(set, int8(3), true)
	}
	f.Fuzz(func(t *testing.T, set []byte, target int8, compacted bool) {
		_, _ = ParseHeader(set)
		_, _ = CheckRecordSet(set, 1<<20)
		b, _, err := Next(set)
		if err != nil {
			return
		}
		b = bytes.Clone(b)
		_ = b.ForEach(1<<16, func(*Record) error { return nil })
		_, _ = b.Marker()
		b.SetBaseOffset(0)
		b.renewCRC()
		if checked, err := CheckRecordSet(b, 1<<20); err != nil || len(checked) != len(b) {
			t.Fatalf("a batch with the right checksum: %v", err)
		}
		o := goldenOptions("t")
		o.Compacted, o.MaxDecompressedBytes, o.MaxBatchBytes = compacted, 1<<16, 1<<16
		o.Compression = Compression{Producer: target < 0, Codec: Codec(target & 3)}
		v, err := Validate(b, o)
		if err != nil {
			return
		}
		if !v.Batch.ChecksumOK() || v.Batch.MaxTimestamp() != v.MaxTimestampMs || v.Batch.Size() != len(v.Batch) {
			t.Fatalf("validated batch: checksum %t, max timestamp %d, size %d", v.Batch.ChecksumOK(), v.Batch.MaxTimestamp(), v.Batch.Size())
		}
		if b.Codec() != None && &v.Batch[0] == &b[0] {
			return // its records were skipped by their fields, like Kafka does
		}
		count := int32(0)
		if err := v.Batch.ForEach(0, func(*Record) error { count++; return nil }); err != nil || count != v.Batch.Count() {
			t.Fatalf("a validated batch has %d of %d records: %v", count, v.Batch.Count(), err)
		}
	})
}

// FuzzRecords compares the ways of reading the same records.
func FuzzRecords(f *testing.F) {
	for _, set := range seeds(f) {
		if b, _, err := Next(set); err == nil && b.Codec() == None {
			f.Add([]byte(b.Payload()), uint8(b.Count()))
		}
	}
	f.Fuzz(func(t *testing.T, records []byte, count uint8) {
		var usual, other brief
		if skipUsual(records, &usual) && (!skipAny(records, &other) || usual != other) {
			t.Fatalf("record %x: %+v and %+v", records, usual, other)
		}
		if count == 0 || len(records) == 0 {
			return
		}
		read := func(codec Codec) (string, error) {
			var out bytes.Buffer
			err := raw(t, codec, int32(count), records).ForEach(0, func(r *Record) error {
				fmt.Fprintf(&out, "%v %q %q %q\n", r, r.Key, r.Value, r.Headers)
				return nil
			})
			return out.String(), err
		}
		plain, err := read(None)
		_, validErr := Validate(raw(t, None, int32(count), records), ValidateOptions{BeforeMaxMs: 1<<63 - 1, AfterMaxMs: 1<<63 - 1, Compression: Compression{Producer: true}})
		if (err == nil) != (validErr == nil) {
			t.Fatalf("reading gives %v, validation %v", err, validErr)
		}
		packed, packedErr := read(Lz4)
		if (err == nil) != (packedErr == nil) || plain != packed {
			t.Fatalf("plain %v:\n%s\ncompressed %v:\n%s", err, plain, packedErr, packed)
		}
	})
}

// FuzzDecompress feeds bytes to the decompressors, and compresses them too.
func FuzzDecompress(f *testing.F) {
	for _, set := range seeds(f) {
		if b, _, err := Next(set); err == nil {
			f.Add(int8(b.Codec()), []byte(b.Payload()))
			f.Add(int8(4), []byte(b.Payload()))
		}
	}
	f.Fuzz(func(t *testing.T, number int8, data []byte) {
		const limit = 1 << 20
		codec := Codec(number)
		if got, err := Decompress(nil, data, codec, limit); err == nil && len(got) > limit {
			t.Fatalf("%d bytes where %d were allowed", len(got), limit)
		}
		packed, err := Compress(nil, data, codec, 0)
		if err != nil {
			return
		}
		if got, err := Decompress(nil, packed, codec, len(data)); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("%v: %d bytes come back as %d, %v", codec, len(data), len(got), err)
		}
	})
}
