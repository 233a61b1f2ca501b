package logstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"testing"
	"time"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// replayed is what TestReplayGolden makes of a partition's log.
type replayed struct {
	fsys  vfs.FS
	state *ProducerState
}

// replayLog applies segments that Kafka wrote and takes a snapshot at each base
// and at the end, as a broker that rolls does.
func replayLog(t *testing.T, dir string, bases ...int64) replayed {
	t.Helper()
	p, fsys := stateIn(t, nil)
	for _, base := range bases {
		index := openTxnIndex(fsys, "/d/"+segmentFileName(base, txnIndexSuffix), base)
		p.updateMapEndOffset(base)
		_, _, _, err := p.takeSnapshot(true)
		must(t, err)
		for log := golden(t, path.Join(dir, segmentFileName(base, logSuffix))); len(log) > 0; {
			b, rest, err := record.Next(log)
			must(t, err)
			log = rest
			if b.ProducerID() >= 0 {
				ended, err := p.update(b)
				must(t, err)
				if ended != nil {
					must(t, p.finish(ended, index))
				}
			}
			p.updateMapEndOffset(b.NextOffset())
		}
	}
	_, _, _, err := p.takeSnapshot(true)
	must(t, err)
	return replayed{fsys, p}
}

// TestReplayGolden compares snapshots and transaction indexes with Kafka's.
func TestReplayGolden(t *testing.T) {
	for _, c := range []struct {
		dir     string
		bases   []int64
		files   []string
		opened  int64
		entries int
	}{
		{"txn", []int64{0, 14, 30}, []string{
			"00000000000000000014.snapshot", "00000000000000000030.snapshot", "00000000000000000031.snapshot",
			"00000000000000000000.txnindex", "00000000000000000014.txnindex",
		}, 30, 2},
		{"idempotent", []int64{0, 6, 13, 19}, []string{
			"00000000000000000006.snapshot", "00000000000000000013.snapshot", "00000000000000000019.snapshot", "00000000000000000021.snapshot",
		}, -1, 4},
		{"snapshots", []int64{0, 19}, []string{"00000000000000000019.snapshot", "00000000000000000021.snapshot"}, -1, 8},
		{"interleaved", []int64{0, 11}, []string{
			"00000000000000000011.snapshot", "00000000000000000012.snapshot", "00000000000000000000.txnindex",
		}, -1, 4},
	} {
		r := replayLog(t, c.dir, c.bases...)
		for _, name := range c.files {
			got, want := readAll(t, r.fsys, "/d/"+name), golden(t, path.Join(c.dir, name))
			if !bytes.Equal(got, want) {
				t.Errorf("%s/%s:\n got %x\nwant %x", c.dir, name, got, want)
			}
		}
		if at, _ := r.state.firstUnstableOffset(); at != c.opened {
			t.Errorf("%s: first unstable offset is %d, want %d", c.dir, at, c.opened)
		}
		if got := r.state.active(); len(got) != c.entries {
			t.Errorf("%s: %d producers: %+v", c.dir, len(got), got)
		}
	}
}

// TestReloadEqualsReplay: a snapshot and the rest of the log give the state
// that the whole log gives, except for older batches.
func TestReloadEqualsReplay(t *testing.T) {
	r := replayLog(t, "txn", 0, 14, 30)
	for _, end := range []int64{31, 30, 14} {
		p, err := openProducerState(r.fsys, "/d", nil, 1<<62)
		must(t, err)
		must(t, p.truncateAndReload(0, end, time.Now()))
		if end == 31 && !slices.Equal(p.active(), r.state.active()) {
			t.Errorf("got %+v\nwant %+v", p.active(), r.state.active())
		}
		if p.mapEndOffset() != end {
			t.Errorf("state at %d, want %d", p.mapEndOffset(), end)
		}
	}
}

// dataBatch is the header of a batch of count records.
func dataBatch(id int64, epoch int16, sequence, count int32, offset int64, transactional bool) record.Batch {
	b := make(record.Batch, record.HeaderSize)
	binary.BigEndian.PutUint64(b, uint64(offset))
	binary.BigEndian.PutUint32(b[8:], record.HeaderSize-record.LogOverhead)
	b[16] = 2
	if transactional {
		b[22] = 1 << 4
	}
	binary.BigEndian.PutUint32(b[23:], uint32(count-1))
	binary.BigEndian.PutUint64(b[35:], uint64(1000+offset))
	binary.BigEndian.PutUint64(b[43:], uint64(id))
	binary.BigEndian.PutUint16(b[51:], uint16(epoch))
	binary.BigEndian.PutUint32(b[53:], uint32(sequence))
	binary.BigEndian.PutUint32(b[57:], uint32(count))
	return b
}

