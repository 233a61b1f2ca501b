package cleaner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/record"
)

// model is what must be readable of a log: the newest value of each key, of
// what was not aborted.
type model struct {
	t      *testing.T
	n      *node
	rng    *rand.Rand
	topic  string
	ops    int
	values map[string]valueAt
	open   map[int64]*openTxn // by producer
	epochs map[int64]int16
	seqs   map[int64]int32
}

type valueAt struct {
	offset int64
	value  string // "" is a tombstone
}

// openTxn is a transaction that is not decided yet.
type openTxn struct{ writes map[string]valueAt }

func newModel(t *testing.T, seed uint64, cfg logstore.Config) *model {
	m := &model{t: t, rng: rand.New(rand.NewPCG(seed, 7)), topic: "m", values: map[string]valueAt{},
		open: map[int64]*openTxn{}, epochs: map[int64]int16{}, seqs: map[int64]int32{}}
	m.n = &node{t: t, fs: vfs.NewMem(), dir: "/data", settings: testSettings(), config: func(string) logstore.Config { return cfg }}
	must(t, m.n.fs.MkdirAll("/data", 0o755))
	must(t, m.n.fs.SyncDir("/"))
	m.n.open()
	log, err := m.n.store.Create(logstore.TopicPartition{Topic: m.topic}, logstore.NewUUID(), nil, cfg)
	must(t, err)
	must(t, log.AssignEpoch(0))
	return m
}

// modelConfig makes small segments and no patience.
func modelConfig() logstore.Config {
	cfg := logstore.DefaultConfig()
	cfg.Compact, cfg.Delete, cfg.MinCleanableRatio = true, false, 0
	cfg.SegmentBytes, cfg.IndexIntervalBytes, cfg.IndexBytes = 16<<10, 512, 4096
	cfg.DeleteRetentionMs, cfg.FileDeleteDelayMs = 0, 0
	return cfg
}

// write appends one batch of random records, plain, idempotent or of a
// transaction.
func (m *model) write() {
	producer := int64(-1)
	if m.rng.IntN(2) == 0 {
		producer = m.rng.Int64N(6)
	}
	transactional := producer >= 3
	o := record.BuilderOptions{Codec: record.Codec(max(0, m.rng.IntN(12)-7)), Transactional: transactional}
	n := 1 + m.rng.IntN(20)
	if producer >= 0 {
		o.Producer = &record.Producer{ID: producer, Epoch: m.epochs[producer], BaseSequence: m.seqs[producer]}
		m.seqs[producer] += int32(n)
	}
	b := record.NewBuilder(o)
	first := m.n.log(m.topic).EndOffset()
	now := time.Now().UnixMilli()
	writes := map[string]valueAt{}
	for i := range n {
		m.ops++
		key, value := fmt.Sprintf("key-%d", m.rng.IntN(400)), valueAt{offset: first + int64(i)}
		r := record.Record{Key: []byte(key), Timestamp: now - m.rng.Int64N(1000)}
		if m.rng.IntN(10) > 0 {
			value.value = fmt.Sprintf("%s at %d %x", key, value.offset, m.rng.Uint64())
			r.Value = []byte(value.value)
		}
		if m.rng.IntN(20) == 0 {
			r.Headers = []record.RecordHeader{{Key: []byte("h"), Value: []byte("v")}}
		}
		must(m.t, b.Append(r))
		writes[key] = value
	}
	batch, err := b.Build()
	must(m.t, err)
	_, err = m.n.log(m.topic).Append(batch, logstore.AppendOptions{})
	must(m.t, err)
	if !transactional {
		m.apply(writes)
		return
	}
	if m.open[producer] == nil {
		m.open[producer] = &openTxn{writes: map[string]valueAt{}}
	}
	maps.Copy(m.open[producer].writes, writes)
}

func (m *model) apply(writes map[string]valueAt) {
	for key, v := range writes {
		if have, ok := m.values[key]; !ok || have.offset < v.offset {
			m.values[key] = v
		}
	}
}

// decide ends one open transaction.
func (m *model) decide() {
	for _, producer := range slices.Sorted(maps.Keys(m.open)) {
		m.end(producer, m.rng.IntN(2) == 0)
		return
	}
}

func (m *model) end(producer int64, commit bool) {
	version := int16(0)
	if m.rng.IntN(2) == 0 { // the producer raises its epoch with each transaction
		version = 2
		m.epochs[producer]++
		m.seqs[producer] = 0
	}
	marker := record.BuildMarker(record.MarkerOptions{TimestampMs: time.Now().UnixMilli(), ProducerID: producer,
		ProducerEpoch: m.epochs[producer], Marker: record.Marker{Commit: commit}})
	_, err := m.n.log(m.topic).Append(marker, logstore.AppendOptions{Origin: logstore.Coordinator, TransactionVersion: version})
	must(m.t, err)
	if commit {
		m.apply(m.open[producer].writes)
	}
	delete(m.open, producer)
}

// clean lets the cleaner work until nothing is left to do.
func (m *model) clean() {
	for m.n.cleaner.Round(context.Background()) {
	}
	_, err := m.n.store.RemoveDue(time.Now())
	must(m.t, err)
}

