package minibroker

import (
	"context"

	"minibroker/cleaner"
)

// newCleaner makes what compacts the logs, nil when log.cleaner.enable is false.
func (b *Broker) newCleaner() *cleaner.Cleaner {
	if !b.config.Bool("log.cleaner.enable") {
		return nil
	}
	return b.makeCleaner()
}

func (b *Broker) makeCleaner() *cleaner.Cleaner {
	return cleaner.New(cleaner.Options{
		Partitions: b.cleanable, Checkpoints: b.store, Settings: b.cleanerSettings, Logger: b.log,
	})
}

func (b *Broker) cleanable() []cleaner.Partition {
	led := b.partitions.Partitions()
	all := make([]cleaner.Partition, len(led))
	for i, p := range led {
		all[i] = p
	}
	return all
}

func (b *Broker) cleanerSettings() cleaner.Settings {
	l := b.layers()
	return cleaner.Settings{
		Threads:           l.Int("log.cleaner.threads"),
		DedupeBufferBytes: l.Long("log.cleaner.dedupe.buffer.size"),
		IOBufferBytes:     l.Int("log.cleaner.io.buffer.size"),
		LoadFactor:        l.Double("log.cleaner.io.buffer.load.factor"),
		BytesPerSecond:    l.Double("log.cleaner.io.max.bytes.per.second"),
		Backoff:           b.millis("log.cleaner.backoff.ms"),
	}
}

// CleanerMetrics gives numbers on compaction; ok is false when
// log.cleaner.enable is false.
func (b *Broker) CleanerMetrics() (m cleaner.Metrics, ok bool) {
	if b.cleaner == nil {
		return m, false
	}
	return b.cleaner.Metrics(), true
}

// clean compacts until ctx ends.
func (b *Broker) clean(ctx context.Context) {
	if b.cleaner != nil {
		b.cleaner.Run(ctx)
	}
}

// wakeCleaner tells the cleaner that topics or settings have changed.
func (b *Broker) wakeCleaner() {
	if b.cleaner != nil {
		b.cleaner.Wake()
	}
}
