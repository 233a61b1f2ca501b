package cleaner

import (
	"container/heap"
	"encoding/binary"
	"errors"

	"minibroker/logstore"
	"minibroker/record"
)

// transactions follows the transactions of a log while its batches go by in
// order, and tells which batches have no effect any more. Aborted transactions
// are known beforehand from the transaction indexes.
type transactions struct {
	known     abortedHeap         // by first offset, not reached yet
	aborted   map[int64]*abortion // by producer, begun and not ended
	committed map[int64]bool      // producers with data since their last marker
	keep      func(logstore.AbortedTxn) error
}

// abortion is an aborted transaction between its first batch and its marker.
type abortion struct {
	txn  logstore.AbortedTxn
	seen bool // a data batch of it went by
}

// newTransactions starts before the first batch. keep is given each aborted
// transaction whose marker has to stay; nil for nobody.
func newTransactions(keep func(logstore.AbortedTxn) error) *transactions {
	return &transactions{aborted: make(map[int64]*abortion), committed: make(map[int64]bool), keep: keep}
}

// add makes aborted transactions known. One may come twice, from the segments
// it stretches over.
func (t *transactions) add(list []logstore.AbortedTxn) {
	for _, txn := range list {
		heap.Push(&t.known, txn)
	}
}

// discardable reports whether nobody needs b any more: data of an aborted
// transaction, a marker whose transaction has no data left, an emptied control
// batch. It must be asked about every batch in order.
func (t *transactions) discardable(b record.Batch) (bool, error) {
	for len(t.known) > 0 && t.known[0].FirstOffset <= b.LastOffset() {
		txn := heap.Pop(&t.known).(logstore.AbortedTxn)
		if t.aborted[txn.ProducerID] == nil {
			t.aborted[txn.ProducerID] = &abortion{txn: txn}
		}
	}
	if b.IsControl() {
		return t.marker(b)
	}
	if !b.IsTransactional() {
		return false, nil
	}
	if a := t.aborted[b.ProducerID()]; a != nil {
		a.seen = true
		return true, nil
	}
	t.committed[b.ProducerID()] = true
	return false, nil
}

func (t *transactions) marker(b record.Batch) (bool, error) {
	kind, err := controlKind(b)
	if err != nil {
		return false, err
	}
	id := b.ProducerID()
	switch kind {
	case kindEmptied:
		return true, nil
	case kindAbort:
		a := t.aborted[id]
		delete(t.aborted, id)
		if a == nil || !a.seen {
			return true, nil
		}
		if t.keep != nil {
			return false, t.keep(a.txn)
		}
		return false, nil
	case kindCommit:
		seen := t.committed[id]
		delete(t.committed, id)
		return !seen, nil
	}
	return false, nil
}

// The kinds of control batches. Those of the log itself are never discarded.
const (
	kindAbort   = 0
	kindCommit  = 1
	kindOther   = 2
	kindEmptied = -1
)

var errControlKey = errors.New("control record without a type")

func controlKind(b record.Batch) (int, error) {
	if b.Count() == 0 {
		return kindEmptied, nil
	}
	kind, first := kindOther, true
	err := b.ForEach(0, func(r *record.Record) error {
		if !first {
			return nil
		}
		first = false
		if len(r.Key) < 4 {
			return errControlKey
		}
		kind = min(int(binary.BigEndian.Uint16(r.Key[2:])), kindOther)
		return nil
	})
	return kind, err
}

// abortedHeap has the transaction that began first on top.
type abortedHeap []logstore.AbortedTxn

func (h abortedHeap) Len() int           { return len(h) }
func (h abortedHeap) Less(i, j int) bool { return h[i].FirstOffset < h[j].FirstOffset }
func (h abortedHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *abortedHeap) Push(x any)        { *h = append(*h, x.(logstore.AbortedTxn)) }
func (h *abortedHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
