package txn

import (
	"errors"
	"fmt"
	"time"
)

// InitRequest asks for the producer id and epoch of a transactional id.
type InitRequest struct {
	ID        string
	TimeoutMs int32
	// Expected is what the producer believes to hold, nil for one that starts.
	Expected *Producer
	// TwoPhaseCommit asks for transactions without a timeout.
	TwoPhaseCommit bool
}

// Producer is a producer id with its epoch.
type Producer struct {
	ID    int64
	Epoch int16
}

// ErrTwoPhaseCommit: two-phase commit is asked for and not enabled.
var ErrTwoPhaseCommit = errors.New("two-phase commit is not enabled")

// InitProducerID gives the producer of a transactional id its next epoch, which
// fences those before it. A transaction that is open is aborted first; the
// answer is ErrConcurrent then, and the producer has to ask again. Other errors:
// ErrInvalidRequest, ErrTwoPhaseCommit, ErrInvalidTimeout, ErrProducerFenced,
// ErrNotCoordinator, ErrNotAvailable.
func (c *Coordinator) InitProducerID(r InitRequest) (Producer, error) {
	switch {
	case r.ID == "":
		return Producer{}, ErrInvalidRequest
	case r.TwoPhaseCommit && !c.settings.TwoPhaseCommit:
		return Producer{}, ErrTwoPhaseCommit
	case !r.TwoPhaseCommit && (r.TimeoutMs <= 0 || r.TimeoutMs > c.settings.MaxTimeoutMs):
		return Producer{}, ErrInvalidTimeout
	}
	if r.TwoPhaseCommit {
		r.TimeoutMs = noTimeout
	}
	t, err := c.lockOrCreate(r.ID)
	if err != nil {
		return Producer{}, err
	}
	defer t.mu.Unlock()
	switch {
	case !t.expects(r.Expected):
		return Producer{}, ErrProducerFenced
	case t.state.prepared():
		return Producer{}, ErrConcurrent
	case t.state == Ongoing:
		if err := c.fenceLocked(t); err != nil {
			return Producer{}, err
		}
		return Producer{}, ErrConcurrent
	}
	next, err := c.initializedLocked(t, r)
	if err != nil {
		return Producer{}, err
	}
	if err := c.writeLocked(t, &next); err != nil {
		return Producer{}, err
	}
	c.logger.Info(fmt.Sprintf("Initialized transactionalId %s with producerId %d and producer epoch %d on partition __transaction_state-%d",
		t.id, t.producerID, t.epoch, t.partition))
	return Producer{t.producerID, t.epoch}, nil
}

// noTimeout is the timeout of a transaction that only its producer ends.
const noTimeout int32 = 1<<31 - 1

// expects says whether a producer that names its id may go on: it is the
// current one, or it repeats the request by which its id was replaced.
func (m *metadata) expects(e *Producer) bool {
	return e == nil || m.epoch == noEpoch || e.ID == m.producerID ||
		e.ID == m.previousID && e.Epoch >= lastEpoch
}

// initializedLocked is the record that answers r.
func (c *Coordinator) initializedLocked(t *Txn, r InitRequest) (metadata, error) {
	next := t.empty(r.TimeoutMs, time.Now().UnixMilli())
	expected := r.Expected
	switch {
	case t.epoch == noEpoch:
		id, err := c.ids.Next()
		if err != nil {
			return next, unavailable(err)
		}
		next.producerID, next.previousID, next.epoch, next.lastEpoch = id, id, 0, noEpoch
	case t.exhausted() && (expected == nil || expected.Epoch == t.epoch):
		id, err := c.ids.Next()
		if err != nil {
			return next, unavailable(err)
		}
		next.producerID, next.epoch, next.lastEpoch = id, 0, noEpoch
		if expected != nil {
			next.lastEpoch = t.epoch
		}
	case expected == nil:
		next.epoch, next.lastEpoch = t.epoch+1, noEpoch
	case expected.Epoch == t.epoch:
		next.epoch, next.lastEpoch = t.epoch+1, t.epoch
	case expected.Epoch == t.lastEpoch: // a repeat: its answer was lost
	default:
		return next, ErrProducerFenced
	}
	return next, nil
}

// unavailable turns a failure of what lies below into the coordinator's.
func unavailable(err error) error {
	if errors.Is(err, ErrNoPartition) {
		return fmt.Errorf("%w: %w", ErrNotCoordinator, err)
	}
	return fmt.Errorf("%w: %w", ErrNotAvailable, err)
}
