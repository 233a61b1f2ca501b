package logstore

import (
	"errors"
	"fmt"
)

// What an append or a read is refused for.
var (
	// ErrOffsetOutOfRange: the offset lies outside [log start, log end].
	ErrOffsetOutOfRange = errors.New("offset out of range")
	// ErrRecordListTooLarge: the whole set is larger than a segment may be.
	ErrRecordListTooLarge = errors.New("record set larger than a segment")
	// ErrOffsetsNotMonotonic: a set that carries its own offsets goes back.
	ErrOffsetsNotMonotonic = errors.New("offsets not monotonic")
	// ErrClosed: the log or the store was closed.
	ErrClosed = errors.New("log is closed")
	// ErrStorage wraps what the file system answered.
	ErrStorage = errors.New("storage error")
	// ErrLocked: another process uses the data directory.
	ErrLocked = errors.New("data directory is in use")
	// ErrReadOnly: the broker shows the data directory and must not change it.
	ErrReadOnly = errors.New("the data directory is shown read-only")
)

// What ProducerState refuses.
var (
	// ErrOutOfOrderSequence: a gap, an overlap, or a repeat that is too old.
	ErrOutOfOrderSequence = errors.New("out of order sequence number")
	// ErrInvalidProducerEpoch: a newer instance of the producer was seen.
	ErrInvalidProducerEpoch = errors.New("producer epoch is fenced")
	// ErrInvalidTxnState: a plain batch inside a transaction, or a
	// transactional one that belongs to none.
	ErrInvalidTxnState = errors.New("invalid transaction state")
	// ErrCoordinatorFenced: a marker of an older transaction coordinator.
	ErrCoordinatorFenced = errors.New("transaction coordinator fenced")
)

// What is wrong inside a file. They come wrapped in a *CorruptError.
var (
	// ErrChecksum: the stored checksum differs from the computed one.
	ErrChecksum = errors.New("checksum mismatch")
	// ErrVersion: a format version this program does not know.
	ErrVersion = errors.New("unknown format version")
	// ErrMalformed: the contents do not follow the format.
	ErrMalformed = errors.New("malformed")
	// ErrNotANumber: a line has the right fields but one is no number. Kafka
	// forgives it in some checkpoint files.
	ErrNotANumber = errors.New("not a number")
)

// What an index refuses.
var (
	// errIndexFull: no slot is left for another entry.
	errIndexFull = errors.New("index is full")
	// errIndexParked: the file was closed between opening it and writing to it.
	errIndexParked = errors.New("index is parked")
	// errIndexOrder: the entry is not greater than the last one.
	errIndexOrder = errors.New("index entry out of order")
	// ErrCorruptIndex: an index does not belong to its segment; it can be
	// rebuilt from the segment.
	ErrCorruptIndex = errors.New("corrupt index")
	// errIndexOverflow: the offset is below the base or more than 31 bits
	// above it.
	errIndexOverflow = errors.New("offset does not fit the segment")
)

// CorruptError locates damage in a file.
type CorruptError struct {
	File   string
	Offset int64 // first bad byte; -1 when Line says more or the whole file is meant
	Line   int   // counted from 1, 0 for binary files
	Err    error
}

// Error names the file, the place and the damage.
func (e *CorruptError) Error() string {
	switch {
	case e.Line > 0:
		return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
	case e.Offset >= 0:
		return fmt.Sprintf("%s at byte %d: %v", e.File, e.Offset, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.File, e.Err)
}

// Unwrap gives the damage.
func (e *CorruptError) Unwrap() error { return e.Err }
