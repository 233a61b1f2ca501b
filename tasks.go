package minibroker

import (
	"context"
	"errors"
	"time"
)

// task is a piece of periodic work, named as Kafka names its own.
type task struct {
	name     string
	interval func() time.Duration // asked again after every run, since settings may change
	run      func() error
	due      time.Time
}

// runTasks runs each task when it is due until ctx ends, one after another in the calling goroutine. Between two tasks
// it sleeps: a broker at rest does nothing.
func (b *Broker) runTasks(ctx context.Context, tasks []*task) {
	if len(tasks) == 0 {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next := tasks[0]
		for _, t := range tasks[1:] {
			if t.due.Before(next.due) {
				next = t
			}
		}
		timer.Reset(time.Until(next.due))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := next.run(); err != nil {
			b.log.Error("Task "+next.name+": "+err.Error(), "logger", "org.apache.kafka.server.util.KafkaScheduler")
		}
		next.due = time.Now().Add(max(next.interval(), time.Millisecond))
	}
}

// tasks lists the periodic work of Kafka's log manager and replica manager with its first moments. High watermarks are written
// when the first requests have been answered: what stands in the file was right when the logs were loaded.
func (b *Broker) tasks(now time.Time) []*task {
	first := now.Add(b.millis("log.initial.task.delay.ms"))
	every := func(setting string) func() time.Duration {
		return func() time.Duration { return b.millis(setting) }
	}
	return []*task{
		{"highwatermark-checkpoint", every("replica.high.watermark.checkpoint.interval.ms"), b.partitions.CheckpointHighWatermarks, now.Add(settleAfter)},
		{"kafka-recovery-point-checkpoint", every("log.flush.offset.checkpoint.interval.ms"), b.store.CheckpointRecoveryPoints, first},
		{"kafka-log-start-offset-checkpoint", every("log.flush.start.offset.checkpoint.interval.ms"), b.store.CheckpointLogStartOffsets, first},
		{"kafka-log-retention", every("log.retention.check.interval.ms"), b.applyRetention, first},
		{"transactionalId-expiration", every("transaction.remove.expired.transaction.cleanup.interval.ms"), b.expireTransactions,
			now.Add(b.millis("transaction.remove.expired.transaction.cleanup.interval.ms"))},
		{"PeriodicProducerExpirationCheck", every("producer.id.expiration.check.interval.ms"), b.expireProducers,
			now.Add(b.millis("producer.id.expiration.check.interval.ms"))},
		{"group-metadata-expiration", every("offsets.retention.check.interval.ms"), b.groups.Expire, now.Add(b.millis("offsets.retention.check.interval.ms"))},
		{"kafka-log-flusher", every("log.flush.scheduler.interval.ms"), b.flushByAge, first},
	}
}

// millis is a setting in force as a duration; the largest values, which mean never, stay within a duration's range.
func (b *Broker) millis(setting string) time.Duration {
	const most = int64(1<<63-1) / int64(time.Millisecond) / 2
	return time.Duration(min(b.layers().Long(setting), most)) * time.Millisecond
}

// applyRetention removes what the settings no longer keep. Compacted logs are the cleaner's.
func (b *Broker) applyRetention() error {
	var errs []error
	for _, p := range b.partitions.Partitions() {
		if p.Log().Config().Compact {
			continue
		}
		if _, err := p.Log().ApplyRetention(p.HighWatermark(), time.Now()); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// flushByAge makes logs durable whose flush.ms has passed.
func (b *Broker) flushByAge() error {
	var errs []error
	for _, log := range b.store.Logs() {
		if err := log.FlushIfDue(time.Now()); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
