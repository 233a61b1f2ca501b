package txn

import "time"

// Hold keeps a transaction from ending, and from any other change, until it is
// released: a batch that is appended meanwhile comes before the marker. It must
// be released soon, by the goroutine that took it.
type Hold struct {
	c *Coordinator
	t *Txn
}

// Hold takes hold of the transaction of a producer. Errors: ErrInvalidRequest,
// ErrProducerIDMapping, ErrProducerFenced, ErrConcurrent, ErrNotCoordinator,
// ErrNotAvailable.
func (c *Coordinator) Hold(id string, p Producer) (Hold, error) {
	t, err := c.lockOwned(id, p.ID)
	if err != nil {
		return Hold{}, err
	}
	switch {
	case t.epoch != p.Epoch:
		err = ErrProducerFenced
	case t.state.prepared():
		err = ErrConcurrent
	}
	if err != nil {
		t.mu.Unlock()
		return Hold{}, err
	}
	return Hold{c, t}, nil
}

// Has says whether a partition is part of the transaction.
func (h Hold) Has(p Partition) bool { return h.t.state == Ongoing && h.t.partitions.has(p) }

// Add makes partitions part of the transaction, which begins with the first of
// them. Errors: ErrNotCoordinator, ErrNotAvailable.
func (h Hold) Add(partitions []Partition, version Version) error {
	if h.t.state == Ongoing && h.t.partitions.hasAll(partitions) {
		return nil
	}
	next := h.t.ongoing(partitions, version, time.Now().UnixMilli())
	return h.c.writeLocked(h.t, &next)
}

// Release lets go.
func (h Hold) Release() { h.t.mu.Unlock() }

// AddPartitions makes partitions part of a producer's transaction. Errors are
// those of Hold and of Hold.Add.
func (c *Coordinator) AddPartitions(id string, p Producer, partitions []Partition, version Version) error {
	h, err := c.Hold(id, p)
	if err != nil {
		return err
	}
	defer h.Release()
	return h.Add(partitions, version)
}
