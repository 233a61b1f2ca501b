package metadata

import (
	"slices"
	"unicode/utf16"
)

// Clients see quotas in the order in which Kafka keeps them: that of a
// java.util.HashMap, by the buckets of the entities' hashes, and within a
// bucket as they were put in. Each change of quotas makes a new map, first of
// what was there, in its order, then of what is new, in the order of another
// map, that of what the change touched, whose buckets hold the newest first
// (HashMap.computeIfAbsent). What a start reads is one change, and the log
// behind a snapshot another. So the order depends on what happened
// before, and a restart may change it, here as there. Buckets of nine entities
// and more, of which Java makes trees, are lists here.

// HashTable is the number of buckets of a java.util.HashMap, a power of two.
type HashTable int

// DefaultHashTable is that of a map made without a size.
const DefaultHashTable HashTable = 16

// NewHashTable is that of a map made for a number of entries.
func NewHashTable(entries int) HashTable {
	t := HashTable(1)
	for int(t) < entries {
		t *= 2
	}
	return t
}

// Holding is what the table has grown to with that number of entries.
func (t HashTable) Holding(entries int) HashTable {
	for entries > int(t)*3/4 {
		t *= 2
	}
	return t
}

// Bucket is where a key lies whose hash is hash, as QuotaHash gives it.
func (t HashTable) Bucket(hash uint32) int { return int(hash) & int(t-1) }

// Arrange gives the order of quotas that were put into the table one after the other.
func (t HashTable) Arrange(quotas []*Quota) []*Quota {
	next := make([]int, t+1) // the place of the next quota of each bucket
	for _, q := range quotas {
		next[t.Bucket(q.hash)+1]++
	}
	for i := range t {
		next[i+1] += next[i]
	}
	arranged := make([]*Quota, len(quotas))
	for _, q := range quotas {
		at := &next[t.Bucket(q.hash)]
		arranged[*at] = q
		*at++
	}
	return arranged
}

// QuotaHash is the hash of Kafka's ClientQuotaEntity, spread over the low bits
// as java.util.HashMap does.
func QuotaHash(entity []QuotaEntity) uint32 {
	h := uint32(31)
	for _, e := range entity {
		part := javaHash(e.Type)
		if e.Name != nil {
			part ^= javaHash(*e.Name)
		}
		h += part
	}
	return h ^ h>>16
}

// javaHash is java.lang.String.hashCode: over UTF-16 units, in 32 bits.
func javaHash(s string) uint32 {
	h := uint32(0)
	for _, unit := range utf16.Encode([]rune(s)) {
		h = 31*h + uint32(unit)
	}
	return h
}

// touchedQuotas are the entities whose limits a change sets or removes.
type touchedQuotas struct {
	keys   []string          // each once, as they came
	table  HashTable         // of Kafka's map of them
	known  map[string]bool   // by key: whether it had limits before
	before map[*Quota]string // keys of those that had
}

// add notes an entity that is about to change; old is nil if it has no limits.
func (t *touchedQuotas) add(key string, old *Quota) {
	if t.known == nil {
		t.table, t.known, t.before = DefaultHashTable, make(map[string]bool), make(map[*Quota]string)
	}
	if len(t.keys) > int(t.table)*3/4 {
		t.table *= 2 // computeIfAbsent makes room before it looks, put after it has added
	}
	if _, again := t.known[key]; again {
		return
	}
	t.keys = append(t.keys, key)
	if t.known[key] = old != nil; old != nil {
		t.before[old] = key
	}
}

// orderQuotas brings the order of the quotas up to date with the records applied so far.
func (e *imageEdit) orderQuotas() {
	touched, before := &e.touchedQuotas, e.next.quotaOrder
	if len(touched.keys) == 0 {
		return
	}
	order := make([]*Quota, 0, len(before)+len(touched.keys))
	for _, q := range before {
		if key, changed := touched.before[q]; !changed {
			order = append(order, q)
		} else if now, ok := e.quotas.get(key); ok {
			order = append(order, now)
		}
	}
	var added []*Quota
	for _, key := range slices.Backward(touched.keys) {
		if q, ok := e.quotas.get(key); ok && !touched.known[key] {
			added = append(added, q)
		}
	}
	order = append(order, touched.table.Arrange(added)...)
	e.next.quotaOrder = NewHashTable(len(before)).Holding(len(order)).Arrange(order)
	*touched = touchedQuotas{}
}