// markerBatch is a whole end transaction marker of 78 bytes.
func markerBatch(id int64, epoch int16, offset, timestamp int64, commit bool, coordinatorEpoch int32) record.Batch {
	b := dataBatch(id, epoch, -1, 1, offset, true)
	b[22] |= 1 << 5
	binary.BigEndian.PutUint64(b[27:], uint64(timestamp))
	binary.BigEndian.PutUint64(b[35:], uint64(timestamp))
	b = append(b, 0x20, 0, 0, 0, 8, 0, 0, 0, 0, 12, 0, 0)
	if commit {
		b[len(b)-4] = 1
	}
	b = binary.BigEndian.AppendUint32(b, uint32(coordinatorEpoch))
	b = append(b, 0)
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-record.LogOverhead))
	binary.BigEndian.PutUint32(b[17:], 0)
	return b
}

func apply(t *testing.T, p *ProducerState, batches ...record.Batch) {
	t.Helper()
	for _, b := range batches {
		_, err := p.update(b)
		must(t, err)
	}
}

func TestCheckSequences(t *testing.T) {
	p := &ProducerState{}
	for i := range int32(7) { // sequences 0..13, two a batch, offsets 100..113
		apply(t, p, dataBatch(1, 0, 2*i, 2, 100+2*int64(i), false))
	}
	apply(t, p, dataBatch(2, 0, math.MaxInt32-1, 2, 200, false))
	for _, c := range []struct {
		name      string
		b         record.Batch
		want      error
		duplicate int64 // its first offset, -1 for none
	}{
		{"next", dataBatch(1, 0, 14, 1, 0, false), nil, -1},
		{"gap", dataBatch(1, 0, 15, 1, 0, false), ErrOutOfOrderSequence, -1},
		{"newest again", dataBatch(1, 0, 12, 2, 0, false), nil, 112},
		{"fifth newest again", dataBatch(1, 0, 4, 2, 0, false), nil, 104},
		{"older than five", dataBatch(1, 0, 2, 2, 0, false), ErrOutOfOrderSequence, -1},
		{"overlap", dataBatch(1, 0, 13, 2, 0, false), ErrOutOfOrderSequence, -1},
		{"part of an old one", dataBatch(1, 0, 12, 1, 0, false), ErrOutOfOrderSequence, -1},
		{"old epoch", dataBatch(3, -1, 0, 1, 0, false), nil, -1},
		{"new epoch at 0", dataBatch(1, 1, 0, 1, 0, false), nil, -1},
		{"new epoch further on", dataBatch(1, 1, 14, 1, 0, false), ErrOutOfOrderSequence, -1},
		{"unknown producer", dataBatch(9, 3, 77, 1, 0, false), nil, -1},
		{"wrap", dataBatch(2, 0, 0, 1, 0, false), nil, -1},
		{"wrap past 0", dataBatch(2, 0, 1, 1, 0, false), ErrOutOfOrderSequence, -1},
	} {
		dup, err := p.check(c.b, producerCheck{origin: Client})
		at := int64(-1)
		if dup != nil {
			at = dup.firstOffset()
		}
		if !errors.Is(err, c.want) || at != c.duplicate {
			t.Errorf("%s: duplicate of %d, %v", c.name, at, err)
		}
	}
	apply(t, p, dataBatch(1, 5, 0, 1, 300, false))
	if _, err := p.check(dataBatch(1, 4, 1, 1, 0, false), producerCheck{origin: Client}); !errors.Is(err, ErrInvalidProducerEpoch) {
		t.Errorf("old epoch: %v", err)
	}
	if dup, err := p.check(dataBatch(1, 0, 12, 2, 0, false), producerCheck{origin: Client}); dup != nil || !errors.Is(err, ErrInvalidProducerEpoch) {
		t.Errorf("repeat of an old epoch: %v, %v", dup, err)
	}
}

