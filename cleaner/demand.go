package cleaner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"minibroker/logstore"
)

// ErrNotCompacted says that a log's cleanup.policy does not contain compact.
var ErrNotCompacted = errors.New("cleanup.policy does not contain compact")

// Compact cleans a log at once, whatever its dirty ratio is, as far as the segments are sealed, settled and older than
// min.compaction.lag.ms. It waits for a thread that has the log in hand, and needs no Run. Errors: ErrNotCompacted, that of
// ctx, and what kept the log from being cleaned.
func (c *Cleaner) Compact(ctx context.Context, p Partition) error {
	log := p.Log()
	if !log.Config().Compact {
		return fmt.Errorf("compact %s: %w", log.TopicPartition(), ErrNotCompacted)
	}
	c.compacted() // makes its state, if it is new
	if err := c.seize(ctx, log); err != nil {
		return fmt.Errorf("compact %s: %w", log.TopicPartition(), err)
	}
	defer c.release(log)
	for ctx.Err() == nil {
		d, err := c.look(p, time.Now().UnixMilli())
		if err == nil && d.dirty > 0 {
			err = c.cleanOnce(ctx, d)
		}
		if err != nil {
			return fmt.Errorf("compact %s: %w", log.TopicPartition(), err)
		}
		if d.dirty == 0 {
			return nil
		}
	}
	return ctx.Err()
}

// seize waits until no thread works on the log and makes it the caller's.
func (c *Cleaner) seize(ctx context.Context, log *logstore.Log) error {
	for {
		c.mu.Lock()
		s, freed := c.states[log], c.freed
		if s != nil && !s.busy {
			s.busy = true
			c.mu.Unlock()
			return nil
		}
		c.mu.Unlock()
		if s == nil {
			return logstore.ErrUnknownLog
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *Cleaner) cleanOnce(ctx context.Context, d *candidate) error {
	pass := c.newPass(ctx, 0, c.o.Settings(), d)
	end, err := pass.run()
	if err != nil {
		return err
	}
	c.cleaned(0, pass)
	return c.o.Checkpoints.CheckpointCleaner(d.log.TopicPartition(), end)
}

// Retain applies retention to a compacted log at once. It waits for a thread that has the log in hand. Errors: that of ctx, and
// those of the files.
func (c *Cleaner) Retain(ctx context.Context, p Partition) error {
	log := p.Log()
	c.compacted()
	if err := c.seize(ctx, log); err != nil {
		return fmt.Errorf("apply retention to %s: %w", log.TopicPartition(), err)
	}
	defer c.release(log)
	_, err := log.ApplyRetention(p.HighWatermark(), time.Now())
	return err
}
