package metadata

import (
	"hash/maphash"
	"iter"
	"maps"
)

// shardMap is an immutable map: a directory of small Go maps, the shards. An
// edit copies the directory once and each shard that it touches once, so that
// a change costs about the square root of copying everything. The zero value
// is empty.
type shardMap[K comparable, V any] struct {
	seed   maphash.Seed
	shards []*shard[K, V] // a power of two, or none
	size   int
}

type shard[K comparable, V any] struct {
	m     map[K]V
	owner *int // the edit that may change m; see shardEdit
}

const (
	firstShards  = 16
	entriesShard = 32 // entries of a shard on average before the directory grows
)

func (s shardMap[K, V]) at(key K) int {
	return int(maphash.Comparable(s.seed, key) & uint64(len(s.shards)-1))
}

func (s shardMap[K, V]) get(key K) (v V, ok bool) {
	if s.size == 0 {
		return v, false
	}
	v, ok = s.shards[s.at(key)].m[key]
	return v, ok
}

func (s shardMap[K, V]) len() int { return s.size }

// all goes through the entries in no particular order.
func (s shardMap[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, sh := range s.shards {
			for k, v := range sh.m {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}

// differing goes through the keys that may differ from those of old: entries
// of shards that are not shared.
func (s shardMap[K, V]) differing(old shardMap[K, V]) iter.Seq[K] {
	return func(yield func(K) bool) {
		related := len(s.shards) == len(old.shards) && s.seed == old.seed
		seen := func(in shardMap[K, V], i int) bool {
			return related && i < len(in.shards) && in.shards[i] == s.shards[i]
		}
		for i, sh := range s.shards {
			if seen(old, i) {
				continue
			}
			for k := range sh.m {
				if !yield(k) {
					return
				}
			}
		}
		for i, sh := range old.shards {
			if related && s.shards[i] == sh {
				continue
			}
			for k := range sh.m {
				if _, both := s.get(k); !both && !yield(k) {
					return
				}
			}
		}
	}
}

// shardEdit makes a new shardMap out of another one.
type shardEdit[K comparable, V any] struct {
	shardMap[K, V]
	id *int // marks the shards that this edit made
}

func editOf[K comparable, V any](s shardMap[K, V]) *shardEdit[K, V] {
	return &shardEdit[K, V]{shardMap: s}
}

// own makes the shard of key changeable and returns it.
func (e *shardEdit[K, V]) own(key K) map[K]V {
	if e.id == nil {
		e.id = new(int)
		if e.shards == nil {
			e.seed = maphash.MakeSeed()
			e.shards = e.empty(firstShards)
		} else {
			e.shards = append([]*shard[K, V](nil), e.shards...)
		}
	}
	i := e.at(key)
	if e.shards[i].owner != e.id {
		e.shards[i] = &shard[K, V]{m: maps.Clone(e.shards[i].m), owner: e.id}
	}
	return e.shards[i].m
}

func (e *shardEdit[K, V]) empty(n int) []*shard[K, V] {
	shards := make([]*shard[K, V], n)
	for i := range shards {
		shards[i] = &shard[K, V]{m: map[K]V{}, owner: e.id}
	}
	return shards
}

func (e *shardEdit[K, V]) set(key K, v V) {
	m := e.own(key)
	before := len(m)
	m[key] = v
	e.size += len(m) - before
	if e.size > entriesShard*len(e.shards) {
		e.grow()
	}
}

func (e *shardEdit[K, V]) remove(key K) {
	if _, ok := e.get(key); !ok {
		return
	}
	delete(e.own(key), key)
	e.size--
}

// grow spreads the entries over four times as many shards.
func (e *shardEdit[K, V]) grow() {
	old := e.shards
	e.shards = e.empty(4 * len(old))
	for _, sh := range old {
		for k, v := range sh.m {
			e.shards[e.at(k)].m[k] = v
		}
	}
}

// done ends the edit: what it made is not changed any more.
func (e *shardEdit[K, V]) done() shardMap[K, V] {
	e.id = nil
	return e.shardMap
}
