package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// samples are plain bytes of several kinds and sizes.
func samples() map[string][]byte {
	noise := make([]byte, 300_000)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(noise)
	return map[string][]byte{
		"one byte":  {7},
		"text":      []byte("a short text, a short text"),
		"zeros":     make([]byte, 1_000_000),
		"noise":     noise,
		"two block": []byte(strings.Repeat("0123456789abcdef", 70_000/16*2)),
		"64 KiB":    noise[:64<<10],
	}
}

func TestRoundTrip(t *testing.T) {
	levels := map[Codec][]int{None: {0}, Gzip: {0, -1, 1, 5, 9}, Snappy: {0}, Lz4: {0, 1, 9, 12, 17}, Zstd: {0, -131072, 1, 3, 9, 22}}
	for codec, levels := range levels {
		for _, level := range levels {
			for name, plain := range samples() {
				packed, err := Compress([]byte("head"), plain, codec, level)
				if err != nil {
					t.Fatalf("%v level %d, %s: %v", codec, level, name, err)
				}
				if string(packed[:4]) != "head" {
					t.Errorf("%v: does not append", codec)
				}
				got, err := Decompress([]byte("x"), packed[4:], codec, len(plain))
				if err != nil || !bytes.Equal(got[1:], plain) {
					t.Errorf("%v level %d, %s: %v", codec, level, name, err)
				}
				if _, err := Decompress(nil, packed[4:], codec, len(plain)-1); !errors.Is(err, ErrMessageTooLarge) {
					t.Errorf("%v, %s: one byte too many: %v", codec, name, err)
				}
			}
		}
	}
}

func TestLevels(t *testing.T) {
	for codec, levels := range map[Codec][]int{Gzip: {-2, 10}, Lz4: {-1, 18}, Zstd: {-131073, 23}, Codec(5): {0}, Codec(7): {0}} {
		for _, level := range levels {
			if _, err := Compress(nil, []byte("x"), codec, level); err == nil {
				t.Errorf("%v takes level %d", codec, level)
			}
			if _, err := NewBuilder(BuilderOptions{Codec: codec, Level: level}).Build(); err == nil {
				t.Errorf("a builder takes level %d of %v", level, codec)
			}
		}
	}
}

func TestBrokenBlocks(t *testing.T) {
	plain := []byte(strings.Repeat("all work and no play ", 9000))
	for codec := Gzip; codec <= Zstd; codec++ {
		packed, err := Compress(nil, plain, codec, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 5, 12, 19, len(packed) / 2, len(packed) - 1} {
			if got, err := Decompress(nil, packed[:n], codec, 1<<20); err == nil && n < len(packed) && bytes.Equal(got, plain) {
				t.Errorf("%v: %d of %d bytes are enough", codec, n, len(packed))
			}
		}
		if _, err := Decompress(nil, bytes.Repeat([]byte{0xfe}, 100), codec, 1<<20); !errors.Is(err, ErrBadCompression) {
			t.Errorf("%v: nonsense gives %v", codec, err)
		}
	}
}

func TestSnappyFramings(t *testing.T) {
	plain := bytes.Repeat([]byte("snappy "), 20_000)
	raw := snappy.Encode(nil, plain)
	got, err := Decompress(nil, raw, Snappy, len(plain))
	if err != nil || !bytes.Equal(got, plain) {
		t.Errorf("a raw block: %v", err)
	}
	framed, err := Compress(nil, plain, Snappy, 0)
	if err != nil {
		t.Fatal(err)
	}
	if string(framed[:16]) != "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01" {
		t.Errorf("header %x", framed[:16])
	}
	first := int(binary.BigEndian.Uint32(framed[16:]))
	if n, err := snappy.DecodedLen(framed[20 : 20+first]); err != nil || n != 32<<10 {
		t.Errorf("the first block holds %d bytes, %v", n, err)
	}
	got, err = Decompress(nil, append(bytes.Clone(framed), framed...), Snappy, 2*len(plain))
	if err != nil || len(got) != 2*len(plain) {
		t.Errorf("two streams: %d bytes, %v", len(got), err)
	}
	huge := binary.AppendUvarint(nil, 1<<31)
	if _, err := Decompress(nil, append(huge, 0, 1), Snappy, 1<<30); !errors.Is(err, ErrBadCompression) {
		t.Errorf("a block that promises 2 GiB: %v", err)
	}
	repeat := append(binary.AppendUvarint(nil, 8), 0<<2|0, 'a', 0x01|3<<2, 0) // a literal, then a copy from offset 0
	if _, err := Decompress(nil, repeat, Snappy, 100); !errors.Is(err, ErrBadCompression) {
		t.Errorf("a copy from offset 0: %v", err)
	}
}

