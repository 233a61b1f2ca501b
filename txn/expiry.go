package txn

import (
	"errors"
	"fmt"
	"time"

	"minibroker/record"
)

// RemoveExpired forgets the ids that have had no transaction for the expiration
// time, with a record for each. It is to be called from time to time.
func (c *Coordinator) RemoveExpired(now time.Time) error {
	c.mu.Lock()
	all := make([]*Txn, 0, len(c.txns))
	for _, t := range c.txns {
		all = append(all, t)
	}
	c.mu.Unlock()
	var errs []error
	for _, t := range all {
		t.mu.Lock()
		if !t.gone.Load() && t.state.idle() && t.epoch != noEpoch && t.updateMs <= now.UnixMilli()-c.settings.ExpirationMs {
			errs = append(errs, c.removeLocked(t, now))
		}
		t.mu.Unlock()
	}
	return errors.Join(errs...)
}

func (c *Coordinator) removeLocked(t *Txn, now time.Time) error {
	b := record.NewBuilder(record.BuilderOptions{})
	err := b.Append(record.Record{Timestamp: now.UnixMilli(), Key: appendKey(nil, t.id)})
	if err != nil {
		return err
	}
	batch, err := b.Build()
	if err != nil {
		return err
	}
	if err := c.log.Append(t.partition, batch); err != nil {
		return fmt.Errorf("remove transactional id %s from partition %d: %w", t.id, t.partition, err)
	}
	t.gone.Store(true)
	c.mu.Lock()
	delete(c.txns, t.id)
	c.mu.Unlock()
	return nil
}
