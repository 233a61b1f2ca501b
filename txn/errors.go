package txn

import "errors"

// The ways in which the coordinator refuses. None of them changes anything.
var (
	// ErrInvalidRequest: the transactional id is empty.
	ErrInvalidRequest = errors.New("the transactional id is empty")
	// ErrProducerIDMapping: the transactional id is unknown or belongs to another
	// producer id.
	ErrProducerIDMapping = errors.New("the producer id is not that of the transactional id")
	// ErrProducerFenced: another instance has taken the transactional id over.
	ErrProducerFenced = errors.New("there is a newer producer with the same transactional id")
	// ErrConcurrent: a transaction of the id is being completed; ask again.
	ErrConcurrent = errors.New("another change of the transaction is in progress")
	// ErrInvalidState: the step does not fit the state of the transaction.
	ErrInvalidState = errors.New("the transaction is in another state")
	// ErrInvalidTimeout: the transaction's timeout is not positive or too long.
	ErrInvalidTimeout = errors.New("the transaction timeout is not positive or larger than the broker allows")
	// ErrNotAdded: the partition is not part of the transaction.
	ErrNotAdded = errors.New("the partition is not part of the transaction")
	// ErrNotFound: nothing is known of the transactional id.
	ErrNotFound = errors.New("the transactional id is not known")
	// ErrNotCoordinator: this broker does not have the partition that keeps the
	// transactional id.
	ErrNotCoordinator = errors.New("this broker does not coordinate the transactional id")
	// ErrNotAvailable: the state could not be written, or the coordinator is closed.
	ErrNotAvailable = errors.New("the transaction coordinator is not available")
	// ErrNoPartition is for implementations of Log and Markers: the partition does
	// not exist, or not any more.
	ErrNoPartition = errors.New("the partition does not exist")
	// ErrStale is for implementations of Markers: the partition knows of a newer
	// epoch of the producer or the coordinator; the marker is not needed.
	ErrStale = errors.New("the marker is out of date")
)
