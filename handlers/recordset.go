package handlers

import (
	"encoding/binary"
	"fmt"
)

// Where the fields that decide about a request stand in a batch of version 2;
// the first three stand there in the older layouts as well.
const (
	batchLengthAt     = 8
	batchMagicAt      = 16
	batchAttributesAt = 21
	batchProducerIDAt = 43

	batchOverhead       = 12 // base offset and length
	batchUpToMagic      = 17
	smallestBatchLength = 14 // of the oldest layout
	batchHeaderSize     = 61
	newestMagic         = 2

	codecMask        = 7
	codecZstd        = 4
	transactionalBit = 1 << 4
)

// batchHead is what a Produce request's checks need of a batch.
type batchHead struct {
	size          int // whole size in bytes
	magic         int8
	codec         int8
	transactional bool
	producerID    int64
}

// firstBatch reads the head of the first batch of a record set. whole is false
// when there is none: too few bytes for a head, or fewer than the batch says it
// has. problem, in Kafka's words, tells of a length or a layout that cannot be.
func firstBatch(set []byte) (head batchHead, whole bool, problem string) {
	if len(set) < batchOverhead {
		return head, false, ""
	}
	length := int32(binary.BigEndian.Uint32(set[batchLengthAt:]))
	if length < smallestBatchLength {
		return head, false, fmt.Sprintf("Record size %d is less than the minimum record overhead (%d)", length, smallestBatchLength)
	}
	if len(set) < batchUpToMagic {
		return head, false, ""
	}
	head.magic = int8(set[batchMagicAt])
	if head.magic < 0 || head.magic > newestMagic {
		return head, false, fmt.Sprintf("Invalid magic found in record: %d", head.magic)
	}
	if int64(length) > int64(len(set)-batchOverhead) {
		return head, false, ""
	}
	head.size = batchOverhead + int(length)
	if head.magic == newestMagic && head.size >= batchHeaderSize {
		attributes := binary.BigEndian.Uint16(set[batchAttributesAt:])
		head.codec = int8(attributes & codecMask)
		head.transactional = attributes&transactionalBit != 0
		head.producerID = int64(binary.BigEndian.Uint64(set[batchProducerIDAt:]))
	}
	return head, true, ""
}

// checkOneBatch checks that a record set is one batch of version 2, compressed
// by what the request's version knows. Bytes behind it that cannot be a batch
// are ignored.
func checkOneBatch(version int16, set []byte) (batchHead, int16) {
	head, whole, problem := firstBatch(set)
	switch {
	case problem != "":
		return head, codeCorruptMessage
	case !whole || head.magic != newestMagic:
		return head, codeInvalidRecord
	case version < 7 && head.codec == codecZstd:
		return head, codeUnsupportedCompressionType
	}
	_, another, problem := firstBatch(set[head.size:])
	switch {
	case problem != "":
		return head, codeCorruptMessage
	case another:
		return head, codeInvalidRecord
	}
	return head, codeNone
}
