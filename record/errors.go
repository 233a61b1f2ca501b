package record

import "errors"

// What Validate and CheckRecordSet refuse a batch for. Each stands for one
// error of Kafka's; they are found with errors.Is.
var (
	// ErrInvalidRecord: the batch or a record of it breaks a rule.
	ErrInvalidRecord = errors.New("invalid record")
	// ErrCorruptMessage: the checksum does not match, or the bytes cannot be a
	// batch of any format.
	ErrCorruptMessage = errors.New("corrupt message")
	// ErrInvalidTimestamp: a timestamp is too far from the broker's clock.
	ErrInvalidTimestamp = errors.New("invalid timestamp")
	// ErrMessageTooLarge: the batch is larger than max.message.bytes.
	ErrMessageTooLarge = errors.New("message too large")
	// ErrUnsupportedCompression: the attributes name no known codec.
	ErrUnsupportedCompression = errors.New("unsupported compression codec")
	// ErrBadCompression: the records do not decompress.
	ErrBadCompression = errors.New("records do not decompress")
	// ErrUnreadable: the records have a fault that Kafka has no error of its
	// own for and answers as an unexpected one: a length that is no number, or
	// a compressed batch whose offset deltas are not 0, 1, 2, ….
	ErrUnreadable = errors.New("unreadable records")
)

// Scope says how much of a Produce request a refused batch takes down, and with
// it what the answer looks like.
type Scope int8

// The scopes.
const (
	// ScopeLog: refused by the log; the answer carries its start offset.
	ScopeLog Scope = iota
	// ScopePartition: refused before the log was looked at; the answer carries
	// no log start offset.
	ScopePartition
	// ScopeRequest: as ScopePartition, and all partitions of the request are
	// refused along with it.
	ScopeRequest
)

// RecordError is what is wrong with one record.
type RecordError struct {
	BatchIndex int32  // the record's position in its batch, from 0
	Message    string // Kafka's sentence for the client
}

// maxRecordErrors bounds the list of a ValidationError: one batch of a megabyte
// can decompress to many millions of faulty records.
const maxRecordErrors = 10_000

// ValidationError tells why a batch is refused.
type ValidationError struct {
	Kind    error         // one of this package's sentinels
	Message string        // what Kafka tells the client; "" when it sends no text
	Records []RecordError // the faulty records, the first 10,000 at most
	Scope   Scope
	Detail  string // what is wrong, for the broker's own log
}

// Error describes the fault for the broker's log.
func (e *ValidationError) Error() string {
	switch {
	case e.Detail != "":
		return e.Kind.Error() + ": " + e.Detail
	case e.Message != "":
		return e.Kind.Error() + ": " + e.Message
	}
	return e.Kind.Error()
}

// Unwrap returns Kind.
func (e *ValidationError) Unwrap() error { return e.Kind }

func invalidRecord(detail string) *ValidationError {
	return &ValidationError{Kind: ErrInvalidRecord, Detail: detail}
}
