package minibroker

import (
	"context"
	"errors"
	"fmt"

	"minibroker/cleaner"
)

// RunRetention removes at once what the settings no longer keep, as the broker does by itself every
// log.retention.check.interval.ms.
func (b *Broker) RunRetention(ctx context.Context) error {
	errs := []error{b.applyRetention()}
	for _, p := range b.partitions.Partitions() {
		if p.Log().Config().Compact {
			errs = append(errs, b.demandedCleaner().Retain(ctx, p))
		}
	}
	return errors.Join(errs...)
}

// Compact cleans all partitions of a topic at once: what is written so far is sealed and compacted, whatever
// min.cleanable.dirty.ratio says. Open transactions and min.compaction.lag.ms still hold records back.
func (b *Broker) Compact(ctx context.Context, topic string) error {
	c := b.demandedCleaner()
	found := false
	var errs []error
	for _, p := range b.partitions.Partitions() {
		if p.TopicPartition().Topic != topic {
			continue
		}
		found = true
		if err := p.Log().Roll(); err != nil {
			errs = append(errs, fmt.Errorf("roll %s: %w", p.TopicPartition(), err))
			continue
		}
		errs = append(errs, c.Compact(ctx, p))
	}
	if !found {
		return fmt.Errorf("compact %s: there is no such topic", topic)
	}
	return errors.Join(errs...)
}

// demandedCleaner is the cleaner, or with log.cleaner.enable=false one that works on demand alone.
func (b *Broker) demandedCleaner() *cleaner.Cleaner {
	if b.cleaner != nil {
		return b.cleaner
	}
	return b.makeCleaner()
}
