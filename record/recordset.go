package record

import (
	"encoding/binary"
	"fmt"
)

// minLegacySize is the smallest length field that any batch format knows.
const minLegacySize = 14

// scanBatch looks for the first batch, of any format, as Kafka's reader of
// record sets does: size is 0 when there is no whole one. The sentence is
// Kafka's; it is not empty when the bytes cannot be a batch.
func scanBatch(b []byte) (size int, fault string) {
	if len(b) < LogOverhead {
		return 0, ""
	}
	n := int32(binary.BigEndian.Uint32(b[atLength:]))
	if n < minLegacySize {
		return 0, fmt.Sprintf("Record size %d is less than the minimum record overhead (%d)", n, minLegacySize)
	}
	if len(b) <= atMagic {
		return 0, ""
	}
	if magic := int8(b[atMagic]); magic < 0 || magic > CurrentMagic {
		return 0, fmt.Sprintf("Invalid magic found in record: %d", magic)
	}
	if int64(n) > int64(len(b)-LogOverhead) {
		return 0, ""
	}
	return LogOverhead + int(n), ""
}

// CheckRequest applies the rules that Kafka applies to the records of a Produce
// request before it looks at any log: exactly one whole batch, of format v2.
// Bytes behind it that make no batch are left out. The batch is a view of set;
// neither its checksum nor its records have been looked at.
//
// An error of ScopeRequest refuses the whole request.
func CheckRequest(set []byte) (Batch, error) {
	size, fault := scanBatch(set)
	if fault != "" {
		return nil, &ValidationError{Kind: ErrCorruptMessage, Scope: ScopeRequest, Message: fault}
	}
	refused := func(kind error, detail string) (Batch, error) {
		return nil, &ValidationError{Kind: kind, Scope: ScopePartition, Detail: detail}
	}
	if size == 0 {
		return refused(ErrInvalidRecord, "a partition of a Produce request needs one whole record batch")
	}
	if set[atMagic] != CurrentMagic {
		return refused(ErrInvalidRecord, fmt.Sprintf("record format %d is not accepted, only %d", set[atMagic], CurrentMagic))
	}
	second, fault := scanBatch(set[size:])
	if fault != "" {
		return refused(ErrCorruptMessage, "behind the first batch: "+fault)
	}
	if second != 0 {
		return refused(ErrInvalidRecord, "a partition of a Produce request takes one record batch only")
	}
	if size < HeaderSize {
		return refused(ErrCorruptMessage, fmt.Sprintf("record batch of %d bytes is smaller than its header of %d", size, HeaderSize))
	}
	return Batch(set[:size:size]), nil
}

// CheckRecordSet does what comes before an append of a client's record set is
// worth a lock: CheckRequest, base offset 0, size (header included) of at most
// maxMessageBytes, checksum. Errors are *ValidationError.
func CheckRecordSet(set []byte, maxMessageBytes int) (Batch, error) {
	b, err := CheckRequest(set)
	if err != nil {
		return nil, err
	}
	if base := b.BaseOffset(); base != 0 {
		return nil, invalidRecord(fmt.Sprintf("the base offset of a record batch should be 0, but it is %d", base))
	}
	if err := checkSize(len(b), maxMessageBytes); err != nil {
		return nil, err
	}
	if crc := b.computeCRC(); crc != b.CRC() {
		return nil, &ValidationError{Kind: ErrCorruptMessage, Scope: ScopePartition,
			Detail: fmt.Sprintf("record batch is corrupt (stored CRC = %d, computed CRC = %d)", b.CRC(), crc)}
	}
	return b, nil
}

func checkSize(size, limit int) error {
	if size <= limit {
		return nil
	}
	return &ValidationError{Kind: ErrMessageTooLarge, Scope: ScopePartition,
		Detail: fmt.Sprintf("record batch of %d bytes exceeds the maximum of %d", size, limit)}
}
