package cleaner

import (
	"crypto/md5"
	"encoding/binary"
	"math/bits"
	"slices"
)

// OffsetMap remembers the newest offset of each key. Keys are known by their
// MD5 alone, so that an entry has a fixed size whatever the key:
//
//	16  MD5 of the key
//	 8  offset plus one; 0 marks an empty slot
//
// The table is split into shards that grow on their own: a growing map never
// needs much more memory than it ends with, and a pass over few keys stays
// small however large the buffer may be.
type OffsetMap struct {
	shards []shard
	shift  uint // of the hash's first word, gives the shard
	most   int  // slots that a shard is meant to have at most
	limit  int  // entries that the map takes
	count  int
	latest int64
}

const (
	slotBytes   = 24
	smallMap    = 1 << 12 // slots; a map up to this size has one shard
	manyShards  = 64
	firstGrowth = 16
)

type slot struct {
	hash   [2]uint64
	offset int64
}

type shard struct {
	slots []slot
	used  int
}

// NewOffsetMap makes a map that may take memory bytes and fill them up to the
// load factor. It starts empty and without memory.
func NewOffsetMap(memory int64, load float64) *OffsetMap {
	slots := int(memory / slotBytes)
	n := 1
	if slots > smallMap {
		n = manyShards
	}
	return &OffsetMap{
		shards: make([]shard, n), shift: 64 - uint(bits.TrailingZeros(uint(n))),
		most: slots/n + 1, limit: int(float64(slots) * load), latest: -1,
	}
}

// Full reports whether the map takes no further key. Like Kafka's it then takes
// none that it has either.
func (m *OffsetMap) Full() bool { return m.count >= m.limit }

// Len is the number of keys.
func (m *OffsetMap) Len() int { return m.count }

// Latest is the highest offset that the map speaks for, -1 at first. Records
// above it have not been looked at.
func (m *OffsetMap) Latest() int64 { return m.latest }

// Seen raises Latest without a key.
func (m *OffsetMap) Seen(offset int64) { m.latest = offset }

// Utilization is the filled part of the slots that the memory allows.
func (m *OffsetMap) Utilization() float64 {
	return float64(m.count) / float64(max(1, m.most*len(m.shards)))
}

// Bytes is the memory in use.
func (m *OffsetMap) Bytes() int64 {
	total := int64(0)
	for i := range m.shards {
		total += int64(len(m.shards[i].slots)) * slotBytes
	}
	return total
}

func hashKey(key []byte) [2]uint64 {
	sum := md5.Sum(key)
	return [2]uint64{binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])}
}

// Put notes that a key's newest record stands at offset.
func (m *OffsetMap) Put(key []byte, offset int64) {
	m.putHash(hashKey(key), offset)
}

// putHash returns where the key stood before, -1 for nowhere.
func (m *OffsetMap) putHash(hash [2]uint64, offset int64) (before int64) {
	before = m.shards[hash[0]>>m.shift].put(hash, offset, m.most)
	if before < 0 {
		m.count++
	}
	m.latest = offset
	return before
}

// Get is the newest offset of a key, -1 for an unknown one.
func (m *OffsetMap) Get(key []byte) int64 {
	return m.getHash(hashKey(key))
}

func (m *OffsetMap) getHash(hash [2]uint64) int64 {
	s := &m.shards[hash[0]>>m.shift]
	if len(s.slots) == 0 {
		return -1
	}
	return s.find(hash).offset - 1
}

// probe is a key that waits to be put or looked up together with others: the
// table is larger than the processor's caches, and accesses that do not depend
// on each other wait for the memory at the same time.
type probe struct {
	hash   [2]uint64
	offset int64 // to be put, then the one before it; or found
}

// touch brings the slots that the probes begin at into the caches. Inlined, its
// loads would be found to be of no use and left out.
//
//go:noinline
func (m *OffsetMap) touch(probes []probe) (sum int64) {
	for i := range probes {
		s := &m.shards[probes[i].hash[0]>>m.shift]
		if len(s.slots) > 0 {
			high, _ := bits.Mul64(probes[i].hash[1], uint64(len(s.slots)))
			sum += s.slots[high].offset
		}
	}
	return sum
}

// room is how many keys can be put before the map might be full.
func (m *OffsetMap) room() int { return m.limit - m.count }

// together is how many probes are touched at once: their slots have to fit the
// smallest cache beside what else is at work.
const together = 128

// putAll puts keys in order, of which there must be at most room. Each probe
// then has the offset that its key had before, -1 for none.
func (m *OffsetMap) putAll(probes []probe) {
	for some := range slices.Chunk(probes, together) {
		m.touch(some)
		for i := range some {
			some[i].offset = m.putHash(some[i].hash, some[i].offset)
		}
	}
}

// getAll looks keys up; an unknown one is at -1.
func (m *OffsetMap) getAll(probes []probe) {
	for some := range slices.Chunk(probes, together) {
		m.touch(some)
		for i := range some {
			some[i].offset = m.getHash(some[i].hash)
		}
	}
}

// find is the slot of a hash, or the empty one where it belongs. There is an
// empty slot in every shard that has memory.
func (s *shard) find(hash [2]uint64) *slot {
	high, _ := bits.Mul64(hash[1], uint64(len(s.slots)))
	for i := int(high); ; i++ {
		if i == len(s.slots) {
			i = 0
		}
		if at := &s.slots[i]; at.offset == 0 || at.hash == hash {
			return at
		}
	}
}

func (s *shard) put(hash [2]uint64, offset int64, most int) (before int64) {
	if 5*(s.used+1) > 4*len(s.slots) {
		s.grow(most)
	}
	at := s.find(hash)
	if before = at.offset - 1; before < 0 {
		s.used++
		at.hash = hash
	}
	at.offset = offset + 1
	return before
}

// grow makes room by half. At the size that the memory allows, a shard that got
// more than its share of the keys fills up a little more and then grows a
// little.
func (s *shard) grow(most int) {
	size := max(firstGrowth, len(s.slots)/2*3)
	if size > most {
		size = max(most, len(s.slots))
		if 20*(s.used+1) > 19*size {
			size = s.used + s.used/16 + 2
		}
	}
	if size <= len(s.slots) {
		return
	}
	old := s.slots
	s.slots = make([]slot, size)
	for i := range old {
		if old[i].offset != 0 {
			*s.find(old[i].hash) = old[i]
		}
	}
}
