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

// javaHashes are the hashes of partitions.
func javaHashes(entries []CheckpointEntry) []int32 {
	hashes := make([]int32, len(entries))
	for i := range entries {
		hashes[i] = entries[i].javaHash()
	}
	return hashes
}

// concurrentOrder is the order of a java.util.concurrent.ConcurrentHashMap
// that was filled with keys of these hashes: by slot, within a slot by insertion
// as far as the doublings of the table leave it alone. Kafka comes across its
// partitions in this order. It is given as places in hashes.
func concurrentOrder(hashes []int32) []int32 {
	t := newConcurrentTable(hashes, 16)
	for i := range hashes {
		t.append(int32(i))
		for i+1 >= len(t.slots)/4*3 {
			t.double()
		}
	}
	order := make([]int32, 0, len(hashes))
	for _, s := range t.slots {
		for at := s.first; at != noKey; at = t.next[at] {
			order = append(order, at)
		}
	}
	return order
}

// noKey ends a chain.
const noKey = -1

// concurrentTable is a ConcurrentHashMap's table: a chain of keys in each slot.
type concurrentTable struct {
	hashes []int32
	next   []int32 // of each key the one after it in its slot
	slots  []chain
}

// chain is the keys of a slot.
type chain struct{ first, last int32 }

func newConcurrentTable(hashes []int32, size int) *concurrentTable {
	return &concurrentTable{hashes: hashes, next: make([]int32, len(hashes)), slots: emptyChains(size)}
}

func emptyChains(n int) []chain {
	slots := make([]chain, n)
	for i := range slots {
		slots[i] = chain{noKey, noKey}
	}
	return slots
}

// append puts a key at the end of its slot.
func (t *concurrentTable) append(key int32) {
	s := &t.slots[javaBucket(t.hashes[key], len(t.slots))]
	t.next[key] = noKey
	if s.first == noKey {
		s.first = key
	} else {
		t.next[s.last] = key
	}
	s.last = key
}

// double splits each slot in two as a ConcurrentHashMap does: the keys at the
// end of a slot that go the same way keep their order, those before them are put
// in front of it, or into the other slot, one by one.
func (t *concurrentTable) double() {
	size := 2 * len(t.slots)
	grown := emptyChains(size)
	for _, old := range t.slots {
		if old.first == noKey {
			continue
		}
		run, into := old.first, javaBucket(t.hashes[old.first], size)
		for at := t.next[old.first]; at != noKey; at = t.next[at] {
			if b := javaBucket(t.hashes[at], size); b != into {
				run, into = at, b
			}
		}
		grown[into] = chain{run, old.last}
		for at := old.first; at != run; {
			next := t.next[at]
			s := &grown[javaBucket(t.hashes[at], size)]
			if t.next[at] = s.first; s.first == noKey {
				s.last = at
			}
			s.first = at
			at = next
		}
	}
	t.slots = grown
}

// javaHashOrder is the order of a java.util.HashMap filled from a
// ConcurrentHashMap to which keys came in the order given.
func javaHashOrder(hashes []int32) []int32 {
	order := concurrentOrder(hashes)
	size := javaTableSize(len(order))
	slices.SortStableFunc(order, func(a, b int32) int {
		return cmp.Compare(javaBucket(hashes[a], size), javaBucket(hashes[b], size))
	})
	return order
}

// scalaHashOrder is the order of a scala.collection.mutable.AnyRefMap filled
// likewise.
func scalaHashOrder(hashes []int32) []int32 {
	t := newScalaTable(hashes, 16)
	for i, key := range concurrentOrder(hashes) {
		t.put(key)
		if n := len(t.slots); i+1 > (n-1)/2 {
			grown := newScalaTable(hashes, 2*n)
			for _, at := range t.slots {
				if at != noKey {
					grown.put(at)
				}
			}
			t = grown
		}
	}
	return slices.DeleteFunc(t.slots, func(at int32) bool { return at == noKey })
}

// scalaTable is an AnyRefMap's table: open addressing, at least half empty.
type scalaTable struct {
	hashes []int32
	slots  []int32 // the key of each
}

func newScalaTable(hashes []int32, size int) scalaTable {
	return scalaTable{hashes, slices.Repeat([]int32{noKey}, size)}
}

func (t scalaTable) put(key int32) {
	mask := len(t.slots) - 1
	at := int(scalaSpread(t.hashes[key])) & mask
	for tries := 1; t.slots[at] != noKey; tries++ {
		at = (at + 2*(tries+1)*tries - 3) & mask
	}
	t.slots[at] = key
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
