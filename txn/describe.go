package txn

import (
	"cmp"
	"slices"
)

// Description is what is known of a transactional id.
type Description struct {
	ID         string
	State      State
	Producer   Producer
	TimeoutMs  int32
	StartMs    int64       // -1 when there was no transaction
	Partitions []Partition // of the open transaction, or those without a marker yet
}

// Describe tells of one id. Errors: ErrInvalidRequest, ErrNotFound,
// ErrNotCoordinator, ErrNotAvailable.
func (c *Coordinator) Describe(id string) (Description, error) {
	t, err := c.lock(id)
	if err != nil {
		return Description{}, err
	}
	defer t.mu.Unlock()
	return t.describeLocked(), nil
}

func (t *Txn) describeLocked() Description {
	return Description{ID: t.id, State: t.state, Producer: Producer{t.producerID, t.epoch},
		TimeoutMs: t.timeoutMs, StartMs: t.startMs, Partitions: slices.Clone(t.partitions.list)}
}

// List tells of all ids, by name. Error: ErrNotAvailable.
func (c *Coordinator) List() ([]Description, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, ErrNotAvailable
	}
	all := make([]*Txn, 0, len(c.txns))
	for _, t := range c.txns {
		all = append(all, t)
	}
	c.mu.Unlock()
	list := make([]Description, 0, len(all))
	for _, t := range all {
		t.mu.Lock()
		if t.epoch != noEpoch && !t.gone.Load() {
			list = append(list, t.describeLocked())
		}
		t.mu.Unlock()
	}
	slices.SortFunc(list, func(a, b Description) int { return cmp.Compare(a.ID, b.ID) })
	return list, nil
}
