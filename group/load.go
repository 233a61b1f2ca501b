package group

import (
	"bytes"
	"fmt"
	"log/slog"
	"time"

	"minibroker/record"
)

const (
	loadBufferBytes = 256 << 10
	// maxDecompressedBytes bounds what one batch may unpack to.
	maxDecompressedBytes = 128 << 20
	// progressEvery is how often a long load says how far it is.
	progressEvery = 5 * time.Second
)

// load reads the partition from its start to its end and makes the shard
// usable.
func (s *shard) load() {
	began := time.Now()
	err := s.replayLog(began)
	if err != nil {
		s.logf(slog.LevelError, "Loading of the groups in this partition did not succeed, they cannot be used: %v", err)
		s.leaveLoading(shardBroken)
		return
	}
	all := s.all()
	for _, g := range all {
		g.mu.Lock()
		g.machine.startLocked()
		g.mu.Unlock()
	}
	deleted, ok := s.becomeReady()
	if !ok {
		return // closed meanwhile
	}
	if s.log.EndOffset() > 0 {
		s.logf(slog.LevelInfo, "Finished loading of metadata from partition %s-%d in %dms: %d groups, %d records.",
			topicName, s.partition, time.Since(began).Milliseconds(), len(all), s.log.EndOffset()-s.log.StartOffset())
	}
	for _, topic := range deleted {
		if err := s.topicDeleted(topic.name, topic.id); err != nil {
			s.logf(slog.LevelError, "Deleting the offsets of topic %s, which was deleted while the partition was loaded: %v", topic.name, err)
		}
	}
}

// becomeReady lets requests in and returns what has to be made up for; false when
// the shard was closed.
func (s *shard) becomeReady() (deleted []deletedTopic, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	deleted, s.deleted = s.deleted, nil
	return deleted, s.state.CompareAndSwap(shardCaughtUp, shardReady)
}

// leaveLoading ends the loading, unless the shard was closed.
func (s *shard) leaveLoading(to int32) {
	s.mu.Lock()
	s.state.CompareAndSwap(shardLoading, to)
	s.mu.Unlock()
}

// caughtUp says whether all records up to next are all there are. If so, the
// loading is over: who appends a marker after this finds the shard told of it.
func (s *shard) caughtUp(next int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if next < s.log.EndOffset() {
		return false
	}
	s.state.CompareAndSwap(shardLoading, shardCaughtUp)
	return true
}

// replayLog follows all records, also those that come while it does: nobody
// commits meanwhile, but transactions are ended.
func (s *shard) replayLog(began time.Time) error {
	r := replay{s: s, unknown: map[int16]bool{}, ended: map[string]bool{}}
	start := s.log.StartOffset()
	buf, told := make([]byte, 0, min(loadBufferBytes, 1<<10)), began
	for next := start; !s.caughtUp(next); {
		end := s.log.EndOffset()
		set, err := s.log.Read(next, buf[:0])
		if first := s.log.StartOffset(); err != nil && next < first {
			next = first // its records were deleted meanwhile
			continue
		}
		if err != nil {
			return fmt.Errorf("read at offset %d: %w", next, err)
		}
		if cap(set) > cap(buf) {
			buf = set
		}
		if len(set) == 0 {
			next = end // the cleaner left no batches before it
			continue
		}
		for len(set) > 0 {
			batch, rest, err := record.Next(set)
			if err != nil {
				return fmt.Errorf("read at offset %d: %w", next, err)
			}
			if err := r.batch(batch); err != nil {
				return err
			}
			next, set = batch.NextOffset(), rest
		}
		if time.Since(told) > progressEvery {
			told = time.Now()
			s.logf(slog.LevelInfo, "Loading of metadata: %d%%, offset %d of %d.", 100*(next-start)/max(end-start, 1), next, end)
		}
		if s.c.ctx.Err() != nil {
			return s.c.ctx.Err()
		}
	}
	return nil
}

// replay applies records in the order of the log.
type replay struct {
	s       *shard
	unknown map[int16]bool // types that a warning was written about
	// ended are the consumer groups that were deleted, until there is a record
	// of a classic group of that name.
	ended map[string]bool
}

