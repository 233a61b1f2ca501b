package cleaner

import (
	"bytes"
	"context"
	"encoding/binary"
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

// TestVerdictsChangeNothing: a pass that knows from its first part which
// records go leaves the same files as one that looks every key up, also when
// its verdicts cover a part of the log only, when the map fills up inside a
// batch, and when batches are larger than the read buffer.
func TestVerdictsChangeNothing(t *testing.T) {
	seen := map[verdict]int{}
	for seed := range uint64(24) {
		cfg := modelConfig()
		cfg.SegmentBytes = 256 << 10
		m := newModel(t, seed, cfg)
		m.n.settings.IOBufferBytes = 8 << 10
		m.n.settings.DedupeBufferBytes = 24 * (60 + 60*m.rng.Int64N(12))
		now := time.Now().UnixMilli()
		setCompact(m.n.log("m"), false)
		for round := range int64(3) {
			for range 400 {
				m.writeAny()
				if m.rng.IntN(6) == 0 {
					m.decide()
				}
			}
			must(t, m.n.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
			other := *m.n
			other.fs = m.n.fs.(*vfs.Mem).CrashClone(vfs.KeepAll)
			other.open()
			m.n.open()
			width := []int64{1 << 40, 0, 100, 700}[m.rng.IntN(4)]
			now += 60_000 * round
			want, got := cleanOnce(t, &other, now, 0, map[verdict]int{}), cleanOnce(t, m.n, now, width, seen)
			if err := sameFiles(want, got); err != nil {
				t.Fatalf("seed %d, round %d, verdicts for %d offsets: %v", seed, round, width, err)
			}
			must(t, other.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
		}
		must(t, m.n.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
	}
	t.Logf("verdicts: %v", seen)
	for _, v := range []verdict{lookUp, mixed, allStay, allLeave} {
		if seen[v] == 0 {
			t.Errorf("no batch had verdict %d", v)
		}
	}
}

// writeAny is model.write or a batch of other sorts: large, of keys that come
// again soon, or with records without keys, as a topic has that was not always
// compacted.
func (m *model) writeAny() {
	kind := m.rng.IntN(4)
	if kind > 2 {
		m.write()
		return
	}
	b := record.NewBuilder(record.BuilderOptions{Codec: record.Codec(max(0, m.rng.IntN(12)-7))})
	size := 10
	if kind == 0 {
		size = 1 << (6 + m.rng.IntN(6))
	}
	for i := range 1 + m.rng.IntN(20) {
		key := fmt.Appendf(nil, "%d-%d", kind, i)
		if kind == 2 && m.rng.IntN(3) == 0 {
			key = nil
		}
		must(m.t, b.Append(record.Record{Key: key, Value: bytes.Repeat([]byte{byte(i)}, size), Timestamp: time.Now().UnixMilli()}))
	}
	batch, err := b.Build()
	must(m.t, err)
	_, err = m.n.log(m.topic).Append(batch, logstore.AppendOptions{})
	must(m.t, err)
}

// cleanOnce is one pass at a given time, with verdicts for a number of offsets;
// seen counts them. It returns the files that are left.
func cleanOnce(t *testing.T, n *node, now, width int64, seen map[verdict]int) map[string][]byte {
	t.Helper()
	log := n.log("m")
	setCompact(log, true)
	defer setCompact(log, false)
	var before []record.Batch
	eachBatch(t, log, func(b record.Batch) { before = append(before, bytes.Clone(b[:record.HeaderSize])) })
	c := n.cleaner
	d := c.choose(c.compacted(), 0, n.settings)
	if d == nil {
		t.Fatal("nothing is due")
	}
	p := c.newPass(context.Background(), 0, n.settings, d)
	p.now = now
	p.noted = verdicts{first: d.first, end: d.first + width}
	end, err := p.run()
	must(t, err)
	for _, b := range before {
		if b.LastOffset() < end && !b.IsControl() {
			seen[p.verdict(b)]++
		}
	}
	must(t, n.store.CheckpointCleaner(log.TopicPartition(), end))
	c.release(log)
	return n.files("m-0")
}

// setCompact makes a log compacted or not: a compacted one refuses records
// without keys.
func setCompact(log *logstore.Log, yes bool) {
	cfg := log.Config()
	cfg.Compact, cfg.Delete = yes, !yes
	log.SetConfig(cfg)
}

func sameFiles(want, got map[string][]byte) error {
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if have, ok := got[path]; !ok || !bytes.Equal(have, want[path]) {
			return fmt.Errorf("%s: %d bytes, there %t, want %d", path, len(have), ok, len(want[path]))
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			return fmt.Errorf("%s should not be there", path)
		}
	}
	return nil
}

// TestVerdicts holds what is said of a batch against what was noted of its
// records one by one.
func TestVerdicts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	builder := record.NewBuilder(record.BuilderOptions{})
	must(t, builder.Append(record.Record{Key: []byte("k")}))
	one, err := builder.Build()
	must(t, err)
	seen := map[verdict]int{}
	for range 400 {
		first, end := int64(1000), int64(1000+rng.IntN(300))
		v := verdicts{first: first, end: end}
		outdated, special, unknown := map[int64]bool{}, map[int64]bool{}, map[int64]bool{}
		for range rng.IntN(400) {
			at := 900 + rng.Int64N(500)
			v.outdate(at)
			outdated[at] = true
		}
		for range rng.IntN(4) {
			at, to := 900+rng.Int64N(500), rng.Int64N(100)
			v.lookAt(at)
			special[at] = true
			at = 900 + rng.Int64N(500)
			v.forget(at, at+to)
			for i := at; i <= at+to; i++ {
				unknown[i] = true
			}
		}
		for range 40 {
			from, n := 990+rng.Int64N(300), 1+rng.Int64N(10)<<rng.IntN(4)
			b := record.Batch(bytes.Clone(one))
			b.SetBaseOffset(from)
			binary.BigEndian.PutUint32(b[23:], uint32(n-1)) // last offset delta
			binary.BigEndian.PutUint32(b[57:], uint32(n))   // count
			want := expectedVerdict(from, n, first, end, outdated, special, unknown)
			if got := v.of(b); got != want {
				t.Fatalf("[%d, %d): verdict %d, want %d", from, from+n, got, want)
			}
			seen[want]++
			if want == mixed {
				for at := from; at < from+n; at++ {
					if v.leaves(at) != outdated[at] {
						t.Fatalf("%d leaves: %t", at, v.leaves(at))
					}
				}
			}
		}
	}
	if len(seen) != 4 {
		t.Errorf("verdicts: %v", seen)
	}
}

func expectedVerdict(from, n, first, end int64, outdated, special, unknown map[int64]bool) verdict {
	leave, look := int64(0), false
	for at := from; at < from+n; at++ {
		if at < first || at >= end || unknown[at] {
			return lookUp
		}
		if outdated[at] {
			leave++
		}
		look = look || special[at]
	}
	switch {
	case leave == n:
		return allLeave
	case leave == 0 && !look:
		return allStay
	}
	return mixed
}

// TestNoVerdictOnDisorder: a batch whose offsets do not rise tells nothing.
func TestNoVerdictOnDisorder(t *testing.T) {
	k := newKeyed(t, nil)
	defer k.done()
	k.segments(2)
	c := k.cleaner
	d := c.choose(c.compacted(), 0, k.settings)
	p := c.newPass(context.Background(), 0, k.settings, d)
	builder := record.NewBuilder(record.BuilderOptions{BaseOffset: 5})
	for _, key := range []string{"a", "a", "b"} {
		must(t, builder.Append(record.Record{Key: []byte(key), Value: []byte("v")}))
	}
	b, err := builder.Build()
	must(t, err)
	if _, err := p.fillFromBatch(b); err != nil || p.verdict(b) != mixed || !p.noted.leaves(5) || p.noted.leaves(6) {
		t.Fatalf("verdict %d, %v", p.verdict(b), err)
	}
	const delta = record.HeaderSize + 3 // of the first record, behind its length, attributes and timestamp
	b[delta] = 2 << 1
	if _, err := p.fillFromBatch(b); err != nil || p.verdict(b) != lookUp {
		t.Errorf("verdict %d on a batch with offsets 7, 6, 7, %v", p.verdict(b), err)
	}
	c.release(d.log)
}

// TestNoAllocationsPerBatch: neither part of a pass allocates for a batch, once
// its buffers have grown.
func TestNoAllocationsPerBatch(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	builder := record.NewBuilder(record.BuilderOptions{})
	for i := range 100 {
		must(t, builder.Append(record.Record{Key: fmt.Appendf(nil, "key-%d", i%70), Value: make([]byte, 50)}))
	}
	b, err := builder.Build()
	must(t, err)
	for _, width := range []int64{0, 1000} {
		p := &pass{offset: NewOffsetMap(1<<20, 0.9), candidate: &candidate{}, noted: verdicts{end: width}}
		fill := func() {
			if _, err := p.fillFromBatch(b); err != nil {
				t.Fatal(err)
			}
			p.offset.Seen(200)
		}
		copied := func() {
			kept, err := p.selectRecords(b, false, false, 0)
			if err != nil || kept.Kept != 70 {
				t.Fatalf("kept %d, %v", kept.Kept, err)
			}
			p.pending, err = p.filter.AppendRebuilt(p.pending[:0], record.NoTimestamp)
			must(t, err)
		}
		fill()
		if n := testing.AllocsPerRun(100, copied); n != 0 {
			t.Errorf("with verdicts for %d offsets: %v allocations to copy a batch", width, n)
		}
		if n := testing.AllocsPerRun(100, fill); n != 0 {
			t.Errorf("with verdicts for %d offsets: %v allocations to note a batch", width, n)
		}
	}
}
