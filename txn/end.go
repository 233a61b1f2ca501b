package txn

import (
	"errors"
	"fmt"
	"time"
)

// End commits or aborts a producer's transaction. It returns when the decision
// is in the log and the markers are written, or will be without further doing.
// Under Version2 the producer goes on with the id and epoch returned. Errors:
// ErrInvalidRequest, ErrProducerIDMapping, ErrProducerFenced, ErrConcurrent,
// ErrInvalidState, ErrNotCoordinator, ErrNotAvailable.
func (c *Coordinator) End(id string, p Producer, commit bool, version Version) (Producer, error) {
	t, err := c.lock(id)
	switch {
	case err == ErrNotFound:
		return Producer{}, ErrProducerIDMapping
	case err != nil:
		return Producer{}, err
	}
	defer t.mu.Unlock()
	if version.bumps() {
		return c.endBumpingLocked(t, p, commit)
	}
	return c.endLocked(t, p, commit)
}

// endLocked is the end for producers that keep their epoch.
func (c *Coordinator) endLocked(t *Txn, p Producer, commit bool) (Producer, error) {
	switch {
	case t.producerID != p.ID:
		return Producer{}, ErrProducerIDMapping
	case t.epoch != p.Epoch:
		return Producer{}, ErrProducerFenced
	case t.state == Ongoing:
		if err := c.decideLocked(t, commit, Version0); err != nil {
			return Producer{}, err
		}
		return Producer{t.producerID, t.epoch}, nil
	default:
		return t.repeatedLocked(commit)
	}
}

// repeatedLocked answers an end that was asked for before.
func (t *Txn) repeatedLocked(commit bool) (Producer, error) {
	switch {
	case t.state == Empty, (t.state == PrepareCommit || t.state == CompleteCommit) != commit:
		return Producer{}, ErrInvalidState
	case t.state.prepared():
		return Producer{}, ErrConcurrent
	}
	return Producer{t.producerID, t.epoch}, nil
}

// endBumpingLocked is the end for producers whose epoch it raises: a repeat is
// known by the epoch before. They may abort what was never begun.
func (c *Coordinator) endBumpingLocked(t *Txn, p Producer, commit bool) (Producer, error) {
	current := p.Epoch == t.epoch
	rotated := t.previousID == p.ID && p.Epoch == lastEpoch && t.epoch == 0
	repeat := rotated || int32(t.epoch) == int32(p.Epoch)+1
	valid := current
	switch {
	case t.state.prepared():
		valid = repeat && !rotated
	case t.state == CompleteCommit || t.state == CompleteAbort:
		valid = repeat || current
	}
	switch {
	case t.producerID != p.ID && !rotated:
		return Producer{}, ErrProducerIDMapping
	case !valid:
		return Producer{}, ErrProducerFenced
	case t.state == Ongoing:
	case t.state == Empty && !commit:
	case t.state == Empty:
		return Producer{}, ErrInvalidState
	case repeat, t.state.prepared():
		return t.repeatedLocked(commit)
	case commit:
		return Producer{}, ErrInvalidState
	}
	if err := c.decideLocked(t, commit, Version2); err != nil {
		return Producer{}, err
	}
	return t.followingLocked(), nil
}

// followingLocked is what the producer goes on with; a new producer id that is
// reserved is taken over when the markers are written, which the producer need
// not wait for.
func (t *Txn) followingLocked() Producer {
	if t.state.prepared() && t.nextID != none {
		return Producer{t.nextID, 0}
	}
	return Producer{t.producerID, t.epoch}
}

// decideLocked writes the decision and then the markers.
func (c *Coordinator) decideLocked(t *Txn, commit bool, version Version) error {
	nextID := none
	if version.bumps() && t.exhausted() {
		id, err := c.ids.Next()
		if err != nil {
			return unavailable(err)
		}
		nextID = id
	}
	next := t.prepare(commit, version, nextID, time.Now().UnixMilli())
	if err := c.writeLocked(t, &next); err != nil {
		return err
	}
	c.finishLocked(t)
	return nil
}

// fenceLocked aborts an open transaction in the coordinator's own name, with an
// epoch that its producer does not have. It follows the level of the feature,
// whatever the producer follows.
func (c *Coordinator) fenceLocked(t *Txn) error {
	version := Version(c.level())
	next := t.prepare(false, version, none, time.Now().UnixMilli())
	if !version.bumps() {
		next.lastEpoch = noEpoch
		if next.epoch <= lastEpoch {
			next.epoch++
		}
		next.clientVersion = Version0
	}
	if err := c.writeLocked(t, &next); err != nil {
		return err
	}
	c.finishLocked(t)
	return nil
}

// finishLocked writes the markers of a decided transaction and then that it is
// complete. What fails is tried again later.
func (c *Coordinator) finishLocked(t *Txn) {
	if err := c.markLocked(t); err != nil {
		c.logger.Error(fmt.Sprintf("Completing the transaction of transactionalId %s (%s), will try again: %v", t.id, t.state, err))
		c.noteUnfinished(t)
	}
}

func (c *Coordinator) markLocked(t *Txn) error {
	coordinatorEpoch, err := c.log.LeaderEpoch(t.partition)
	if err != nil {
		return err
	}
	var left []Partition
	var errs []error
	for _, p := range t.partitions.list {
		err := c.markers.WriteMarker(Marker{
			Partition: p, ProducerID: t.producerID, ProducerEpoch: t.epoch,
			CoordinatorEpoch: coordinatorEpoch, Commit: t.state == PrepareCommit, Version: t.clientVersion,
		})
		if err != nil && !c.needless(t, p, err) {
			left = append(left, p)
			errs = append(errs, fmt.Errorf("marker for %s-%d: %w", p.Topic, p.Partition, err))
		}
	}
	t.partitions.list = left // in memory only: after a restart all are written again
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	next := t.complete(time.Now().UnixMilli())
	return c.writeLocked(t, &next)
}
