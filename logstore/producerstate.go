package logstore

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"time"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// ProducerState knows the producers of a partition: which batch each wrote
// last, to refuse repeats and gaps, and which transactions are open. It is the
// result of all batches below its map end offset, and is written to snapshot
// files so that a start need not read the whole log.
//
// It has no lock: whoever owns the log calls it, one at a time. Only
// syncSnapshot may be called by others.
type ProducerState struct {
	fsys         vfs.FS
	dir          string
	logger       *slog.Logger
	expirationMs int64 // producer.id.expiration.ms

	producers map[int64]*producerEntry
	inserted  uint64    // counts insertions, the order within a slot
	tableSize int       // of the Java hash map that decides the order on disk
	open      []openTxn // ascending by first offset
	tried     map[int64]triedBatch

	end       int64   // map end offset
	lastTaken int64   // offset of the last snapshot written or loaded
	snapshots []int64 // offsets of the files, ascending

	// held are snapshots whose files are not written yet, by offset: those of a
	// load, which waits for no file.
	held map[int64][]byte
}

type openTxn struct{ first, producer int64 }

// endedTxn is a transaction whose marker was just applied.
type endedTxn struct {
	producer    int64
	firstOffset int64
	lastOffset  int64 // of the marker
	aborted     bool
}

// openProducerState lists the snapshots in a partition's directory. The state
// is empty and ends at offset 0 until truncateAndReload.
func openProducerState(fsys vfs.FS, dir string, logger *slog.Logger, expirationMs int64) (*ProducerState, error) {
	p := newProducerState(fsys, dir, logger, expirationMs)
	err := p.listSnapshots()
	return p, err
}

// newProducerState is an empty state of a directory without snapshots.
func newProducerState(fsys vfs.FS, dir string, logger *slog.Logger, expirationMs int64) *ProducerState {
	p := &ProducerState{fsys: fsys, dir: dir, logger: logger, expirationMs: expirationMs}
	if p.logger == nil {
		p.logger = slog.New(slog.DiscardHandler)
	}
	return p
}

// producerCheck says who wants to append a batch, and how.
type producerCheck struct {
	origin Origin
	// transactionVersion is 2 for producers that bump the epoch with every
	// transaction, else 0.
	transactionVersion int16
	// unverified means that the coordinator has not confirmed that the
	// partition belongs to the producer's transaction: only a batch of a
	// transaction already open here is taken then.
	unverified bool
}

// check decides whether a batch with a producer id may be appended. A client's
// repeat of a remembered batch is no error: its old place is returned. Errors
// wrap ErrOutOfOrderSequence, ErrInvalidProducerEpoch, ErrInvalidTxnState and,
// for markers, ErrCoordinatorFenced. Nothing changes.
func (p *ProducerState) check(b record.Batch, c producerCheck) (duplicate *batchMeta, err error) {
	if c.origin == Raw {
		return nil, nil
	}
	e := p.producers[b.ProducerID()]
	if c.origin == Client && e != nil && e.epoch == b.ProducerEpoch() {
		if dup := e.find(b.BaseSequence(), b.LastSequence()); dup != nil {
			return dup, nil
		}
	}
	if e == nil {
		e = &producerEntry{id: b.ProducerID(), epoch: noProducerEpoch, coordinatorEpoch: noCoordinatorEpoch, txnFirstOffset: noOffset}
	}
	if b.IsControl() {
		return nil, e.checkMarker(b, c)
	}
	var tried error
	if c.origin == Client {
		tried = p.checkTried(b)
	}
	return nil, e.checkData(b, c, tried)
}

func (e *producerEntry) checkMarker(b record.Batch, c producerCheck) error {
	marker, err := b.Marker()
	if errors.Is(err, record.ErrNotMarker) {
		return nil
	}
	if err != nil {
		return err
	}
	epoch := b.ProducerEpoch()
	// Under version 2 a marker raises the epoch. The same epoch again is a
	// repeat of the coordinator's, fine once the transaction has ended.
	if epoch < e.epoch || (c.transactionVersion >= 2 && epoch == e.epoch && e.inTransaction()) {
		return fmt.Errorf("%w: producer %d, marker epoch %d, known %d", ErrInvalidProducerEpoch, e.id, epoch, e.epoch)
	}
	if marker.CoordinatorEpoch < e.coordinatorEpoch {
		return fmt.Errorf("%w: producer %d, coordinator epoch %d, known %d", ErrCoordinatorFenced, e.id, marker.CoordinatorEpoch, e.coordinatorEpoch)
	}
	return nil
}

