package cleaner

import (
	"fmt"
	"log/slog"
	"math"

	"minibroker/logstore"
)

// Partition is a log and how much of it is settled.
type Partition interface {
	Log() *logstore.Log
	HighWatermark() int64
	LastStableOffset() int64 // at most the high watermark
}

// Checkpoints remembers how far each log is cleaned; a *logstore.Store does.
type Checkpoints interface {
	CleanerOffset(logstore.TopicPartition) (offset int64, ok bool, err error)
	CheckpointCleaner(logstore.TopicPartition, int64) error
}

// candidate is a compacted log and what cleaning it would be about.
type candidate struct {
	partition Partition
	log       *logstore.Log
	config    logstore.Config
	segments  []logstore.Segment // all of the log's, at the time of the look
	first     int64              // first dirty offset
	bound     int64              // first offset that may not be cleaned, a segment's base
	clean     int64              // bytes below first
	dirty     int64              // bytes in [first, bound)
	delay     int64              // ms by which max.compaction.lag.ms has passed, 0 when it has not
}

// ratio is the dirty part of what can be cleaned, 0 of nothing.
func (c *candidate) ratio() float64 {
	if c.dirty == 0 {
		return 0
	}
	return float64(c.dirty) / float64(c.clean+c.dirty)
}

// due reports whether the log is to be cleaned.
func (c *candidate) due() bool {
	if c.dirty == 0 {
		return false
	}
	return c.delay > 0 || c.ratio() > c.config.MinCleanableRatio
}

// look finds out what is dirty in a log. now is in ms.
func (c *Cleaner) look(p Partition, now int64) (*candidate, error) {
	log := p.Log()
	// The settled offsets come first: segments added meanwhile lie above them.
	stable := p.LastStableOffset()
	d := &candidate{partition: p, log: log, config: log.Config(), segments: log.Segments()}
	var err error
	if d.first, err = c.firstDirty(log, &d.config); err != nil {
		return nil, err
	}
	if err := d.findBound(stable, now); err != nil {
		return nil, err
	}
	d.clean = bytesOf(segmentsIn(d.segments, -1, d.first))
	d.dirty = bytesOf(segmentsIn(d.segments, min(d.first, d.bound), d.bound))
	return d, d.findDelay(now)
}

// firstDirty is the checkpointed offset, or the log start where that is of no
// use.
func (c *Cleaner) firstDirty(log *logstore.Log, cfg *logstore.Config) (int64, error) {
	tp := log.TopicPartition()
	offset, ok, err := c.o.Checkpoints.CleanerOffset(tp)
	if err != nil {
		return 0, err
	}
	start, end := log.StartOffset(), log.EndOffset()
	if !ok || offset >= start && offset <= end {
		if !ok {
			offset = start
		}
		return offset, nil
	}
	if offset > end || !cfg.Delete { // under compact,delete the start runs ahead as a matter of course
		c.log.Warn(fmt.Sprintf("Resetting first dirty offset of %s to log start offset %d since the checkpointed offset %d is invalid.", tp, start, offset),
			"logger", managerLogger)
	}
	return start, c.o.Checkpoints.CheckpointCleaner(tp, start)
}

// findBound sets bound: not above the last stable offset, the active segment's
// base, and the first segment that is too young; rounded down to a segment's
// base.
func (d *candidate) findBound(stable, now int64) error {
	active := d.segments[len(d.segments)-1].Base()
	bound := min(stable, active)
	if d.config.MinCompactionLagMs > 0 {
		for _, s := range d.sealedFrom(d.first) {
			ts, err := s.LargestTimestamp()
			if err != nil {
				return err
			}
			if ts > now-d.config.MinCompactionLagMs {
				bound = min(bound, s.Base())
				break
			}
		}
	}
	bound = max(bound, d.first)
	d.bound = active
	if sealed := d.sealedFrom(bound); len(sealed) > 0 {
		d.bound = sealed[0].Base()
	}
	return nil
}

// sealedFrom is the segments that take no appends, from the one that holds
// offset on.
func (d *candidate) sealedFrom(offset int64) []logstore.Segment {
	return segmentsIn(d.segments, offset, d.segments[len(d.segments)-1].Base())
}

// findDelay looks for the oldest of the dirty segments' first batches.
func (d *candidate) findDelay(now int64) error {
	if d.config.MaxCompactionLagMs == math.MaxInt64 {
		return nil
	}
	for _, s := range d.sealedFrom(d.first) {
		ts, err := s.FirstTimestamp()
		if err != nil {
			return err
		}
		if ts > 0 {
			d.delay = max(d.delay, now-d.config.MaxCompactionLagMs-ts)
		}
	}
	return nil
}

// describe names the log as Kafka's log lines do.
func describe(p Partition) string {
	log := p.Log()
	id := ""
	if have := log.TopicID(); have != (logstore.UUID{}) {
		id = "topicId=" + have.String() + ", "
	}
	tp := log.TopicPartition()
	return fmt.Sprintf("Log(dir=%s, %stopic=%s, partition=%d, highWatermark=%d, lastStableOffset=%d, logStartOffset=%d, logEndOffset=%d)",
		log.Dir(), id, tp.Topic, tp.Partition, p.HighWatermark(), p.LastStableOffset(), log.StartOffset(), log.EndOffset())
}

const (
	cleanerLogger = "org.apache.kafka.storage.internals.log.Cleaner"
	managerLogger = "org.apache.kafka.storage.internals.log.LogCleanerManager"
	threadLogger  = "org.apache.kafka.storage.internals.log.LogCleaner$CleanerThread"
)

// says makes a logger for one of Kafka's classes.
func says(log *slog.Logger, class string) *slog.Logger { return log.With("logger", class) }
