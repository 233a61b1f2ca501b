package minibroker

import (
	"context"
	"slices"

	"minibroker/logstore"
)

// resumeMoves begins the moves again that were under way when the broker stopped.
func (b *Broker) resumeMoves() {
	if err := b.store.ResumeMoves(); err != nil {
		b.log.Error(err.Error(), "logger", "org.apache.kafka.storage.internals.log.LogManager")
	}
}

// runMoves carries partitions to other log dirs until ctx ends.
func (b *Broker) runMoves(ctx context.Context) {
	threads := b.config.Int("num.replica.alter.log.dirs.threads")
	if threads == 0 {
		threads = len(b.store.Dirs()) // Kafka's default
	}
	b.store.RunMoves(ctx, logstore.MoveOptions{
		AtOnce: threads,
		Rate:   func() int64 { return b.layers().Long("replica.alter.log.dirs.io.max.bytes.per.second") },
		Moved:  b.noteMoved,
	})
}

// noteMoved has the metadata name the new place of a partition.
func (b *Broker) noteMoved(tp logstore.TopicPartition) {
	topic, ok := b.meta.Image().Topic(tp.Topic)
	if ok && int(tp.Partition) < len(topic.Partitions) {
		b.noteDirectory(topic, &topic.Partitions[tp.Partition])
	}
}

// isCordoned reports whether a log dir takes no new partitions.
func (b *Broker) isCordoned(dir string) bool {
	if b.meta == nil {
		return false // the start
	}
	cordoned := b.layers().List("cordoned.log.dirs")
	return slices.Contains(cordoned, "*") || slices.Contains(cordoned, dir)
}
