package record

import (
	"bytes"
	"testing"
)

// TestRebuiltMemoryIsUsedAgain: batches that are rebuilt one after another hold what they should, whatever the memory held before.
func TestRebuiltMemoryIsUsedAgain(t *testing.T) {
	for codec := Gzip; codec <= Zstd; codec++ {
		for i := range 20 {
			var records []Record
			for n := range 1 + i*7%13 {
				records = append(records, Record{Timestamp: now + int64(n), Key: []byte{byte(i)}, Value: bytes.Repeat([]byte{byte(n)}, 100*(20-i))})
			}
			o := goldenOptions("t")
			o.Compression = Compression{Codec: codec}
			v, err := Validate(made(t, BuilderOptions{}, records...), o)
			if err != nil || v.Batch.Codec() != codec || !v.Batch.ChecksumOK() {
				t.Fatalf("%v, %d: %v", codec, i, err)
			}
			n := 0
			if err := v.Batch.ForEach(0, func(r *Record) error {
				if r.OffsetDelta != int32(n) || !bytes.Equal(r.Value, records[n].Value) || !bytes.Equal(r.Key, records[n].Key) || r.Timestamp != records[n].Timestamp {
					t.Errorf("%v, batch %d, record %d came back as another", codec, i, n)
				}
				n++
				return nil
			}); err != nil || n != len(records) {
				t.Fatalf("%v, batch %d: %d of %d records, %v", codec, i, n, len(records), err)
			}
			v.Release()
			v.Release() // the second does nothing
		}
	}
}
