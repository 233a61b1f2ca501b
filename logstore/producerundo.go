package logstore

import (
	"slices"

	"minibroker/record"
)

// producerUndo is what a ProducerState was before the batches of one append.
type producerUndo struct {
	entries   map[int64]*producerEntry // copies; nil for a producer that was unknown
	open      []openTxn
	end       int64
	inserted  uint64
	tableSize int
}

// undoFor remembers what the batches of set are about to change, if one of them
// can fail to be applied: the end of an aborted transaction goes to a file. nil
// for all other sets, which is what costs nothing.
func (p *ProducerState) undoFor(set []byte) *producerUndo {
	markers := false
	for rest := set; len(rest) > 0; rest = rest[record.Batch(rest).Size():] {
		markers = markers || record.Batch(rest).IsControl()
	}
	if !markers {
		return nil
	}
	u := &producerUndo{entries: make(map[int64]*producerEntry), open: slices.Clone(p.open), end: p.end, inserted: p.inserted, tableSize: p.tableSize}
	for rest := set; len(rest) > 0; rest = rest[record.Batch(rest).Size():] {
		id := record.Batch(rest).ProducerID()
		if e := p.producers[id]; e != nil {
			was := *e
			u.entries[id] = &was
		} else {
			u.entries[id] = nil
		}
	}
	return u
}

// undo goes back. u may be nil: then nothing has changed.
func (p *ProducerState) undo(u *producerUndo) {
	if u == nil {
		return
	}
	for id, was := range u.entries {
		if was == nil {
			delete(p.producers, id)
		} else {
			p.producers[id] = was
		}
	}
	p.open, p.end, p.inserted, p.tableSize = u.open, u.end, u.inserted, u.tableSize
}
