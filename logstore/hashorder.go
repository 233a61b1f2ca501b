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

// concurrentOrder is the order of a java.util.concurrent.ConcurrentHashMap
// that was filled with keys: by slot, within a slot by insertion as far as the
// doublings of the table leave it alone. Kafka comes across its partitions in
// this order.
func concurrentOrder(keys []TopicPartition) []TopicPartition {
	slots := make([][]TopicPartition, 16)
	for i, tp := range keys {
		at := javaBucket(tp.javaHash(), len(slots))
		slots[at] = append(slots[at], tp)
		for i+1 >= len(slots)/4*3 {
			slots = doubleConcurrent(slots)
		}
	}
	return slices.Concat(slots...)
}

// doubleConcurrent splits each slot in two as a ConcurrentHashMap does: the
// keys at the end of a slot that go the same way keep their order, those before
// them are put in front of it one by one.
func doubleConcurrent(slots [][]TopicPartition) [][]TopicPartition {
	n := len(slots)
	grown := make([][]TopicPartition, 2*n)
	for at, keys := range slots {
		if len(keys) == 0 {
			continue
		}
		run := len(keys) - 1
		into := javaBucket(keys[run].javaHash(), 2*n)
		for run > 0 && javaBucket(keys[run-1].javaHash(), 2*n) == into {
			run--
		}
		slices.Reverse(keys[:run])
		grown[into] = append(frontOf(keys[:run], into, 2*n), keys[run:]...)
		other := at + at + n - into
		grown[other] = frontOf(keys[:run], other, 2*n)
	}
	return grown
}

// frontOf picks the keys of a slot.
func frontOf(keys []TopicPartition, slot, size int) []TopicPartition {
	var front []TopicPartition
	for _, tp := range keys {
		if javaBucket(tp.javaHash(), size) == slot {
			front = append(front, tp)
		}
	}
	return front
}

// javaHashOrder is the order of a java.util.HashMap filled from a
// ConcurrentHashMap to which keys came in the order given.
func javaHashOrder(keys []TopicPartition) []TopicPartition {
	keys = concurrentOrder(keys)
	size := javaTableSize(len(keys))
	slices.SortStableFunc(keys, func(a, b TopicPartition) int {
		return cmp.Compare(javaBucket(a.javaHash(), size), javaBucket(b.javaHash(), size))
	})
	return keys
}

// scalaHashOrder is the order of a scala.collection.mutable.AnyRefMap filled
// likewise.
func scalaHashOrder(keys []TopicPartition) []TopicPartition {
	t := newScalaTable(16)
	for i, tp := range concurrentOrder(keys) {
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
	ordered := make([]TopicPartition, 0, len(keys))
	for _, tp := range t.slots {
		if tp != nil {
			ordered = append(ordered, *tp)
		}
	}
	return ordered
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
