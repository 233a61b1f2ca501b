package txn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"minibroker/record"
)

// maxRecordBytes bounds what a record of the log may take in memory.
const maxRecordBytes = 64 << 20

// Load takes over all partitions of the log that there are. It is called once,
// before any request. The error is the context's.
func (c *Coordinator) Load(ctx context.Context) error {
	var led []int32
	for p := range c.log.Partitions() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.loadPartition(p) {
			led = append(led, p)
		}
	}
	c.take(led)
	return nil
}

// Lead takes over a partition of the log that is there from now on: the topic was
// created or grew, or a former cluster's partition got a leader.
func (c *Coordinator) Lead(partition int32) {
	if c.loadPartition(partition) {
		c.take([]int32{partition})
	}
}

// take lets requests for the ids of partitions in and completes the transactions
// there that were decided and not completed: their markers are written, again if
// need be.
func (c *Coordinator) take(partitions []int32) {
	for _, t := range c.adopt(partitions) {
		t.mu.Lock()
		if t.state.prepared() && !t.gone.Load() {
			c.finishLocked(t)
		}
		t.mu.Unlock()
	}
}

// adopt accounts for what was loaded and returns the decided transactions.
func (c *Coordinator) adopt(partitions []int32) (decided []*Txn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.txns {
		switch {
		case !slices.Contains(partitions, t.partition):
		case t.state == Ongoing:
			c.open[t] = struct{}{}
		case t.state.prepared():
			decided = append(decided, t)
		}
	}
	for _, p := range partitions {
		c.led[p] = struct{}{}
	}
	c.armCheckLocked()
	return decided
}

// loadPartition follows the records of a partition. When that fails, its ids are
// refused and those of the others are served.
func (c *Coordinator) loadPartition(p int32) bool {
	err := c.log.Replay(p, func(b record.Batch) error {
		if b.IsControl() {
			return nil
		}
		return b.ForEach(maxRecordBytes, func(r *record.Record) error {
			c.apply(p, r)
			return nil
		})
	})
	switch {
	case err == nil:
		return true
	case errors.Is(err, ErrNoPartition): // in a log dir that failed, or another broker's
		c.logger.Warn(fmt.Sprintf("Not loading __transaction_state-%d: %v", p, err))
	default:
		c.logger.Error(fmt.Sprintf("Loading of __transaction_state-%d did not succeed, its transactional ids cannot be used: %v", p, err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.txns, func(_ string, t *Txn) bool { return t.partition == p })
	return false
}

// apply follows one record. One that cannot be read is told of and left out: the
// rest is of use without it.
func (c *Coordinator) apply(partition int32, r *record.Record) {
	id, ok, err := parseKey(r.Key)
	if err == nil && !ok {
		c.logger.Warn(fmt.Sprintf("Unknown kind of record at offset %d of __transaction_state-%d", r.Offset, partition))
		return
	}
	var m metadata
	if err == nil && r.Value != nil {
		m, err = parseValue(r.Value)
	}
	if err != nil {
		c.logger.Error(fmt.Sprintf("Record at offset %d of __transaction_state-%d: %v", r.Offset, partition, err))
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Value == nil {
		delete(c.txns, id)
		return
	}
	c.txns[id] = &Txn{id: id, partition: partition, metadata: m}
}
