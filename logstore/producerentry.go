package logstore

import "math"

// rememberedBatches is how many data batches of a producer are recognised when
// they come again: the number of requests an idempotent producer may have in
// flight.
const rememberedBatches = 5

// batchMeta is what is remembered of a data batch.
type batchMeta struct {
	lastSequence int32
	offsetDelta  int32 // last minus first offset
	lastOffset   int64
	timestamp    int64 // max timestamp, ms
}

func (b *batchMeta) firstOffset() int64   { return b.lastOffset - int64(b.offsetDelta) }
func (b *batchMeta) firstSequence() int32 { return sequenceBefore(b.lastSequence, b.offsetDelta) }

// sequenceBefore goes back by n; sequences wrap from 2^31-1 to 0.
func sequenceBefore(seq, n int32) int32 {
	if seq < n {
		return math.MaxInt32 - (n - seq) + 1
	}
	return seq - n
}

// inSequence reports whether next follows last.
func inSequence(last, next int32) bool {
	return int64(next) == int64(last)+1 || (next == 0 && last == math.MaxInt32)
}

// producerEntry is the state of one producer id.
type producerEntry struct {
	id               int64
	lastTimestamp    int64 // ms; of the last data batch or marker
	txnFirstOffset   int64 // of the open transaction, noOffset when none
	order            uint64
	coordinatorEpoch int32
	epoch            int16
	batches          uint8 // how many are remembered
	newest           uint8 // index in recent
	fromSnapshot     bool  // batches before the remembered ones may be in the log
	recent           [rememberedBatches]batchMeta
}

// lastBatch is the newest batch, or the values stored for none.
func (e *producerEntry) lastBatch() batchMeta {
	if e.batches == 0 {
		return batchMeta{lastSequence: noSequence, lastOffset: noOffset}
	}
	return e.recent[e.newest]
}

// addBatch remembers a batch; the oldest goes if there are too many.
func (e *producerEntry) addBatch(b batchMeta) {
	if e.batches > 0 {
		e.newest = (e.newest + 1) % rememberedBatches
	}
	e.recent[e.newest] = b
	e.batches = min(e.batches+1, rememberedBatches)
}

// setEpoch changes the epoch. Batches of another epoch are forgotten.
func (e *producerEntry) setEpoch(epoch int16) {
	if e.epoch != epoch {
		e.epoch = epoch
		e.batches, e.newest = 0, 0
	}
}

// find returns the oldest remembered batch with this range of sequences.
func (e *producerEntry) find(first, last int32) *batchMeta {
	for i := int(e.batches) - 1; i >= 0; i-- {
		b := &e.recent[(int(e.newest)-i+rememberedBatches)%rememberedBatches]
		if b.lastSequence == last && b.firstSequence() == first {
			return b
		}
	}
	return nil
}

func (e *producerEntry) inTransaction() bool { return e.txnFirstOffset >= 0 }