func (r *replay) batch(b record.Batch) error {
	if b.IsControl() {
		marker, err := b.Marker()
		if err == nil {
			r.s.completeTransaction(b.ProducerID(), b.BaseOffset(), marker.Commit)
		}
		return nil // what is no marker is of no concern here
	}
	producer := record.NoProducerID
	if b.IsTransactional() {
		producer = b.ProducerID()
	}
	return b.ForEach(maxDecompressedBytes, func(rec *record.Record) error {
		if err := r.record(rec, producer); err != nil {
			return fmt.Errorf("record at offset %d: %w", rec.Offset, err)
		}
		return nil
	})
}

func (r *replay) record(rec *record.Record, producer int64) error {
	kind, err := recordType(rec.Key)
	if err != nil {
		return err
	}
	switch kind {
	case typeLegacyOffsetCommit, typeOffsetCommit:
		return r.offset(rec, producer)
	case typeGroupMetadata:
		return r.classic(rec)
	case typeConsumerGroup, typeConsumerPartitions, typeConsumerMember, typeConsumerTarget, typeConsumerPart, typeConsumerCurrent, typeConsumerRegex:
		return r.consumer(rec, kind)
	}
	if of, ok := foreignKind(kind); ok {
		return r.foreign(rec, kind, of)
	}
	if !r.unknown[kind] {
		r.unknown[kind] = true
		r.s.logf(slog.LevelWarn, "Unknown record type %d while loading offsets and group metadata. Ignoring it. It could be a left over from an aborted upgrade.", kind)
	}
	return nil
}

func (r *replay) offset(rec *record.Record, producer int64) error {
	id, p, err := decodeOffsetKey(rec.Key)
	if err != nil {
		return err
	}
	if rec.Value == nil {
		if g := r.s.find(id); g != nil {
			g.dropOffsetLocked(p)
			g.mu.Unlock()
		}
		return nil
	}
	o, err := decodeOffset(rec.Value)
	if err != nil {
		return err
	}
	o.recordOffset = rec.Offset
	g, _, err := r.s.findOrCreate(id)
	if err != nil {
		return err
	}
	defer g.mu.Unlock()
	if producer < 0 {
		g.offsets.put(p, o)
		return nil
	}
	g.putPendingLocked(producer, p, o)
	return nil
}

func (r *replay) classic(rec *record.Record) error {
	id, err := decodeClassicKey(rec.Key)
	if err != nil {
		return err
	}
	if rec.Value == nil {
		if g := r.s.find(id); g != nil {
			_, ok := g.machine.(*classic)
			g.mu.Unlock()
			if ok {
				r.s.dropGroup(id)
			}
		}
		return nil
	}
	v, err := decodeClassic(bytes.Clone(rec.Value)) // its bytes are kept, the buffer is not
	if err != nil {
		return err
	}
	g, _, err := r.s.findOrCreate(id)
	if err != nil {
		return err
	}
	defer g.mu.Unlock()
	c := restoreClassic(g, v)
	c.converted = r.ended[id] && len(v.Members) > 0
	g.machine = c
	delete(r.ended, id)
	return nil
}

// consumer follows a change of a consumer group. Deletions concern groups that
// there are; anything else makes the group one, whatever it was.
func (r *replay) consumer(rec *record.Record, kind int16) error {
	id, name, err := decodeConsumerKey(rec.Key)
	if err != nil {
		return err
	}
	change, err := decodeConsumerValue(kind, name, rec.Value)
	if err != nil {
		return err
	}
	if rec.Value == nil {
		r.undoConsumer(id, change)
		return nil
	}
	g, _, err := r.s.findOrCreate(id)
	if err != nil {
		return err
	}
	defer g.mu.Unlock()
	c, ok := g.machine.(*consumer)
	if !ok {
		c = newConsumer(g)
		g.machine = c
	}
	change.applyLocked(c)
	return nil
}

func (r *replay) undoConsumer(id string, change consumerChange) {
	g := r.s.find(id)
	if g == nil {
		return
	}
	c, ok := g.machine.(*consumer)
	if ok {
		change.applyLocked(c)
	}
	g.mu.Unlock()
	if _, gone := change.(epochGone); ok && gone {
		r.s.dropGroup(id)
		r.ended[id] = true
	}
}

// dropGroup follows a record that deletes a group. Its offsets have records of
// their own: while there are some, it goes on as a group without members.
func (s *shard) dropGroup(id string) {
	g := s.find(id)
	if g == nil {
		return
	}
	defer g.mu.Unlock()
	if g.offsets.empty() {
		s.removeLocked(g)
		return
	}
	g.machine = newClassic(g)
}