func TestLz4Frames(t *testing.T) {
	plain := bytes.Repeat([]byte("independent blocks "), 20_000)
	ours, err := Compress(nil, plain, Lz4, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(ours, []byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82}) {
		t.Errorf("header %x", ours[:7])
	}
	var back bytes.Buffer
	if _, err := back.ReadFrom(lz4.NewReader(bytes.NewReader(ours))); err != nil || !bytes.Equal(back.Bytes(), plain) {
		t.Errorf("another reader: %v", err)
	}
	for _, options := range [][]lz4.Option{
		{},
		{lz4.ChecksumOption(true)},
		{lz4.BlockChecksumOption(true), lz4.ChecksumOption(false)},
		{lz4.BlockSizeOption(lz4.Block64Kb)},
		{lz4.BlockSizeOption(lz4.Block256Kb)},
		{lz4.SizeOption(uint64(len(plain)))},
		{lz4.CompressionLevelOption(lz4.Level9)},
	} {
		var frame bytes.Buffer
		w := lz4.NewWriter(&frame)
		if err := w.Apply(options...); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(plain); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := Decompress(nil, frame.Bytes(), Lz4, len(plain))
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%v: %v", options, err)
		}
	}
	for name, change := range map[string]func([]byte){
		"header checksum":  func(b []byte) { b[6]++ },
		"magic":            func(b []byte) { b[0]++ },
		"dependent blocks": func(b []byte) { b[4] = 0x40; b[6] = byte(xxHash32(b[4:6]) >> 8) },
		"block size code":  func(b []byte) { b[5] = 0x30; b[6] = byte(xxHash32(b[4:6]) >> 8) },
		"block too large":  func(b []byte) { binary.LittleEndian.PutUint32(b[7:], 1<<20) },
	} {
		bad := bytes.Clone(ours)
		change(bad)
		if _, err := Decompress(nil, bad, Lz4, 1<<20); !errors.Is(err, ErrBadCompression) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestXXHash32(t *testing.T) {
	for text, want := range map[string]uint32{
		"":    0x02cc5d05,
		"a":   0x550d7456,
		"abc": 0x32d153ff,
		"Nobody inspects the spammish repetition": 0xe2293b2f,
	} {
		if got := xxHash32([]byte(text)); got != want {
			t.Errorf("%q: %08x, want %08x", text, got, want)
		}
	}
}

// A frame may ask for a window of 128 MiB and hold a few bytes.
func TestZstdWindow(t *testing.T) {
	frame := func(window int) []byte {
		var out bytes.Buffer
		enc, err := zstd.NewWriter(&out, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // flushes keep it from becoming a frame of known size
			fmt.Fprint(enc, "a few bytes")
			if err := enc.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := enc.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for _, window := range []int{1 << 20, maxZstdWindow} {
				if got, err := Decompress(nil, frame(window), Zstd, 100); err != nil || len(got) != 33 {
					t.Errorf("window %d: %v", window, err)
				}
			}
		})
	}
	wait.Wait()
	if len(zstdPlaces()) != 0 {
		t.Error("a place for a large window was not given back")
	}
	single := []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x40, 3, 0, 0, 'x'} // a frame of 1 GiB, it says
	if _, err := Decompress(nil, single, Zstd, 100); !errors.Is(err, ErrBadCompression) {
		t.Errorf("a single segment of 1 GiB: %v", err)
	}
	if _, err := Decompress(nil, frame(2*maxZstdWindow), Zstd, 100); !errors.Is(err, ErrBadCompression) {
		t.Errorf("a window of 256 MiB: %v", err)
	}
}

// A megabyte of compressed zeros must not take a gigabyte.
func TestStreamMemory(t *testing.T) {
	body := make([]byte, 64<<20)
	record := appendRecord(nil, &Record{Value: body}, 0, 0)
	for codec := Gzip; codec <= Zstd; codec++ {
		if codec == Snappy {
			continue // its blocks are bounded by their own size
		}
		b := raw(t, codec, 1, record)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Validate(b, goldenOptions("t")); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 12<<20 {
			t.Errorf("%v: validation of %d bytes took %d MiB", codec, len(b), took>>20)
		}
		o := goldenOptions("t")
		o.Compression, o.MaxBatchBytes, o.MaxDecompressedBytes = Compression{Codec: None}, 1<<20, 1<<20
		runtime.ReadMemStats(&before)
		if _, err := Validate(b, o); !errors.Is(err, ErrInvalidRecord) {
			t.Errorf("%v: %v", codec, err)
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 12<<20 {
			t.Errorf("%v: a record that is too large took %d MiB", codec, took>>20)
		}
	}
}