// crashWhileCleaning cuts the power, or the process, somewhere in a pass, and
// starts again on what is left.
func (m *model) crashWhileCleaning() {
	// What was appended is durable, so that only the pass can lose something.
	must(m.t, m.n.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
	m.n.open()
	mem := m.n.fs.(*vfs.Mem)
	model := vfs.CrashModel(m.rng.IntN(2))
	at, left := mem.Ops()+1+m.rng.Int64N(60), (*vfs.Mem)(nil)
	mem.SetHook(func(op vfs.Op) error {
		if op.N >= at {
			if left == nil {
				left = mem.CrashClone(model)
			}
			return errCrashed
		}
		return nil
	})
	m.n.cleaner.Round(context.Background())
	mem.SetHook(nil)
	_ = m.n.store.Abort() // the log may have failed
	if left != nil {
		m.n.fs = left
	} else {
		m.n.fs = mem.CrashClone(model)
	}
	m.n.open()
}

var errCrashed = errors.New("crashed")

// check ends all transactions and compares what can be read with the model.
func (m *model) check(when string) {
	for len(m.open) > 0 {
		m.decide()
	}
	if err := compareValues(m.values, readCommitted(m.t, m.n.log(m.topic))); err != nil {
		m.t.Fatalf("%s, after %d operations: %v", when, m.ops, err)
	}
}

func compareValues(want map[string]valueAt, got map[string]valueAt) error {
	for key, w := range want {
		if g := got[key]; g != w && (w.value != "" || g.value != "") {
			return fmt.Errorf("%s is %+v, want %+v", key, g, w)
		}
	}
	for key, g := range got {
		if _, ok := want[key]; !ok && g.value != "" {
			return fmt.Errorf("%s is %+v, it was never written", key, g)
		}
	}
	return nil
}

// readCommitted reads a log from its start as a consumer of committed records
// does, checks that offsets only rise, and returns the newest value of each
// key.
func readCommitted(t testing.TB, log *logstore.Log) map[string]valueAt {
	t.Helper()
	values := map[string]valueAt{}
	aborted, err := log.AbortedTransactions(log.StartOffset(), log.EndOffset())
	must(t, err)
	skipping := map[int64]bool{}
	last := int64(-1)
	eachBatch(t, log, func(b record.Batch) {
		if b.BaseOffset() <= last || !b.ChecksumOK() {
			t.Fatalf("batch %d-%d after offset %d, checksum good: %t", b.BaseOffset(), b.LastOffset(), last, b.ChecksumOK())
		}
		for len(aborted) > 0 && firstOf(aborted) <= b.LastOffset() {
			skipping[takeFirst(&aborted)] = true
		}
		before := last
		last = b.LastOffset()
		if b.IsControl() {
			if marker, err := b.Marker(); err == nil && !marker.Commit {
				delete(skipping, b.ProducerID())
			}
			return
		}
		if b.IsTransactional() && skipping[b.ProducerID()] {
			return
		}
		must(t, b.ForEach(0, func(r *record.Record) error {
			if r.Offset <= before || r.Offset > last {
				t.Fatalf("record %d in batch %d-%d", r.Offset, b.BaseOffset(), b.LastOffset())
			}
			before = r.Offset
			values[string(r.Key)] = valueAt{offset: r.Offset, value: string(r.Value)}
			return nil
		}))
	})
	return values
}

// firstOf is the smallest first offset of the list.
func firstOf(list []logstore.AbortedTxn) int64 {
	return slices.MinFunc(list, func(a, b logstore.AbortedTxn) int { return int(a.FirstOffset - b.FirstOffset) }).FirstOffset
}

// takeFirst takes the transaction that began first and names its producer.
func takeFirst(list *[]logstore.AbortedTxn) int64 {
	first := firstOf(*list)
	i := slices.IndexFunc(*list, func(a logstore.AbortedTxn) bool { return a.FirstOffset == first })
	producer := (*list)[i].ProducerID
	*list = slices.Delete(slices.Clone(*list), i, i+1)
	return producer
}

// eachBatch reads a log from its start to its end.
func eachBatch(t testing.TB, log *logstore.Log, fn func(record.Batch)) {
	t.Helper()
	for offset := log.StartOffset(); offset < log.EndOffset(); {
		info, err := log.Read(offset, 1<<20, logstore.ReadOptions{UpperBound: log.EndOffset(), MinOneMessage: true})
		must(t, err)
		if info.Records == nil {
			return // emptied up to the end
		}
		data := make([]byte, info.Records.Len())
		_, err = info.Records.ReadAt(data, 0)
		must(t, err)
		info.Records.Release()
		for len(data) > 0 {
			b, rest, err := record.Next(data)
			must(t, err)
			fn(b)
			offset, data = b.NextOffset(), rest
		}
	}
}

// TestModel does a million random operations, with passes and crashes within
// passes in between.
func TestModel(t *testing.T) {
	total := 1_000_000
	if testing.Short() || raceEnabled {
		total = 40_000
	}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			m := newModel(t, seed, modelConfig())
			passes, crashes := 0, 0
			for m.ops < total/4 {
				switch n := m.rng.IntN(400); {
				case n < 40:
					m.decide()
				case n == 40:
					m.clean()
					passes++
					m.check("after a pass")
				case n == 41:
					m.crashWhileCleaning()
					crashes++
					m.check("after a crash")
				default:
					m.write()
				}
			}
			m.clean()
			m.check("at the end")
			t.Logf("%d operations, %d passes, %d crashes, %d bytes left", m.ops, passes, crashes, m.n.log(m.topic).Size())
			must(t, m.n.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
			found, err := logstore.Verify(m.n.fs, m.n.dir)
			must(t, err)
			for _, f := range found {
				t.Error(f)
			}
		})
	}
}
