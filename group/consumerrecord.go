package group

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
)

// A consumer group is kept in records of these types. Their values are of
// version 0 and end with tagged fields; strings and arrays in them are compact:
// their length and one, as uvarint, 0 for null.
//
//	3   the group: its epoch and the hash of its topics' metadata
//	4   what Kafka before 4.1 had in place of the hash; only deleted
//	5   what a member says of itself
//	6   the epoch of the target assignment, and when it was made
//	7   a member's part of the target assignment
//	8   what a member has of it
//	16  the topics that a regular expression matches
const (
	typeConsumerGroup      int16 = 3
	typeConsumerPartitions int16 = 4
	typeConsumerMember     int16 = 5
	typeConsumerTarget     int16 = 6
	typeConsumerPart       int16 = 7
	typeConsumerCurrent    int16 = 8
	typeConsumerRegex      int16 = 16
)

// consumerKey is the key of a record of the group, consumerSubKey of one of its
// members or expressions:
//
//	i16 type, string group [, string member or expression]
func consumerKey(kind int16, groupID string) []byte {
	key := make([]byte, 0, 4+len(groupID))
	return appendKeyString(binary.BigEndian.AppendUint16(key, uint16(kind)), groupID)
}

func consumerSubKey(kind int16, groupID, name string) []byte {
	key := make([]byte, 0, 6+len(groupID)+len(name))
	key = appendKeyString(binary.BigEndian.AppendUint16(key, uint16(kind)), groupID)
	return appendKeyString(key, name)
}

// decodeConsumerKey reads a key; name is "" where the type has none.
func decodeConsumerKey(key []byte) (groupID, name string, err error) {
	r := kbin.Reader{Src: key}
	kind := r.Int16()
	groupID = r.String()
	switch kind {
	case typeConsumerMember, typeConsumerPart, typeConsumerCurrent, typeConsumerRegex:
		name = r.String()
	}
	if err := r.Complete(); err != nil {
		return "", "", fmt.Errorf("%w: key of type %d: %w", ErrCorruptRecord, kind, err)
	}
	return groupID, name, nil
}

// decodeConsumerValue reads the change that a record of one of the types stands
// for. A null value deletes.
func decodeConsumerValue(kind int16, name string, value []byte) (consumerChange, error) {
	if value == nil {
		return consumerDeletion(kind, name), nil
	}
	if _, err := checkVersion(value, "record of a consumer group", 0); err != nil {
		return nil, err
	}
	r := kbin.Reader{Src: value[2:]}
	var change consumerChange
	switch kind {
	case typeConsumerGroup:
		change = readEpochChange(&r)
	case typeConsumerPartitions:
		return partitionsChange{written: true}, nil
	case typeConsumerMember:
		change = readMemberChange(&r, name)
	case typeConsumerTarget:
		change = readTargetChange(&r)
	case typeConsumerPart:
		change = readPartChange(&r, name)
	case typeConsumerCurrent:
		change = readCurrentChange(&r, name)
	default:
		change = readRegexChange(&r, name)
	}
	if err := r.Complete(); err != nil {
		return nil, fmt.Errorf("%w: value of type %d: %w", ErrCorruptRecord, kind, err)
	}
	return change, nil
}

func consumerDeletion(kind int16, name string) consumerChange {
	switch kind {
	case typeConsumerGroup:
		return epochGone{}
	case typeConsumerPartitions:
		return partitionsChange{}
	case typeConsumerMember:
		return memberGone{name}
	case typeConsumerTarget:
		return targetGone{}
	case typeConsumerPart:
		return partGone{name}
	case typeConsumerCurrent:
		return currentGone{name}
	}
	return regexGone{name}
}

// value0 begins a value.
func value0() []byte { return make([]byte, 2, 64) }

// readTags calls f for each tagged field of a struct; f reads it or leaves it.
func readTags(r *kbin.Reader, f func(tag uint32, field *kbin.Reader)) {
	for n := r.Uvarint(); n > 0 && r.Ok(); n-- {
		tag, size := r.Uvarint(), r.Uvarint()
		field := kbin.Reader{Src: r.Span(int(size))}
		f(tag, &field)
		if !field.Ok() {
			r.Span(len(r.Src) + 1) // spoils r
		}
	}
}

func skipTags(r *kbin.Reader) { readTags(r, func(uint32, *kbin.Reader) {}) }

// The group, type 3:
//
//	i32 epoch, tag 0: i64 hash, left out when it is 0

func (c epochChange) value() []byte {
	b := kbin.AppendInt32(value0(), c.epoch)
	if c.hash == 0 {
		return append(b, 0)
	}
	return kbin.AppendInt64(append(b, 1, 0, 8), c.hash)
}

func readEpochChange(r *kbin.Reader) consumerChange {
	c := epochChange{epoch: r.Int32()}
	readTags(r, func(tag uint32, field *kbin.Reader) {
		if tag == 0 {
			c.hash = field.Int64()
		}
	})
	return c
}