// checkData checks a data batch; tried says why it comes too early, if it does.
func (e *producerEntry) checkData(b record.Batch, c producerCheck, tried error) error {
	epoch := b.ProducerEpoch()
	if epoch < e.epoch {
		return fmt.Errorf("%w: producer %d, epoch %d, known %d", ErrInvalidProducerEpoch, e.id, epoch, e.epoch)
	}
	if c.unverified && b.IsTransactional() && !(e.inTransaction() && epoch == e.epoch) {
		return fmt.Errorf("%w: producer %d: the partition is not part of its transaction", ErrInvalidTxnState, e.id)
	}
	// Coordinators write with sequences of their own.
	if c.origin == Client {
		if tried != nil {
			return tried
		}
		if err := e.checkSequence(b, c); err != nil {
			return err
		}
	}
	if e.inTransaction() && !b.IsTransactional() {
		return fmt.Errorf("%w: producer %d: a plain batch inside the transaction from offset %d", ErrInvalidTxnState, e.id, e.txnFirstOffset)
	}
	return nil
}

func (e *producerEntry) checkSequence(b record.Batch, c producerCheck) error {
	first, last := b.BaseSequence(), noSequence
	switch {
	case e.epoch == noProducerEpoch:
		// Unknown: its records may all have been deleted, so any start is fine,
		// except that a version 2 producer begins each epoch here at 0.
		if c.transactionVersion < 2 || !b.IsTransactional() || first == 0 {
			return nil
		}
	case e.epoch != b.ProducerEpoch():
		if first == 0 {
			return nil
		}
	default:
		if last = e.lastBatch().lastSequence; inSequence(last, first) {
			return nil
		}
	}
	return fmt.Errorf("%w: producer %d, epoch %d: sequence %d after %d", ErrOutOfOrderSequence, e.id, b.ProducerEpoch(), first, last)
}

// hasOpenTransaction reports whether the producer has a transaction of this
// epoch open here.
func (p *ProducerState) hasOpenTransaction(id int64, epoch int16) bool {
	e := p.producers[id]
	return e != nil && e.epoch == epoch && e.inTransaction()
}

