package group

import (
	"cmp"
	"slices"
	"unicode/utf16"
)

// javaHash is Java's String.hashCode: over UTF-16 units, in 32 bits.
func javaHash(s string) int32 {
	var h int32
	for _, r := range s {
		if hi, lo := utf16.EncodeRune(r); hi != '\uFFFD' {
			h = 31*(31*h+hi) + lo
			continue
		}
		h = 31*h + r
	}
	return h
}

// PartitionFor is the partition of __consumer_offsets, of which there are n,
// that keeps the group.
func PartitionFor(groupID string, n int32) int32 {
	h := javaHash(groupID)
	if h < 0 {
		h = -h
	}
	if h < 0 {
		h = 0 // the smallest number has no counterpart
	}
	return h % n
}

// utf16Len is the length of a string as Java counts it.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

// hashTable is the size of a java.util.HashMap, which grows and never shrinks.
// Kafka iterates over such maps where it makes records and elects leaders, so
// the order is visible.
type hashTable struct{ size int }

// grow notes that the map has n entries now.
func (t *hashTable) grow(n int) {
	if t.size == 0 {
		t.size = 16
	}
	for n > t.size/4*3 {
		t.size *= 2
	}
}

// slot is where the map keeps a key.
func (t *hashTable) slot(key string) int {
	h := uint32(javaHash(key))
	return int(h^h>>16) & (max(t.size, 16) - 1)
}

// sort brings keys, which are in the order of their insertion, into the order
// of an iteration.
func (t *hashTable) sort(keys []string) {
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(t.slot(a), t.slot(b)) })
}
