package cleaner

import (
	"math/bits"

	"minibroker/record"
)

// verdicts notes what filling the offset map tells about each record of the
// dirty part, so that copying it needs no look at most records: who put a key
// again outdated the record that had put it before.
//
// They cost up to three bits for each offset, on top of the offset map.
// Offsets beyond what that memory allows have no verdict and are looked up.
type verdicts struct {
	first, end int64     // the offsets that can have verdicts
	outdated   offsetSet // a record of the same key follows, at or below OffsetMap.Latest
	special    offsetSet // tombstones and records without a key
	unknown    offsetSet // batches that put nothing, or with offsets that are not in order
}

// verdictShare is the part of the offset map's memory that verdicts may take in
// addition.
const verdictShare = 16

func newVerdicts(first, memory int64) verdicts {
	return verdicts{first: first, end: first + memory/verdictShare/3*8}
}

func (v *verdicts) covers(from, to int64) bool { return from >= v.first && to < v.end && from <= to }

// outdate notes that the record at offset has a newer one.
func (v *verdicts) outdate(offset int64) {
	if v.covers(offset, offset) {
		v.outdated.add(offset - v.first)
	}
}

// lookAt notes that the record at offset needs more than the question whether
// it is the newest of its key.
func (v *verdicts) lookAt(offset int64) {
	if v.covers(offset, offset) {
		v.special.add(offset - v.first)
	}
}

// forget says that nothing is known of the records in [from, to].
func (v *verdicts) forget(from, to int64) {
	if from, to = max(from, v.first), min(to, v.end-1); from <= to {
		v.unknown.addRange(from-v.first, to-v.first)
	}
}

// verdict is about all records of a batch.
type verdict int

const (
	lookUp   verdict = iota // nothing is known
	mixed                   // what is outdated is known one by one
	allStay                 // all are the newest of their keys and have values
	allLeave                // none is the newest of its key
)

// of tells what is known about a data batch that the map speaks for as a whole.
func (v *verdicts) of(b record.Batch) verdict {
	from, to := b.BaseOffset(), b.LastOffset()
	if !v.covers(from, to) {
		return lookUp
	}
	from, to = from-v.first, to-v.first
	if v.unknown.count(from, to) > 0 {
		return lookUp
	}
	switch n := v.outdated.count(from, to); {
	case n == int(b.Count()):
		return allLeave
	case n == 0 && v.special.count(from, to) == 0:
		return allStay
	}
	return mixed
}

// leaves reports whether the record at offset, of a mixed batch, is outdated.
func (v *verdicts) leaves(offset int64) bool { return v.outdated.has(offset - v.first) }

// offsetSet is a set of small numbers, one bit each up to the largest.
type offsetSet []uint64

func (s *offsetSet) grow(n int64) {
	for missing := int(n/64) + 1 - len(*s); missing > 0; missing = 0 {
		*s = append(*s, make([]uint64, missing)...)
	}
}

func (s *offsetSet) add(n int64) {
	s.grow(n)
	(*s)[n/64] |= 1 << (n % 64)
}

func (s *offsetSet) addRange(from, to int64) {
	s.grow(to)
	for n := from; n <= to; n++ {
		(*s)[n/64] |= 1 << (n % 64)
	}
}

func (s offsetSet) has(n int64) bool {
	return n/64 < int64(len(s)) && s[n/64]>>(n%64)&1 != 0
}

// count is how many there are in [from, to].
func (s offsetSet) count(from, to int64) int {
	last := min(to/64, int64(len(s))-1)
	total := 0
	for w := from / 64; w <= last; w++ {
		word := s[w]
		if w == from/64 {
			word &= ^uint64(0) << (from % 64)
		}
		if w == to/64 {
			word &= ^uint64(0) >> (63 - to%64)
		}
		total += bits.OnesCount64(word)
	}
	return total
}
