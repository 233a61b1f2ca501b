package group

import (
	"encoding/binary"
	"slices"
	"unicode/utf16"
)

// Topic is what groups know of a topic.
type Topic struct {
	ID         [16]byte
	Name       string
	Partitions int32
	// Racks are the racks of each partition's replicas, sorted; nil when no
	// broker has one.
	Racks [][]string
}

// Topics is all topics at one time. It never changes.
type Topics interface {
	// Version tells two states of the topics apart; later ones are larger.
	Version() int64
	// ByName and ByID find a topic.
	ByName(name string) (Topic, bool)
	ByID(id [16]byte) (Topic, bool)
	// Each calls f for the name of each topic.
	Each(f func(name string))
}

// The hash of a topic is over these bytes, all numbers little-endian:
//
//	i8 0, i64 high half of the id, i64 low half, name, i32 number of partitions,
//	then for each partition: i32 its number, and for each rack i32 length, rack
//
// A string is its UTF-16 units and an i32 count of them. The hash of a group is
// over the hashes of its topics, in the order of their names. A topic that is
// not there has hash 0, and so has a group without topics.

func topicHash(t *Topic) uint64 {
	b := make([]byte, 0, 1+16+2*len(t.Name)+8+4*int(t.Partitions))
	b = append(b, 0)
	b = binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(t.ID[:8]))
	b = binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(t.ID[8:]))
	b = appendUnits(b, t.Name)
	b = binary.LittleEndian.AppendUint32(b, uint32(t.Partitions))
	for p := range t.Partitions {
		b = binary.LittleEndian.AppendUint32(b, uint32(p))
		if int(p) >= len(t.Racks) {
			continue
		}
		for _, rack := range t.Racks[p] {
			b = binary.LittleEndian.AppendUint32(b, uint32(utf16Len(rack)))
			b = appendUnits(b, rack)
		}
	}
	return xxh3(b)
}

func appendUnits(b []byte, s string) []byte {
	units := utf16.Encode([]rune(s))
	for _, u := range units {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return binary.LittleEndian.AppendUint32(b, uint32(len(units)))
}

// metadataHash is the hash of the topics with these names.
func metadataHash(names []string, topics Topics) int64 {
	if len(names) == 0 {
		return 0
	}
	slices.Sort(names)
	b := make([]byte, 0, 8*len(names))
	for _, name := range names {
		var h uint64
		if t, ok := topics.ByName(name); ok {
			h = topicHash(&t)
		}
		b = binary.LittleEndian.AppendUint64(b, h)
	}
	return int64(xxh3(b))
}
