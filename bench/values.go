package main

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
)

// values are what records hold: half of each is random and half is text, so that a codec makes about a half of it. The
// first four bytes are the value's number, by which a reader knows what the rest must be.
type values struct {
	size int
	all  [][]byte
}

func newValues(size int) *values {
	const memory = 8 << 20 // several produce requests, so that none repeats itself
	random := rand.New(rand.NewPCG(20261130, uint64(size)))
	v := &values{size: size, all: make([][]byte, memory/size)}
	for n := range v.all {
		b := bytes.Repeat([]byte("what a record says "), size/19+1)[:size]
		for k := range size / 2 {
			b[k] = byte(random.Uint32())
		}
		binary.BigEndian.PutUint32(b, uint32(n))
		v.all[n] = b
	}
	return v
}

// at is the value of the n-th record.
func (v *values) at(n int) []byte { return v.all[n%len(v.all)] }

// has tells whether a value is one of these, byte for byte.
func (v *values) has(b []byte) bool {
	if len(b) != v.size {
		return false
	}
	n := binary.BigEndian.Uint32(b)
	return int64(n) < int64(len(v.all)) && bytes.Equal(b, v.all[n])
}