// TestSequenceWrapInsideBatch: a batch may begin before 2^31-1 and end behind 0.
func TestSequenceWrapInsideBatch(t *testing.T) {
	p := &ProducerState{}
	b := dataBatch(1, 0, math.MaxInt32-1, 5, 50, false) // ends with sequence 2
	apply(t, p, b)
	if got := p.producers[1].lastBatch().lastSequence; got != 2 {
		t.Fatalf("last sequence %d", got)
	}
	if dup, err := p.check(b, producerCheck{origin: Client}); err != nil || dup == nil || dup.firstOffset() != 50 {
		t.Errorf("repeat: %v, %v", dup, err)
	}
	if _, err := p.check(dataBatch(1, 0, 3, 1, 55, false), producerCheck{origin: Client}); err != nil {
		t.Errorf("next: %v", err)
	}
}

func TestCheckOrigins(t *testing.T) {
	p := &ProducerState{}
	apply(t, p, dataBatch(1, 3, 10, 1, 0, false))
	for _, origin := range []Origin{Coordinator, Raw} {
		if dup, err := p.check(dataBatch(1, 3, 0, 1, 5, false), producerCheck{origin: origin}); dup != nil || err != nil {
			t.Errorf("origin %d, sequence of its own: %v, %v", origin, dup, err)
		}
	}
	old := dataBatch(1, 2, 0, 1, 5, false)
	if _, err := p.check(old, producerCheck{origin: Coordinator}); !errors.Is(err, ErrInvalidProducerEpoch) {
		t.Errorf("coordinator with an old epoch: %v", err)
	}
	if _, err := p.check(old, producerCheck{origin: Raw}); err != nil {
		t.Errorf("raw with an old epoch: %v", err)
	}
}

func TestProducerTransactions(t *testing.T) {
	p, fsys := stateIn(t, nil)
	index := openTxnIndex(fsys, "/d/x.txnindex", 0)
	apply(t, p, dataBatch(1, 0, 0, 2, 10, true), dataBatch(2, 0, 0, 1, 12, true), dataBatch(1, 0, 2, 1, 13, true))
	if at, ok := p.firstUnstableOffset(); !ok || at != 10 {
		t.Fatalf("first unstable offset %d, %v", at, ok)
	}
	if !p.hasOpenTransaction(1, 0) || p.hasOpenTransaction(1, 1) || p.hasOpenTransaction(7, 0) {
		t.Error("open transactions are not told apart")
	}
	plain := dataBatch(1, 0, 3, 1, 14, false)
	if _, err := p.check(plain, producerCheck{origin: Client}); !errors.Is(err, ErrInvalidTxnState) {
		t.Errorf("plain batch inside a transaction: %v", err)
	}
	ended, err := p.update(markerBatch(1, 0, 14, 5000, false, 7))
	must(t, err)
	if ended == nil || *ended != (endedTxn{producer: 1, firstOffset: 10, lastOffset: 14, aborted: true}) {
		t.Fatalf("ended %+v", ended)
	}
	if at, _ := p.firstUnstableOffset(); at != 10 {
		t.Errorf("moved to %d before finish", at)
	}
	must(t, p.finish(ended, index))
	if at, _ := p.firstUnstableOffset(); at != 12 {
		t.Errorf("first unstable offset %d", at)
	}
	ended, err = p.update(markerBatch(2, 0, 15, 5001, true, 7))
	must(t, err, p.finish(ended, index))
	if at, ok := p.firstUnstableOffset(); ok {
		t.Errorf("still unstable at %d", at)
	}
	// A marker of a transaction without data here ends nothing.
	if ended, err := p.update(markerBatch(3, 0, 16, 5002, false, 7)); ended != nil || err != nil {
		t.Errorf("ended %+v, %v", ended, err)
	}
	got, _, err := index.collect(0, 1000)
	if want := []AbortedTxn{{1, 10, 14, 12}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("index %+v, %v", got, err)
	}
	e := p.producers[1]
	if e.coordinatorEpoch != 7 || e.lastTimestamp != 5000 || e.lastBatch().lastSequence != 2 {
		t.Errorf("producer after its marker: %+v", e)
	}
}

// TestMarkerOfNewEpoch: the end of a version 2 transaction raises the epoch
// and leaves no batches behind.
func TestMarkerOfNewEpoch(t *testing.T) {
	p, fsys := stateIn(t, nil)
	apply(t, p, dataBatch(1, 0, 0, 2, 10, true))
	ended, err := p.update(markerBatch(1, 1, 12, 5000, true, 0))
	must(t, err, p.finish(ended, openTxnIndex(fsys, "/d/x.txnindex", 0)))
	if got := p.active(); len(got) != 1 || got[0] != (ActiveProducer{1, 1, -1, 5000, 0, -1}) {
		t.Errorf("%+v", got)
	}
	for sequence, want := range map[int32]error{0: nil, 2: ErrOutOfOrderSequence} {
		if _, err := p.check(dataBatch(1, 1, sequence, 1, 13, true), producerCheck{origin: Client}); !errors.Is(err, want) {
			t.Errorf("sequence %d: %v", sequence, err)
		}
	}
}

