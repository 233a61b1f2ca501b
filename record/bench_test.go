package record

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchBatch is a batch of about 16 KiB with records of 100 bytes.
func benchBatch(b *testing.B, codec Codec) Batch {
	var records []Record
	for i := range 145 {
		records = append(records, Record{Timestamp: now + int64(i), Key: fmt.Appendf(nil, "key-%06d", i),
			Value: fmt.Appendf(nil, "%090d", i*7919)})
	}
	return made(b, BuilderOptions{Codec: codec}, records...)
}

func BenchmarkCheckRecordSet(b *testing.B) {
	set := benchBatch(b, None)
	b.SetBytes(int64(len(set)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := CheckRecordSet(set, 1<<20); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	for codec := None; codec <= Zstd; codec++ {
		b.Run(codec.String(), func(b *testing.B) {
			set := benchBatch(b, codec)
			o := goldenOptions("t")
			b.SetBytes(int64(len(benchBatch(b, None))))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Validate(set, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRecompress(b *testing.B) {
	for codec := Gzip; codec <= Zstd; codec++ {
		for _, set := range []Batch{benchBatch(b, None), largeBatch(b)} {
			b.Run(fmt.Sprintf("%v/bytes=%d", codec, len(set)), func(b *testing.B) {
				o := goldenOptions("t")
				o.Compression = Compression{Codec: codec}
				b.SetBytes(int64(len(set)))
				b.ReportAllocs()
				for b.Loop() {
					v, err := Validate(set, o)
					if err != nil {
						b.Fatal(err)
					}
					v.Release()
				}
			})
		}
	}
}

// largeBatch has 900 records of a KiB, half random and half text.
func largeBatch(b *testing.B) Batch {
	random := rand.NewChaCha8([32]byte{})
	var records []Record
	for i := range 900 {
		value := make([]byte, 512, 1024)
		random.Read(value)
		for len(value) < 1000 {
			value = fmt.Appendf(value, "field-%d=value-%d;", len(value)%7, i%13)
		}
		records = append(records, Record{Timestamp: now + int64(i), Value: value})
	}
	return made(b, BuilderOptions{}, records...)
}

func BenchmarkForEach(b *testing.B) {
	for codec := None; codec <= Zstd; codec++ {
		b.Run(codec.String(), func(b *testing.B) {
			set := benchBatch(b, codec)
			b.SetBytes(int64(len(benchBatch(b, None))))
			b.ReportAllocs()
			for b.Loop() {
				if err := set.ForEach(1<<20, func(*Record) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
