package metadata

import "errors"

// What a change is refused for.
var (
	// ErrTopicExists: a topic of that name exists, or is named twice.
	ErrTopicExists = errors.New("topic exists")
	// ErrUnknownTopic: no topic has that name or id.
	ErrUnknownTopic = errors.New("unknown topic")
	// ErrInvalidChange: the change would break what every reader of the log
	// relies on, for example a topic without partitions.
	ErrInvalidChange = errors.New("invalid metadata change")
	// ErrTooManyRecords: the change does not fit one batch of the log, and must
	// not be split.
	ErrTooManyRecords = errors.New("too many records for one metadata change")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("metadata store is closed")
)

// What a directory is refused for at the start.
var (
	// ErrUnsupported: the log holds records or levels of a newer Kafka, or the
	// state of more than one controller.
	ErrUnsupported = errors.New("unsupported metadata")
	// ErrMalformed: bytes that do not follow the format.
	ErrMalformed = errors.New("malformed metadata")
)
