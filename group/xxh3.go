package group

import (
	"encoding/binary"
	"math/bits"
)

// XXH3 with 64 bits and seed 0. A consumer group keeps a hash of the metadata
// of its topics in its record, so this one function and no other tells whether
// a group that Kafka wrote has seen the topics as they are.

const (
	prime32x1 uint64 = 0x9E3779B1
	prime32x2 uint64 = 0x85EBCA77
	prime32x3 uint64 = 0xC2B2AE3D
	prime64x1 uint64 = 0x9E3779B185EBCA87
	prime64x2 uint64 = 0xC2B2AE3D27D4EB4F
	prime64x3 uint64 = 0x165667B19E3779F9
	prime64x4 uint64 = 0x85EBCA77C2B2AE63
	prime64x5 uint64 = 0x27D4EB2F165667C5
	primeMix1 uint64 = 0x165667919E3779F9
	primeMix2 uint64 = 0x9FB21C651E98DF25
)

// xxh3Secret is the secret of the algorithm's definition.
const xxh3Secret = "\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x7c\x01\x81\x2c\xf7\x21\xad\x1c\xde\xd4\x6d\xe9\x83\x90\x97\xdb\x72\x40\xa4\xa4\xb7\xb3\x67\x1f" +
	"\xcb\x79\xe6\x4e\xcc\xc0\xe5\x78\x82\x5a\xd0\x7d\xcc\xff\x72\x21\xb8\x08\x46\x74\xf7\x43\x24\x8e\xe0\x35\x90\xe6\x81\x3a\x26\x4c" +
	"\x3c\x28\x52\xbb\x91\xc3\x00\xcb\x88\xd0\x65\x8b\x1b\x53\x2e\xa3\x71\x64\x48\x97\xa2\x0d\xf9\x4e\x38\x19\xef\x46\xa9\xde\xac\xd8\xa8" +
	"\xfa\x76\x3f\xe3\x9c\x34\x3f\xf9\xdc\xbb\xc7\xc7\x0b\x4f\x1d\x8a\x51\xe0\x4b\xcd\xb4\x59\x31\xc8\x9f\x7e\xc9\xd9\x78\x73\x64\xea" +
	"\xc5\xac\x83\x34\xd3\xeb\xc3\xc5\x81\xa0\xff\xfa\x13\x63\xeb\x17\x0d\xdd\x51\xb7\xf0\xda\x49\xd3\x16\x55\x26\x29\xd4\x68\x9e\x2b" +
	"\x16\xbe\x58\x7d\x47\xa1\xfc\x8f\xf8\xb8\xd1\x7a\xd0\x31\xce\x45\xcb\x3a\x8f\x95\x16\x04\x28\xaf\xd7\xfb\xca\xbb\x4b\x40\x7e"

const (
	xxh3Stripe     = 64
	xxh3SecretSize = len(xxh3Secret) // 192
	xxh3Stripes    = (xxh3SecretSize - xxh3Stripe) / 8
	xxh3Block      = xxh3Stripe * xxh3Stripes
)

// secretAt reads 8 bytes of the secret.
func secretAt(i int) uint64 {
	s := xxh3Secret[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func xxh3(b []byte) uint64 {
	n := len(b)
	switch {
	case n == 0:
		return avalanche64(secretAt(56) ^ secretAt(64))
	case n <= 3:
		combined := uint64(b[0])<<16 | uint64(b[n>>1])<<24 | uint64(b[n-1]) | uint64(n)<<8
		return avalanche64(combined ^ (secretAt(0)&0xffffffff ^ secretAt(0)>>32))
	case n <= 8:
		return xxh3Upto8(b)
	case n <= 16:
		return xxh3Upto16(b)
	case n <= 128:
		return xxh3Upto128(b)
	case n <= 240:
		return xxh3Upto240(b)
	}
	return xxh3Long(b)
}

func xxh3Upto8(b []byte) uint64 {
	n := len(b)
	first, last := uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:]))
	h := (last + first<<32) ^ (secretAt(8) ^ secretAt(16))
	h ^= bits.RotateLeft64(h, 49) ^ bits.RotateLeft64(h, 24)
	h *= primeMix2
	h ^= h>>35 + uint64(n)
	h *= primeMix2
	return h ^ h>>28
}

func xxh3Upto16(b []byte) uint64 {
	n := len(b)
	low := binary.LittleEndian.Uint64(b) ^ (secretAt(24) ^ secretAt(32))
	high := binary.LittleEndian.Uint64(b[n-8:]) ^ (secretAt(40) ^ secretAt(48))
	return avalanche3(uint64(n) + bits.ReverseBytes64(low) + high + fold(low, high))
}

func xxh3Upto128(b []byte) uint64 {
	n := len(b)
	h := uint64(n) * prime64x1
	for i := (n - 1) / 32; i >= 0; i-- {
		h += mix16(b[16*i:], 32*i) + mix16(b[n-16*(i+1):], 32*i+16)
	}
	return avalanche3(h)
}

func xxh3Upto240(b []byte) uint64 {
	n := len(b)
	h := uint64(n) * prime64x1
	for i := range 8 {
		h += mix16(b[16*i:], 16*i)
	}
	h = avalanche3(h)
	for i := 8; i < n/16; i++ {
		h += mix16(b[16*i:], 16*(i-8)+3)
	}
	return avalanche3(h + mix16(b[n-16:], 136-17))
}

func xxh3Long(b []byte) uint64 {
	acc := [8]uint64{prime32x3, prime64x1, prime64x2, prime64x3, prime64x4, prime32x2, prime64x5, prime32x1}
	blocks := (len(b) - 1) / xxh3Block
	for i := range blocks {
		for s := range xxh3Stripes {
			accumulate(&acc, b[i*xxh3Block+s*xxh3Stripe:], 8*s)
		}
		scramble(&acc)
	}
	rest := b[blocks*xxh3Block:]
	for s := range (len(rest) - 1) / xxh3Stripe {
		accumulate(&acc, rest[s*xxh3Stripe:], 8*s)
	}
	accumulate(&acc, b[len(b)-xxh3Stripe:], xxh3SecretSize-xxh3Stripe-7)
	h := uint64(len(b)) * prime64x1
	for i := range 4 {
		h += fold(acc[2*i]^secretAt(11+16*i), acc[2*i+1]^secretAt(11+16*i+8))
	}
	return avalanche3(h)
}

// accumulate takes in one stripe of 64 bytes.
func accumulate(acc *[8]uint64, b []byte, secret int) {
	for i := range acc {
		v := binary.LittleEndian.Uint64(b[8*i:])
		key := v ^ secretAt(secret+8*i)
		acc[i^1] += v
		acc[i] += (key & 0xffffffff) * (key >> 32)
	}
}

func scramble(acc *[8]uint64) {
	for i := range acc {
		a := acc[i]
		acc[i] = (a ^ a>>47 ^ secretAt(xxh3SecretSize-xxh3Stripe+8*i)) * prime32x1
	}
}

func mix16(b []byte, secret int) uint64 {
	return fold(binary.LittleEndian.Uint64(b)^secretAt(secret), binary.LittleEndian.Uint64(b[8:])^secretAt(secret+8))
}

// fold multiplies to 128 bits and joins both halves.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

func avalanche3(h uint64) uint64 {
	h ^= h >> 37
	h *= primeMix1
	return h ^ h>>32
}

func avalanche64(h uint64) uint64 {
	h ^= h >> 33
	h *= prime64x2
	h ^= h >> 29
	h *= prime64x3
	return h ^ h>>32
}
