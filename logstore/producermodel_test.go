package logstore

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// producerModel is what a log must know of its producers, kept beside it in the
// plainest way while batches, repeats, gaps and markers come at random and the log
// is stopped and killed.
type producerModel struct {
	t       *testing.T
	rand    *rand.Rand
	mem     *vfs.Mem
	l       *Log
	all     map[int64]*modelProducer
	aborted []AbortedTxn
	did     map[string]int
}

type modelProducer struct {
	epoch   int16
	batches []modelBatch // the last five, oldest first
	sure    int          // how many of them the log must recognise: after a start the newest
	open    int64        // first offset of the open transaction, -1 for none
}

type modelBatch struct {
	first, last int32
	offset      int64
}

func TestProducerModel(t *testing.T) {
	total := map[string]int{}
	for seed := range uint64(25) {
		m := &producerModel{t: t, rand: rand.New(rand.NewPCG(seed, 2)), mem: vfs.NewMem(), all: map[int64]*modelProducer{}, did: total}
		m.start(false)
		for range 250 {
			m.step()
			if m.check(); t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		if err := m.l.Close(); err != nil {
			t.Fatal(err)
		}
		m.l.env.background.Wait()
	}
	t.Logf("%v", total)
	for _, what := range []string{"appended", "duplicate", "gap", "old epoch", "inside", "marker", "old marker", "stop", "kill"} {
		if total[what] < 20 {
			t.Errorf("%s came %d times", what, total[what])
		}
	}
}

func (m *producerModel) start(clean bool) {
	cfg := DefaultConfig()
	cfg.SegmentBytes, cfg.IndexBytes, cfg.IndexIntervalBytes, cfg.RetentionMs = 1500, 1200, 256, -1
	o := LogOptions{FS: m.mem, Dir: "/data/t-0", Config: cfg, Clean: clean}
	if m.l != nil {
		o.RecoveryPoint = m.l.RecoveryPoint()
	}
	l, err := OpenLog(o)
	if err != nil {
		m.t.Fatal(err)
	}
	m.l = l
}

func (m *producerModel) step() {
	id := int64(1 + m.rand.IntN(4))
	p := m.all[id]
	switch m.rand.IntN(40) {
	case 0:
		m.did["stop"]++
		if err := m.l.Close(); err != nil {
			m.t.Fatal(err)
		}
		m.l.env.background.Wait()
		m.restarted(true)
	case 1:
		m.did["kill"]++
		m.l.env.background.Wait()
		m.mem = m.mem.CrashClone(vfs.KeepAll)
		m.restarted(false)
	case 2, 3, 4, 5, 6, 7:
		epoch := int16(m.rand.IntN(3))
		if p != nil {
			epoch = p.epoch + int16(m.rand.IntN(4)/2) - int16(m.rand.IntN(5)/4)
		}
		m.marker(id, max(epoch, 0), m.rand.IntN(2) == 0)
	default:
		m.append(id, p)
	}
}

func (m *producerModel) restarted(clean bool) {
	m.start(clean)
	for _, p := range m.all {
		p.sure = min(1, len(p.batches))
	}
}

// append writes a batch that fits, or one of many kinds that do not.
func (m *producerModel) append(id int64, p *modelProducer) {
	epoch, first, count := int16(0), int32(m.rand.IntN(2)), int32(1+m.rand.IntN(3))
	transactional := m.rand.IntN(3) > 0
	if p != nil {
		epoch, first = p.epoch, 0
		if n := len(p.batches); n > 0 {
			first = p.batches[n-1].last + 1
		}
		if p.open >= 0 && m.rand.IntN(10) > 0 {
			transactional = true
		}
		switch m.rand.IntN(12) {
		case 0:
			first += int32(1 + m.rand.IntN(5))
		case 1, 2, 3:
			if n := len(p.batches); n > 0 {
				again := p.batches[m.rand.IntN(n)]
				first, count = again.first, again.last-again.first+1
			}
		case 4:
			epoch++
			first = int32(m.rand.IntN(2))
		case 5:
			epoch = max(0, epoch-1)
		case 6:
			first = max(0, first-1)
		}
	}
	batch := record.NewBuilder(record.BuilderOptions{Transactional: transactional, Producer: &record.Producer{ID: id, Epoch: epoch, BaseSequence: first}})
	for n := range count {
		if err := batch.Append(record.Record{Timestamp: time.Now().UnixMilli(), Value: fmt.Appendf(nil, "%020d", n)}); err != nil {
			m.t.Fatal(err)
		}
	}
	set, err := batch.Build()
	if err != nil {
		m.t.Fatal(err)
	}
	at := m.l.EndOffset()
	info, err := m.l.Append(set, AppendOptions{})
	what := fmt.Sprintf("producer %d, epoch %d, sequences %d to %d, transactional %v, after %+v", id, epoch, first, first+count-1, transactional, p)
	m.judge(what, p, epoch, first, count, transactional, info, err)
	if err != nil || info.Duplicate {
		if m.l.EndOffset() != at {
			m.t.Errorf("%s: the log grew", what)
		}
		return
	}
	m.did["appended"]++
	p = m.entry(id, epoch)
	p.batches = append(p.batches, modelBatch{first, first + count - 1, at})
	p.sure = min(p.sure+1, 5)
	if len(p.batches) > 5 {
		p.batches = p.batches[1:]
	}
	if transactional && p.open < 0 {
		p.open = at
	}
}

// judge compares the answer to an append with what the model says of it.
func (m *producerModel) judge(what string, p *modelProducer, epoch int16, first, count int32, transactional bool, info AppendInfo, err error) {
	m.t.Helper()
	if p != nil && p.epoch == epoch {
		for n, b := range p.batches {
			if b.first != first || b.last != first+count-1 {
				continue
			}
			m.did["duplicate"]++
			sure := n >= len(p.batches)-p.sure
			if recognised := err == nil && info.Duplicate && info.FirstOffset == b.offset; !recognised && (sure || !errors.Is(err, ErrOutOfOrderSequence)) {
				m.t.Errorf("%s: a repeat of the batch at %d: %+v, %v", what, b.offset, info, err)
			}
			return
		}
	}
	last := int32(-1)
	if p != nil && p.epoch == epoch && len(p.batches) > 0 {
		last = p.batches[len(p.batches)-1].last
	}
	var want error
	switch {
	case p == nil: // any sequence will do
	case epoch < p.epoch:
		m.did["old epoch"]++
		want = ErrInvalidProducerEpoch
	case first != last+1:
		m.did["gap"]++
		want = ErrOutOfOrderSequence
	case p.open >= 0 && !transactional:
		m.did["inside"]++
		want = ErrInvalidTxnState
	}
	if !errors.Is(err, want) || err == nil && info.Duplicate {
		m.t.Errorf("%s: %+v, %v; want %v", what, info, err, want)
	}
}

// entry is the producer's entry in an epoch.
func (m *producerModel) entry(id int64, epoch int16) *modelProducer {
	p := m.all[id]
	if p == nil {
		p = &modelProducer{epoch: epoch, open: -1}
		m.all[id] = p
	}
	if p.epoch != epoch {
		p.epoch, p.batches, p.sure = epoch, nil, 0
	}
	return p
}

func (m *producerModel) marker(id int64, epoch int16, commit bool) {
	at := m.l.EndOffset()
	_, err := m.l.Append(record.BuildMarker(record.MarkerOptions{ProducerID: id, ProducerEpoch: epoch, TimestampMs: time.Now().UnixMilli(),
		Marker: record.Marker{Commit: commit}}), AppendOptions{Origin: Coordinator})
	if p := m.all[id]; p != nil && epoch < p.epoch {
		m.did["old marker"]++
		if !errors.Is(err, ErrInvalidProducerEpoch) {
			m.t.Errorf("marker of producer %d, epoch %d after %+v: %v", id, epoch, p, err)
		}
		return
	}
	if err != nil {
		m.t.Errorf("marker of producer %d, epoch %d: %v", id, epoch, err)
		return
	}
	m.did["marker"]++
	p := m.entry(id, epoch)
	if p.open >= 0 && !commit {
		stable := at + 1
		for other, q := range m.all {
			if other != id && q.open >= 0 {
				stable = min(stable, q.open)
			}
		}
		m.aborted = append(m.aborted, AbortedTxn{ProducerID: id, FirstOffset: p.open, LastOffset: at, LastStableOffset: stable})
	}
	p.open = -1
}

// check compares all that the log shows of its producers.
func (m *producerModel) check() {
	m.t.Helper()
	active := m.l.ActiveProducers()
	if len(active) != len(m.all) {
		m.t.Errorf("%d producers, want %d", len(active), len(m.all))
	}
	unstable := int64(math.MaxInt64)
	for _, a := range active {
		p := m.all[a.ProducerID]
		last := int32(-1)
		if p != nil && len(p.batches) > 0 {
			last = p.batches[len(p.batches)-1].last
		}
		if p == nil || a.ProducerEpoch != p.epoch || a.LastSequence != last || a.TxnStartOffset != p.open {
			m.t.Errorf("%+v, want %+v", a, p)
			continue
		}
		if p.open >= 0 {
			unstable = min(unstable, p.open)
		}
	}
	if at, open := m.l.FirstUnstableOffset(); open != (unstable < math.MaxInt64) || open && at != unstable {
		m.t.Errorf("first unstable offset %d, %v, want %d", at, open, unstable)
	}
	if m.l.EndOffset() == 0 {
		return
	}
	var aborted []AbortedTxn
	for _, s := range *m.l.segments.Load() {
		found, _, err := s.aborted.collect(0, math.MaxInt64)
		if err != nil {
			m.t.Error(err)
		}
		aborted = append(aborted, found...)
	}
	if !slices.Equal(aborted, m.aborted) {
		m.t.Errorf("aborted %+v, want %+v", aborted, m.aborted)
	}
}
