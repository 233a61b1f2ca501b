package logstore

import (
	"fmt"
	"time"

	"minibroker/record"
)

// mostTried bounds how many producers are kept that tried to begin a transaction
// in a partition: one that is refused comes again, or never.
const mostTried = 10_000

// triedBatch is what is remembered of a producer's batches that came to begin a
// transaction in a partition, until one does: a batch must not overtake one
// before it that failed. Kafka's name for it is verification state.
type triedBatch struct {
	epoch  int16
	lowest int32 // base sequence
	bumps  bool  // transaction version 2
	atMs   int64
}

// beginning tells whether a batch of the producer would begin a transaction here,
// and remembers its sequence if so. An epoch that is over is refused:
// ErrInvalidProducerEpoch.
func (p *ProducerState) beginning(id int64, epoch int16, sequence int32, bumps bool, now time.Time) (begins bool, err error) {
	if e := p.producers[id]; e != nil && epoch < e.epoch {
		return true, fmt.Errorf("%w: producer %d, epoch %d, known %d", ErrInvalidProducerEpoch, id, epoch, e.epoch)
	}
	if p.hasOpenTransaction(id, epoch) {
		return false, nil
	}
	t, ok := p.tried[id]
	switch {
	case !ok:
		t = triedBatch{epoch: epoch, lowest: sequence, bumps: bumps, atMs: now.UnixMilli()}
		p.forgetTriedFor(1)
	case epoch > t.epoch:
		t.epoch, t.lowest = epoch, sequence
	case epoch == t.epoch:
		t.lowest = min(t.lowest, sequence)
	}
	if p.tried == nil {
		p.tried = make(map[int64]triedBatch)
	}
	p.tried[id] = t
	return true, nil
}

// forgetTriedFor makes room for n more.
func (p *ProducerState) forgetTriedFor(n int) {
	for id := range p.tried {
		if len(p.tried)+n <= mostTried {
			return
		}
		delete(p.tried, id)
	}
}

// checkTried refuses a batch that comes before one with a lower sequence.
func (p *ProducerState) checkTried(b record.Batch) error {
	t, ok := p.tried[b.ProducerID()]
	if !ok || b.BaseSequence() <= t.lowest {
		return nil
	}
	return fmt.Errorf("%w: producer %d, epoch %d: sequence %d came before %d, which was tried first",
		ErrOutOfOrderSequence, b.ProducerID(), b.ProducerEpoch(), b.BaseSequence(), t.lowest)
}

// followTried forgets what was tried when a batch of the transaction is there. Under
// version 2 a marker of the same epoch is none of it: it belongs to the transaction
// before.
func (p *ProducerState) followTried(b record.Batch) {
	if !b.IsTransactional() || len(p.tried) == 0 {
		return
	}
	if t := p.tried[b.ProducerID()]; t.bumps && b.IsControl() && b.ProducerEpoch() == t.epoch {
		return
	}
	delete(p.tried, b.ProducerID())
}

// expireTried forgets those that never came again.
func (p *ProducerState) expireTried(now time.Time) {
	for id, t := range p.tried {
		if now.UnixMilli()-t.atMs >= p.expirationMs {
			delete(p.tried, id)
		}
	}
}
