package txn

import (
	"context"
	"fmt"

	"minibroker/record"
)

// maxRecordBytes bounds what a record of the log may take in memory.
const maxRecordBytes = 64 << 20

// Load reads all partitions of the log and then completes the transactions that
// were decided and not completed: their markers are written, again if need be.
// It is called once, before any request.
func (c *Coordinator) Load(ctx context.Context) error {
	for p := range c.log.Partitions() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.loadPartition(p); err != nil {
			return fmt.Errorf("load __transaction_state-%d: %w", p, err)
		}
	}
	for _, t := range c.adopt() {
		t.mu.Lock()
		if t.state.prepared() {
			c.finishLocked(t)
		}
		t.mu.Unlock()
	}
	return nil
}

// adopt accounts for what was loaded and returns the decided transactions.
func (c *Coordinator) adopt() (decided []*Txn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.txns {
		switch {
		case t.state == Ongoing:
			c.open[t] = struct{}{}
		case t.state.prepared():
			decided = append(decided, t)
		}
	}
	c.armCheckLocked()
	return decided
}

func (c *Coordinator) loadPartition(p int32) error {
	return c.log.Replay(p, func(b record.Batch) error {
		if b.IsControl() {
			return nil
		}
		return b.ForEach(maxRecordBytes, func(r *record.Record) error {
			c.apply(p, r)
			return nil
		})
	})
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
