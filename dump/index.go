package dump

import (
	"fmt"
	"path/filepath"
	"strings"

	"minibroker/logstore"
	"minibroker/record"
)

// offsetIndex shows the entries of an offset index up to the first slot that was never filled, and holds them against the log. Of
// an index without entries Kafka's tool shows the first empty slot, and so does the text.
func (d *Dumper) offsetIndex(path string) error {
	base, _, _ := logstore.SegmentBase(path)
	batches, err := d.siblingLog(path)
	if err != nil {
		return err
	}
	n := 0
	var written error
	err = logstore.EachOffsetEntry(d.fs, path, func(offset, position int64) bool {
		if offset == base && n > 0 {
			return false // never filled
		}
		n++
		if unfilled := offset == base && position == 0; unfilled {
			if d.o.JSON {
				return false
			}
		} else if b, known := batches.at(position); batches != nil && (!known || b.last != offset) {
			d.wrong.add("Mismatches in :"+path, fmt.Sprintf("Index offset: %d, log offset: %d", offset, b.last))
		}
		l := &d.line
		l.begin(path, "offset-index-entry")
		l.num("offset", offset)
		l.num("position", position)
		written = d.emit()
		return written == nil
	})
	if n == 0 && err == nil {
		d.say("%s is empty.", path)
	}
	if written != nil {
		return written
	}
	return err
}

// timeIndex shows the entries of a time index up to the first slot that was never filled, and holds them against the log.
func (d *Dumper) timeIndex(path string) error {
	base, _, _ := logstore.SegmentBase(path)
	batches, err := d.siblingLog(path)
	if err != nil {
		return err
	}
	n, before := 0, int64(-1)
	var written error
	err = logstore.EachTimeEntry(d.fs, path, func(timestamp, offset int64) bool {
		if offset == base && n > 0 {
			return false // never filled
		}
		n++
		if unfilled := offset == base && timestamp == 0; unfilled {
			if d.o.JSON {
				return false
			}
		} else if batches != nil {
			d.holdTime(path, batches, timestamp, offset, before)
		}
		before = timestamp
		l := &d.line
		l.begin(path, "time-index-entry")
		l.num("timestamp", timestamp)
		l.num("offset", offset)
		written = d.emit()
		return written == nil
	})
	if written != nil {
		return written
	}
	return err
}

// holdTime complains when an entry is not about the batch that it names.
func (d *Dumper) holdTime(path string, batches batchList, timestamp, offset, before int64) {
	b, known := batches.ending(offset)
	switch {
	case !known || b.last != offset:
		d.wrong.add("The following indexed offsets are not found in the log.", fmt.Sprintf("%s: Indexed offset: %d, found log offset: %d", path, offset, b.last))
	case b.timestamp != timestamp:
		d.wrong.add("Found timestamp mismatch in :"+path, fmt.Sprintf("Index timestamp: %d, log timestamp: %d", timestamp, b.timestamp))
	}
	if known && b.last == offset && before >= timestamp {
		d.wrong.add("Found out of order timestamp in :"+path, fmt.Sprintf("Index timestamp: %d, Previously indexed timestamp: %d", timestamp, before))
	}
}

// batchPlace is what indexes say of a batch.
type batchPlace struct{ position, last, timestamp int64 }

// batchList is the batches of a log in their order.
type batchList []batchPlace

// at finds the batch that begins at a position; its last offset is -1 when there is none.
func (l batchList) at(position int64) (batchPlace, bool) {
	low, high := 0, len(l)
	for low < high {
		if mid := (low + high) / 2; l[mid].position < position {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low == len(l) || l[low].position != position {
		return batchPlace{last: -1}, false
	}
	return l[low], true
}

// ending finds the first batch that ends at an offset or behind it.
func (l batchList) ending(offset int64) (batchPlace, bool) {
	for _, b := range l {
		if b.last >= offset {
			return b, true
		}
	}
	return batchPlace{last: -1}, false
}

// siblingLog lists the batches of the log that an index belongs to; nil when it is not there.
func (d *Dumper) siblingLog(path string) (batchList, error) {
	dir, name := filepath.Split(path)
	digits, suffix, _ := strings.Cut(name, ".")
	_, renamed, _ := strings.Cut(suffix, ".") // deleted, cleaned, swap
	log := dir + digits + ".log"
	if renamed != "" {
		log += "." + renamed
	}
	if _, err := d.fs.Stat(log); err != nil {
		d.wrong.note("No log to hold the index against:", path)
		return nil, nil
	}
	s := segment{Dumper: d, path: log}
	batches := batchList{}
	_, err := s.walk(0, func(at int64, b record.Batch) error {
		if readable(b) {
			batches = append(batches, batchPlace{position: at, last: b.LastOffset(), timestamp: b.MaxTimestamp()})
		}
		return nil
	})
	return batches, err
}

// txnIndex shows the aborted transactions of a segment.
func (d *Dumper) txnIndex(path string) error {
	var written error
	err := logstore.EachAborted(d.fs, path, func(t logstore.AbortedTxn) {
		if written != nil {
			return
		}
		l := &d.line
		l.begin(path, "aborted-transaction")
		l.num("version", 0)
		l.num("producerId", t.ProducerID)
		l.num("firstOffset", t.FirstOffset)
		l.num("lastOffset", t.LastOffset)
		l.num("lastStableOffset", t.LastStableOffset)
		written = d.emit()
	})
	if written != nil {
		return written
	}
	return err
}