func TestCheckMarkers(t *testing.T) {
	p := &ProducerState{}
	apply(t, p, dataBatch(1, 5, 0, 1, 10, true), markerBatch(1, 5, 11, 1, true, 3), dataBatch(1, 5, 1, 1, 12, true))
	for _, c := range []struct {
		name    string
		epoch   int16
		coord   int32
		version int16
		want    error
	}{
		{"same epoch", 5, 3, 0, nil},
		{"old epoch", 4, 3, 0, ErrInvalidProducerEpoch},
		{"new epoch", 6, 3, 2, nil},
		{"same epoch, version 2", 5, 3, 2, ErrInvalidProducerEpoch},
		{"old coordinator", 6, 2, 2, ErrCoordinatorFenced},
		{"new coordinator", 6, 4, 2, nil},
	} {
		b := markerBatch(1, c.epoch, 13, 1, true, c.coord)
		if _, err := p.check(b, producerCheck{origin: Coordinator, transactionVersion: c.version}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	apply(t, p, markerBatch(1, 6, 13, 1, true, 3))
	again := markerBatch(1, 6, 14, 1, true, 3)
	if _, err := p.check(again, producerCheck{origin: Coordinator, transactionVersion: 2}); err != nil {
		t.Errorf("a marker sent again: %v", err)
	}
}

func TestCheckUnverified(t *testing.T) {
	p := &ProducerState{}
	unverified := producerCheck{origin: Client, unverified: true}
	b := dataBatch(1, 0, 0, 1, 10, true)
	if _, err := p.check(b, unverified); !errors.Is(err, ErrInvalidTxnState) {
		t.Errorf("first batch of a transaction: %v", err)
	}
	apply(t, p, b)
	if _, err := p.check(dataBatch(1, 0, 1, 1, 11, true), unverified); err != nil {
		t.Errorf("second batch: %v", err)
	}
	if _, err := p.check(dataBatch(1, -1, 1, 1, 11, true), unverified); !errors.Is(err, ErrInvalidProducerEpoch) {
		t.Errorf("old epoch: %v", err)
	}
	v2 := producerCheck{origin: Client, transactionVersion: 2}
	if _, err := p.check(dataBatch(8, 0, 4, 1, 11, true), v2); !errors.Is(err, ErrOutOfOrderSequence) {
		t.Errorf("version 2 begins at 4: %v", err)
	}
}

func TestRemoveExpired(t *testing.T) {
	p := &ProducerState{expirationMs: 100}
	apply(t, p, dataBatch(1, 0, 0, 1, 0, false), dataBatch(2, 0, 0, 1, 50, false), dataBatch(3, 0, 0, 1, 0, true))
	if n := p.removeExpired(time.UnixMilli(1099)); n != 0 {
		t.Errorf("%d removed too early", n)
	}
	if n := p.removeExpired(time.UnixMilli(1100)); n != 1 || p.producers[1] != nil {
		t.Errorf("%d removed", n)
	}
	if n := p.removeExpired(time.UnixMilli(9999)); n != 1 || p.producers[3] == nil {
		t.Errorf("%d removed, or one with an open transaction", n)
	}
}

// TestManyProducers: the state of ten thousand producers goes through a file.
func TestManyProducers(t *testing.T) {
	p, fsys := stateIn(t, nil)
	for i := range int64(10_000) {
		apply(t, p, dataBatch(i*7, 0, 0, 1, i, i%3 == 0))
	}
	p.updateMapEndOffset(10_000)
	_, count, _, err := p.takeSnapshot(true)
	must(t, err)
	again, err := openProducerState(fsys, "/d", nil, 1<<62)
	must(t, err, again.truncateAndReload(0, 10_000, time.Now()))
	if count != 10_000 || !slices.Equal(again.active(), p.active()) {
		t.Error("the state changed on its way through the file")
	}
	if a, b := fmt.Sprint(again.open), fmt.Sprint(p.open); a != b {
		t.Errorf("open transactions:\n got %.200s\nwant %.200s", a, b)
	}
}
