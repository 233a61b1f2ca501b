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

// List tells of all ids, in the order in which Kafka does. Error: ErrNotAvailable.
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
	sortAsKafka(all)
	list := make([]Description, 0, len(all))
	for _, t := range all {
		t.mu.Lock()
		if t.epoch != noEpoch && !t.gone.Load() {
			list = append(list, t.describeLocked())
		}
		t.mu.Unlock()
	}
	return list, nil
}

// sortAsKafka brings transactional ids into the order of Kafka's tables: by
// partition, and within one by the slots of a Java hash map, which has 16 at
// first and always a third more than entries. Those of one slot are sorted by
// name; in Kafka they are in the order in which they came.
func sortAsKafka(all []*Txn) {
	count := make(map[int32]int)
	for _, t := range all {
		count[t.partition]++
	}
	slot := func(t *Txn) uint32 {
		size := 16
		for count[t.partition] > size/4*3 {
			size *= 2
		}
		h := uint32(javaHash(t.id))
		return (h ^ h>>16) & uint32(size-1)
	}
	slices.SortFunc(all, func(a, b *Txn) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(slot(a), slot(b)), cmp.Compare(a.id, b.id))
	})
}
