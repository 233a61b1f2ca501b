package logstore

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"minibroker/record"
)

// resendSegments is how many of the newest segments are searched for the
// batches of a producer that a snapshot does not hold.
const resendSegments = 2

// checkProducerLocked is ProducerState.check, with one more look: a snapshot holds
// only the newest batch of each producer, so after a start the ones before it
// are unknown. When a batch comes that seems out of sequence, they are read
// from the newest segments, once for each producer. Kafka 4.4.0 refuses such a
// repeat, and the producer fails although its records are there.
func (l *Log) checkProducerLocked(b record.Batch, c producerCheck) (*batchMeta, error) {
	dup, err := l.producers.check(b, c)
	if !errors.Is(err, ErrOutOfOrderSequence) || c.origin != Client {
		return dup, err
	}
	e := l.producers.producers[b.ProducerID()]
	if e == nil || !e.fromSnapshot || e.epoch != b.ProducerEpoch() {
		return dup, err
	}
	e.fromSnapshot = false
	if refillErr := l.refillProducerLocked(e); refillErr != nil {
		return nil, l.storage("look for a producer's batches", refillErr)
	}
	return l.producers.check(b, c)
}

// refillProducerLocked completes the remembered batches of a producer.
func (l *Log) refillProducerLocked(e *producerEntry) error {
	known := e.remembered()
	if len(known) == 0 || len(known) == rememberedBatches {
		return nil
	}
	before := known[0].firstOffset() // older ones end below
	list := *l.segments.Load()
	var older []batchMeta
	for _, s := range list[max(0, len(list)-resendSegments):] {
		var err error
		if older, err = s.batchesOf(e, before, older); err != nil {
			return fmt.Errorf("segment %020d: %w", s.base, err)
		}
	}
	e.setRemembered(append(older, known...))
	return nil
}

// batchesOf appends the data batches of a producer that end below an offset to
// found, keeping the newest few.
func (s *segment) batchesOf(e *producerEntry, before int64, found []batchMeta) ([]batchMeta, error) {
	scan, done, err := s.scan(0, s.size.Load())
	if err != nil {
		return found, err
	}
	defer done()
	for {
		head, _, err := scan.next()
		if errors.Is(err, io.EOF) || (err == nil && head.LastOffset() >= before) {
			return found, nil
		}
		if err != nil {
			return found, ignoreEnd(err)
		}
		if head.ProducerID() != e.id || head.ProducerEpoch() != e.epoch || head.IsControl() {
			continue
		}
		if len(found) == rememberedBatches {
			found = found[:copy(found, found[1:])]
		}
		found = append(found, batchMeta{
			lastSequence: head.LastSequence(), lastOffset: head.LastOffset(),
			offsetDelta: head.LastOffsetDelta(), timestamp: head.MaxTimestamp(),
		})
	}
}

// removeUnreadableSnapshots deletes the snapshots that cannot be read. They
// would only be found out when they are the newest. The recovery point says
// nothing about them: a flush that overtakes the one after a roll moves it past
// a snapshot that has not reached the disk.
func (d *loader) removeUnreadableSnapshots() error {
	p := d.newProducerState()
	for _, offset := range slices.Clone(p.snapshots) {
		_, err := p.readSnapshot(offset)
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) {
			if err != nil {
				return err
			}
			continue
		}
		p.logger.Warn("producer snapshot left out", slog.Any("error", err))
		if err := p.removeSnapshot(offset); err != nil {
			return err
		}
	}
	return nil
}

// remembered lists the batches, oldest first.
func (e *producerEntry) remembered() []batchMeta {
	list := make([]batchMeta, 0, rememberedBatches)
	for i := int(e.batches) - 1; i >= 0; i-- {
		list = append(list, e.recent[(int(e.newest)-i+rememberedBatches)%rememberedBatches])
	}
	return list
}

// setRemembered replaces the batches by the newest of list, oldest first.
func (e *producerEntry) setRemembered(list []batchMeta) {
	if len(list) > rememberedBatches {
		list = list[len(list)-rememberedBatches:]
	}
	e.batches, e.newest = 0, 0
	for _, b := range list {
		e.addBatch(b)
	}
}