// update applies a batch with a producer id, without any check. The header of
// a data batch is enough; a control batch is needed whole. It returns the
// transaction that a marker ended, nil when the batch is no marker or the
// producer had none open here. Such a transaction stays open until finish.
func (p *ProducerState) update(b record.Batch) (*endedTxn, error) {
	p.followTried(b)
	if !b.IsControl() {
		p.updateData(b)
		return nil, nil
	}
	marker, err := b.Marker()
	if errors.Is(err, record.ErrNotMarker) { // the cleaner leaves batches without a record
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e := p.entry(b.ProducerID())
	var ended *endedTxn
	if e.inTransaction() {
		ended = &endedTxn{producer: e.id, firstOffset: e.txnFirstOffset, lastOffset: b.BaseOffset(), aborted: !marker.Commit}
	}
	e.setEpoch(b.ProducerEpoch())
	e.coordinatorEpoch = marker.CoordinatorEpoch
	e.lastTimestamp = b.MaxTimestamp() // that of its one record
	e.txnFirstOffset = noOffset
	return ended, nil
}

func (p *ProducerState) updateData(b record.Batch) {
	e := p.entry(b.ProducerID())
	e.setEpoch(b.ProducerEpoch())
	e.addBatch(batchMeta{
		lastSequence: b.LastSequence(), lastOffset: b.LastOffset(),
		offsetDelta: b.LastOffsetDelta(), timestamp: b.MaxTimestamp(),
	})
	e.lastTimestamp = b.MaxTimestamp()
	if b.IsTransactional() && !e.inTransaction() {
		e.txnFirstOffset = b.BaseOffset()
		p.addOpen(e)
	}
}

// entry is the producer's entry, made if it is new.
func (p *ProducerState) entry(id int64) *producerEntry {
	if e := p.producers[id]; e != nil {
		return e
	}
	e := &producerEntry{id: id, epoch: noProducerEpoch, coordinatorEpoch: noCoordinatorEpoch, lastTimestamp: noTimestamp, txnFirstOffset: noOffset}
	p.insert(e)
	return e
}

func (p *ProducerState) insert(e *producerEntry) {
	if p.producers == nil {
		p.producers = make(map[int64]*producerEntry)
	}
	p.inserted++
	e.order = p.inserted
	p.producers[e.id] = e
	p.growTable(e.id)
}

// addOpen puts a transaction among the open ones.
func (p *ProducerState) addOpen(e *producerEntry) {
	i := sort.Search(len(p.open), func(i int) bool { return p.open[i].first >= e.txnFirstOffset })
	p.open = slices.Insert(p.open, i, openTxn{first: e.txnFirstOffset, producer: e.id})
}

// finish takes an ended transaction off the open ones. An aborted one goes to
// the transaction index of the segment that holds the marker.
func (p *ProducerState) finish(t *endedTxn, index *TxnIndex) error {
	var err error
	if t.aborted {
		err = index.append(AbortedTxn{
			ProducerID: t.producer, FirstOffset: t.firstOffset,
			LastOffset: t.lastOffset, LastStableOffset: p.stableWithout(t),
		})
	}
	p.close(t)
	return err
}

// close takes an ended transaction off the open ones; the transaction index knows
// it already.
func (p *ProducerState) close(t *endedTxn) {
	p.open = slices.DeleteFunc(p.open, func(o openTxn) bool { return o.first == t.firstOffset })
}

// stableWithout is the last stable offset once t is gone: where the oldest
// transaction of another producer began, else the offset after the marker.
func (p *ProducerState) stableWithout(t *endedTxn) int64 {
	for _, o := range p.open {
		if o.producer != t.producer {
			return o.first
		}
	}
	return t.lastOffset + 1
}

// firstUnstableOffset is where the oldest open transaction began.
func (p *ProducerState) firstUnstableOffset() (int64, bool) {
	if len(p.open) == 0 {
		return noOffset, false
	}
	return p.open[0].first, true
}

func (p *ProducerState) isEmpty() bool { return len(p.producers) == 0 }

// mapEndOffset is the offset after the last batch that was applied.
func (p *ProducerState) mapEndOffset() int64 { return p.end }

func (p *ProducerState) updateMapEndOffset(offset int64) { p.end = offset }

// expired is by the producer's own timestamps; one with an open transaction
// never is.
func (p *ProducerState) expired(e *producerEntry, now time.Time) bool {
	return !e.inTransaction() && now.UnixMilli()-e.lastTimestamp >= p.expirationMs
}

// removeExpired forgets producers that wrote nothing for the expiration time.
func (p *ProducerState) removeExpired(now time.Time) (removed int) {
	p.expireTried(now)
	for id, e := range p.producers {
		if p.expired(e, now) {
			delete(p.producers, id)
			removed++
		}
	}
	return removed
}

// clear forgets everything but the snapshot files.
func (p *ProducerState) clear() {
	clear(p.producers)
	clear(p.tried)
	p.open = nil
}

// ActiveProducer describes a producer of a partition.
type ActiveProducer struct {
	ProducerID       int64
	ProducerEpoch    int16
	LastSequence     int32 // -1 when no batch is remembered
	LastTimestampMs  int64
	CoordinatorEpoch int32 // -1 before the first marker
	TxnStartOffset   int64 // -1 when no transaction is open
}

// active lists the producers in the order of the snapshot files.
func (p *ProducerState) active() []ActiveProducer {
	list := make([]ActiveProducer, 0, len(p.producers))
	for _, e := range p.ordered() {
		list = append(list, ActiveProducer{
			ProducerID: e.id, ProducerEpoch: e.epoch, LastSequence: e.lastBatch().lastSequence,
			LastTimestampMs: e.lastTimestamp, CoordinatorEpoch: e.coordinatorEpoch, TxnStartOffset: e.txnFirstOffset,
		})
	}
	return list
}

// growTable follows the size of the Java hash map that Kafka keeps producers
// in. It starts with 16 slots and doubles when more than three quarters of
// them would be in use, or when a ninth entry meets in one slot of a table
// below 64. It never shrinks.
func (p *ProducerState) growTable(id int64) {
	p.tableSize = max(p.tableSize, 16)
	if p.tableSize < 64 {
		slot, same := javaBucket(javaLongHash(id), p.tableSize), 0
		for other := range p.producers {
			if javaBucket(javaLongHash(other), p.tableSize) == slot {
				same++
			}
		}
		if same > 8 {
			p.tableSize *= 2
		}
	}
	if len(p.producers) > p.tableSize/4*3 {
		p.tableSize *= 2
	}
}

// ordered lists the producers as that map hands them out: by slot, within a
// slot by insertion.
func (p *ProducerState) ordered() []*producerEntry {
	list := make([]*producerEntry, 0, len(p.producers))
	for _, e := range p.producers {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *producerEntry) int {
		return cmp.Or(
			cmp.Compare(javaBucket(javaLongHash(a.id), p.tableSize), javaBucket(javaLongHash(b.id), p.tableSize)),
			cmp.Compare(a.order, b.order))
	})
	return list
}