// The target, type 6:
//
//	i32 epoch, tag 0: i64 when it was made, left out when it is 0

func (c targetChange) value() []byte { return epochChange{c.epoch, c.madeMs}.value() }

func readTargetChange(r *kbin.Reader) consumerChange {
	c := readEpochChange(r).(epochChange)
	return targetChange{c.epoch, c.hash}
}

// A part of the target, type 7:
//
//	array of: uuid topic, array of i32 partitions, tags; tags

func (c partChange) value() []byte {
	b := kbin.AppendCompactArrayLen(value0(), len(c.part))
	for _, id := range c.part.topicsOfCopy() {
		b = append(b, id[:]...)
		b = appendInts(b, c.part[id])
		b = append(b, 0)
	}
	return append(b, 0)
}

func appendInts(b []byte, list []int32) []byte {
	b = kbin.AppendCompactArrayLen(b, len(list))
	for _, n := range list {
		b = kbin.AppendInt32(b, n)
	}
	return b
}

func readInts(r *kbin.Reader) []int32 {
	n := r.CompactArrayLen()
	if n <= 0 || int(n) > len(r.Src)/4 {
		if n > 0 {
			r.Span(len(r.Src) + 1)
		}
		return nil
	}
	list := make([]int32, n)
	for i := range list {
		list[i] = r.Int32()
	}
	return list
}

func readPartChange(r *kbin.Reader, name string) consumerChange {
	part := partitionSet{}
	for n := r.CompactArrayLen(); n > 0 && r.Ok(); n-- {
		id := r.Uuid()
		for _, p := range readInts(r) {
			part.add(id, p)
		}
		skipTags(r)
	}
	skipTags(r)
	return partChange{name, part}
}

// What a member has, type 8:
//
//	i32 epoch, i32 epoch before, i8 state, partitions it has, partitions it is
//	asked to give up; tags
//
// where partitions are an array of: uuid topic, array of i32 partitions, tag 0:
// array of i32, for each partition the epoch of the assignment that gave it.

func (c currentChange) value() []byte {
	b := kbin.AppendInt32(value0(), c.epoch)
	b = kbin.AppendInt32(b, c.previous)
	b = append(b, byte(c.state))
	b = appendOwnership(b, c.assigned)
	b = appendOwnership(b, c.revoking)
	return append(b, 0)
}

func appendOwnership(b []byte, o ownership) []byte {
	set := o.partitions()
	b = kbin.AppendCompactArrayLen(b, len(set))
	for _, id := range set.topics() {
		b = append(b, id[:]...)
		b = appendInts(b, set[id])
		epochs := make([]int32, len(set[id]))
		for i, p := range set[id] {
			epochs[i] = o[id][p]
		}
		field := appendInts(nil, epochs)
		b = append(b, 1, 0)
		b = kbin.AppendUvarint(b, uint32(len(field)))
		b = append(b, field...)
	}
	return b
}

func readCurrentChange(r *kbin.Reader, name string) consumerChange {
	c := currentChange{id: name}
	c.epoch, c.previous, c.state = r.Int32(), r.Int32(), memberState(r.Int8())
	c.assigned = readOwnership(r, c.epoch)
	c.revoking = readOwnership(r, c.epoch)
	skipTags(r)
	return c
}

// readOwnership reads partitions. Kafka before 4.3 wrote no epochs: then the
// member's own stands for them.
func readOwnership(r *kbin.Reader, epoch int32) ownership {
	o := ownership{}
	for n := r.CompactArrayLen(); n > 0 && r.Ok(); n-- {
		id, list := r.Uuid(), readInts(r)
		var epochs []int32
		readTags(r, func(tag uint32, field *kbin.Reader) {
			if tag == 0 {
				epochs = readInts(field)
			}
		})
		for i, p := range list {
			at := epoch
			if i < len(epochs) {
				at = epochs[i]
			}
			o.put(id, p, at)
		}
	}
	return o
}

// A regular expression, type 16:
//
//	array of string topics, i64 version of the metadata, i64 time; tags

func (c regexChange) value() []byte {
	b := appendStrings(value0(), c.topics)
	b = kbin.AppendInt64(b, c.version)
	return append(kbin.AppendInt64(b, c.atMs), 0)
}

func appendStrings(b []byte, list []string) []byte {
	b = kbin.AppendCompactArrayLen(b, len(list))
	for _, s := range list {
		b = kbin.AppendCompactString(b, s)
	}
	return b
}

func readStrings(r *kbin.Reader) []string {
	var list []string
	for n := r.CompactArrayLen(); n > 0 && r.Ok(); n-- {
		list = append(list, r.CompactString())
	}
	return list
}

func readRegexChange(r *kbin.Reader, name string) consumerChange {
	c := regexChange{regex: name}
	c.topics = readStrings(r)
	c.version, c.atMs = r.Int64(), r.Int64()
	skipTags(r)
	return c
}
