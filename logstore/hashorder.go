package logstore

import (
	"cmp"
	"slices"
	"unicode/utf16"
)

// Kafka writes some files in the order in which a hash map of the Java or
// Scala library hands out its entries. Nothing depends on it but the bytes.

// javaStringHash is java.lang.String.hashCode.
func javaStringHash(s string) int32 {
	h := int32(0)
	for _, r := range s {
		if r < 0x10000 {
			h = 31*h + r
			continue
		}
		hi, lo := utf16.EncodeRune(r)
		h = 31*(31*h+hi) + lo
	}
	return h
}

// javaHash is the hash of Kafka's TopicPartition class.
func (tp TopicPartition) javaHash() int32 {
	return 31*(31+tp.Partition) + javaStringHash(tp.Topic)
}

// javaBucket is the slot of a java.util.HashMap of a size.
func javaBucket(hash int32, size int) int {
	h := uint32(hash)
	return int((h ^ h>>16) & uint32(size-1))
}

// javaLongHash is java.lang.Long.hashCode.
func javaLongHash(v int64) int32 { return int32(v ^ int64(uint64(v)>>32)) }

// javaTableSize is the table a java.util.HashMap has after n insertions: 16
// slots, doubled when more than three quarters are used.
func javaTableSize(n int) int {
	size := 16
	for n > size/4*3 {
		size *= 2
	}
	return size
}

// sourceOrder is the order in which Kafka comes across its partitions: that of
// a ConcurrentHashMap, whose table doubles when three quarters are used. Those
// that share a slot are sorted here; with Kafka they come by their history.
func sourceOrder(offsets map[TopicPartition]int64) []TopicPartition {
	keys := make([]TopicPartition, 0, len(offsets))
	for tp := range offsets {
		keys = append(keys, tp)
	}
	size := 16
	for len(keys) >= size/4*3 {
		size *= 2
	}
	slices.SortFunc(keys, func(a, b TopicPartition) int {
		return cmp.Or(
			cmp.Compare(javaBucket(a.javaHash(), size), javaBucket(b.javaHash(), size)),
			cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return keys
}

// javaHashOrder is the order of a java.util.HashMap filled from the source.
func javaHashOrder(offsets map[TopicPartition]int64) []TopicPartition {
	keys := sourceOrder(offsets)
	size := javaTableSize(len(keys))
	slices.SortStableFunc(keys, func(a, b TopicPartition) int {
		return cmp.Compare(javaBucket(a.javaHash(), size), javaBucket(b.javaHash(), size))
	})
	return keys
}

// scalaHashOrder is the order of a scala.collection.mutable.AnyRefMap filled
// from the source.
func scalaHashOrder(offsets map[TopicPartition]int64) []TopicPartition {
	t := newScalaTable(16)
	for i, tp := range sourceOrder(offsets) {
		t.put(tp)
		if n := len(t.slots); i+1 > (n-1)/2 {
			grown := newScalaTable(2 * n)
			for _, at := range t.slots {
				if at != nil {
					grown.put(*at)
				}
			}
			t = grown
		}
	}
	keys := make([]TopicPartition, 0, len(offsets))
	for _, tp := range t.slots {
		if tp != nil {
			keys = append(keys, *tp)
		}
	}
	return keys
}

// scalaTable is an AnyRefMap's table: open addressing, at least half empty.
type scalaTable struct{ slots []*TopicPartition }

func newScalaTable(size int) scalaTable { return scalaTable{make([]*TopicPartition, size)} }

func (t scalaTable) put(tp TopicPartition) {
	mask := len(t.slots) - 1
	at := int(scalaSpread(tp.javaHash())) & mask
	for tries := 1; t.slots[at] != nil; tries++ {
		at = (at + 2*(tries+1)*tries - 3) & mask
	}
	t.slots[at] = &tp
}

// scalaSpread mixes a hash as AnyRefMap does; 0 marks an empty slot there.
func scalaSpread(hash int32) uint32 {
	h := uint32(hash)
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) & 0x7fffffff
	if h == 0 {
		return 0x41081989
	}
	return h
}
