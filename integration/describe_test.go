package integration

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// describeLog prints every batch of a .log file, a line each, and its records, in the words of NAME.decoded.txt.
// It reads the bytes by itself, so that a mistake in package record cannot hide here.
func describeLog(data []byte) string {
	table := crc32.MakeTable(crc32.Castagnoli)
	var out strings.Builder
	for pos := 0; pos < len(data); {
		h := data[pos:]
		size := 0
		if len(h) >= 61 {
			size = 12 + int(int32(binary.BigEndian.Uint32(h[8:])))
		}
		if size < 61 || size > len(h) {
			fmt.Fprintf(&out, "position %d: %d bytes that are no batch\n", pos, len(h))
			break
		}
		u64 := func(at int) int64 { return int64(binary.BigEndian.Uint64(h[at:])) }
		u32 := func(at int) int32 { return int32(binary.BigEndian.Uint32(h[at:])) }
		attrs, crc := binary.BigEndian.Uint16(h[21:]), binary.BigEndian.Uint32(h[17:])
		fmt.Fprintf(&out, "position %d size %d baseOffset %d lastOffset %d leaderEpoch %d magic %d crc %08x crcOk %v "+
			"attributes 0x%04x codec %d logAppendTime %v transactional %v control %v deleteHorizon %v baseTimestamp %d "+
			"maxTimestamp %d producerId %d producerEpoch %d baseSequence %d records %d\n",
			pos, size, u64(0), u64(0)+int64(u32(23)), u32(12), h[16], crc, crc32.Checksum(h[21:size], table) == crc,
			attrs, attrs&7, attrs&8 != 0, attrs&16 != 0, attrs&32 != 0, attrs&64 != 0, u64(27),
			u64(35), u64(43), int16(binary.BigEndian.Uint16(h[51:])), u32(53), u32(57))
		describeBlock(&out, h[61:size], attrs, int(u32(57)), u64(0), u64(27))
		pos += size
	}
	return out.String()
}

func describeBlock(out *strings.Builder, raw []byte, attrs uint16, count int, base, first int64) {
	if codec := attrs & 7; codec != 0 {
		var err error
		raw, err = kgo.DefaultDecompressor().Decompress(raw, kgo.CompressionCodecType(codec))
		if err != nil {
			fmt.Fprintf(out, "  cannot decompress: %v\n", err)
			return
		}
	}
	defer func() {
		if recover() != nil {
			out.WriteString("  records do not parse\n")
		}
	}()
	r := recordReader{raw}
	for range count {
		length := r.varint()
		attributes := r.b[0]
		r.b = r.b[1:]
		timestamp, offset := first+r.varint(), base+r.varint()
		fmt.Fprintf(out, "  offset %d timestamp %d length %d attributes %d key %s value %s", offset, timestamp, length, attributes, r.bytes(), r.bytes())
		for n := r.varint(); n > 0; n-- {
			name := r.b[:0]
			l := r.varint()
			name, r.b = r.b[:l], r.b[l:]
			fmt.Fprintf(out, " header %q %s", name, r.bytes())
		}
		out.WriteString("\n")
	}
	if len(r.b) > 0 {
		fmt.Fprintf(out, "  %d bytes after the last record\n", len(r.b))
	}
}

type recordReader struct{ b []byte }

func (r *recordReader) varint() int64 {
	v, n := binary.Varint(r.b)
	r.b = r.b[n:]
	return v
}

// bytes reads a length and that many bytes and words them: short ones in hex, long ones by their checksum.
func (r *recordReader) bytes() string {
	n := r.varint()
	if n < 0 {
		return "null"
	}
	v := r.b[:n]
	r.b = r.b[n:]
	if n > 48 {
		return fmt.Sprintf("%d bytes crc32c %08x", n, crc32.Checksum(v, crc32.MakeTable(crc32.Castagnoli)))
	}
	return fmt.Sprintf("%d bytes 0x%s", n, hex.EncodeToString(v))
}

// compareDecoded compares the logs of a capture by their records, for those logs whose name matches only. Positions,
// sizes and checksums of compressed batches are the compressor's, the largest timestamp under LogAppendTime is a clock's.
func compareDecoded(t *testing.T, file string, got Tree, only *regexp.Regexp) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "== ")[1:] {
		path, want, _ := strings.Cut(part, "\n")
		if !only.MatchString(path) {
			continue
		}
		content := got[path]
		data := make([]byte, content.Size)
		copy(data, content.Data)
		compareLines(t, path, blankClocks(want), blankClocks(describeLog(data)))
	}
}

func blankClocks(s string) []string {
	compressed := regexp.MustCompile(`position \d+ size \d+ `)
	crc := regexp.MustCompile(`crc [0-9a-f]{8} `)
	appended := regexp.MustCompile(`(logAppendTime true .*) maxTimestamp \d+`)
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, l := range lines {
		l = compressed.ReplaceAllString(l, "")
		l = crc.ReplaceAllString(l, "")
		lines[i] = appended.ReplaceAllString(l, "$1 maxTimestamp *")
	}
	return lines
}
