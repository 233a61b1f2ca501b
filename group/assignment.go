package group

import (
	"cmp"
	"encoding/binary"
	"iter"
	"maps"
	"slices"
)

// topicID is the id of a topic.
type topicID = [16]byte

// partitionSet is partitions of topics, by topic; the numbers ascend and no
// topic is without any. What is in use is not changed: see clone.
type partitionSet map[topicID][]int32

func (s partitionSet) equal(o partitionSet) bool { return maps.EqualFunc(s, o, slices.Equal) }

func (s partitionSet) clone() partitionSet {
	c := make(partitionSet, len(s))
	for id, list := range s {
		c[id] = slices.Clone(list)
	}
	return c
}

func (s partitionSet) has(id topicID, p int32) bool {
	_, found := slices.BinarySearch(s[id], p)
	return found
}

func (s partitionSet) add(id topicID, p int32) {
	if at, found := slices.BinarySearch(s[id], p); !found {
		s[id] = slices.Insert(s[id], at, p)
	}
}

func (s partitionSet) drop(id topicID, p int32) {
	at, found := slices.BinarySearch(s[id], p)
	if !found {
		return
	}
	if s[id] = slices.Delete(s[id], at, at+1); len(s[id]) == 0 {
		delete(s, id)
	}
}

// topics lists the topics in the order of a Java map.
func (s partitionSet) topics() []topicID {
	var t hashTable
	t.grow(len(s))
	return sortedIDs(maps.Keys(s), t.size)
}

// topicsOfCopy lists them in the order of a Java map that was made for just so
// many, which is what assignors return.
func (s partitionSet) topicsOfCopy() []topicID {
	size := 1
	for len(s) > size*3/4 {
		size *= 2
	}
	return sortedIDs(maps.Keys(s), size)
}

// ownership is partitions that a member has, with the epoch of the assignment
// that gave it each. What is in use is not changed.
type ownership map[topicID]map[int32]int32

func (o ownership) equal(p ownership) bool {
	return maps.EqualFunc(o, p, func(a, b map[int32]int32) bool { return maps.Equal(a, b) })
}

func (o ownership) has(id topicID, p int32) bool {
	_, ok := o[id][p]
	return ok
}

func (o ownership) put(id topicID, p, epoch int32) {
	if o[id] == nil {
		o[id] = map[int32]int32{}
	}
	o[id][p] = epoch
}

// samePartitions compares without the epochs.
func (o ownership) samePartitions(p ownership) bool {
	return maps.EqualFunc(o, p, func(a, b map[int32]int32) bool {
		return maps.EqualFunc(a, b, func(int32, int32) bool { return true })
	})
}

// partitions is the ownership without the epochs.
func (o ownership) partitions() partitionSet {
	s := make(partitionSet, len(o))
	for id, m := range o {
		s[id] = slices.Sorted(maps.Keys(m))
	}
	return s
}

// merge is both together.
func (o ownership) merge(p ownership) ownership {
	all := make(ownership, len(o)+len(p))
	for _, from := range [2]ownership{o, p} {
		for id, m := range from {
			for n, epoch := range m {
				all.put(id, n, epoch)
			}
		}
	}
	return all
}

// own is the partitions at one epoch.
func own(s partitionSet, epoch int32) ownership {
	o := make(ownership, len(s))
	for id, list := range s {
		for _, p := range list {
			o.put(id, p, epoch)
		}
	}
	return o
}

// idHash is Java's hashCode of a topic id.
func idHash(id topicID) int32 {
	x := binary.BigEndian.Uint64(id[:8]) ^ binary.BigEndian.Uint64(id[8:])
	return int32(uint32(x>>32) ^ uint32(x))
}

// sortedIDs brings ids into the order of a Java map with so many slots. Equals
// are sorted by their bytes, so that the order is always the same.
func sortedIDs(ids iter.Seq[topicID], slots int) []topicID {
	mask := int32(slots - 1)
	slot := func(id topicID) int32 {
		h := idHash(id)
		return (h ^ int32(uint32(h)>>16)) & mask
	}
	return slices.SortedFunc(ids, func(a, b topicID) int {
		return cmp.Or(cmp.Compare(slot(a), slot(b)), slices.Compare(a[:], b[:]))
	})
}

// sortedNames brings the keys of a map into the order of a Java map.
func sortedNames[V any](m map[string]V) []string {
	var t hashTable
	t.grow(len(m))
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.slot(a), t.slot(b)), cmp.Compare(a, b))
	})
}
