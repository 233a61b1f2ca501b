package record

import "encoding/binary"

// Variable-length integers: zigzag, 7 bits a byte, the lowest first, at most 5
// bytes for 32 and 10 for 64 bits. What does not fit into the last byte is
// dropped, as Kafka does.

// Positions that the readers return instead of the next one.
const (
	varintCut     = -1 // the bytes end within the number
	varintTooLong = -2 // the number does not end where it must
)

func unzigzag32(u uint32) int32 { return int32(u>>1) ^ -int32(u&1) }

func unzigzag64(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// varint32 reads the number at b[at:] and returns the position after it, or one
// of the negative ones. One byte, the usual case, is inlined.
func varint32(b []byte, at int) (int32, int) {
	if uint(at) < uint(len(b)) && b[at] < 0x80 {
		return unzigzag32(uint32(b[at])), at + 1
	}
	return longVarint32(b, at)
}

func longVarint32(b []byte, at int) (int32, int) {
	var u uint32
	for shift := 0; shift < 35; shift += 7 {
		if uint(at) >= uint(len(b)) {
			return 0, varintCut
		}
		c := b[at]
		at++
		u |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return unzigzag32(u), at
		}
	}
	return 0, varintTooLong
}

// varint64 is varint32 for 64 bits.
func varint64(b []byte, at int) (int64, int) {
	if uint(at) < uint(len(b)) && b[at] < 0x80 {
		return unzigzag64(uint64(b[at])), at + 1
	}
	return longVarint64(b, at)
}

func longVarint64(b []byte, at int) (int64, int) {
	var u uint64
	for shift := 0; shift < 70; shift += 7 {
		if uint(at) >= uint(len(b)) {
			return 0, varintCut
		}
		c := b[at]
		at++
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return unzigzag64(u), at
		}
	}
	return 0, varintTooLong
}

func appendVarint(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

func varintSize(v int64) int {
	n := 1
	for u := uint64(v<<1) ^ uint64(v>>63); u >= 0x80; u >>= 7 {
		n++
	}
	return n
}
