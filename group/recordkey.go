package group

import (
	"encoding/binary"
	"errors"
	"fmt"

	"minibroker/record"
)

// Every key in __consumer_offsets begins with the type of the record:
//
//	i16     type
//	string  group (i16 length, bytes); more fields by type
//
// and every value with the version of its layout. A null value deletes.
const (
	typeLegacyOffsetCommit int16 = 0 // laid out as type 1; never written
	typeOffsetCommit       int16 = 1
	typeGroupMetadata      int16 = 2 // a classic group
	lastType               int16 = 23
)

// ErrCorruptRecord says that a record of __consumer_offsets cannot be decoded.
var ErrCorruptRecord = errors.New("corrupt record of a group")

// recordType is the type that a key begins with.
func recordType(key []byte) (int16, error) {
	if len(key) < 2 {
		return 0, fmt.Errorf("%w: key of %d bytes", ErrCorruptRecord, len(key))
	}
	return int16(binary.BigEndian.Uint16(key)), nil
}

// valueVersion is the version that a value begins with.
func valueVersion(value []byte) (int16, error) {
	if len(value) < 2 {
		return 0, fmt.Errorf("%w: value of %d bytes", ErrCorruptRecord, len(value))
	}
	return int16(binary.BigEndian.Uint16(value)), nil
}

// checkVersion refuses versions that nobody knows.
func checkVersion(value []byte, what string, highest int16) (int16, error) {
	v, err := valueVersion(value)
	if err == nil && (v < 0 || v > highest) {
		err = fmt.Errorf("%w: %s of version %d", ErrCorruptRecord, what, v)
	}
	return v, err
}

// tombstone is the record that deletes what a key stands for.
func tombstone(key []byte) record.Record { return record.Record{Key: key} }

// appendKeyString appends a string as keys have it.
func appendKeyString(dst []byte, s string) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(s)))
	return append(dst, s...)
}
