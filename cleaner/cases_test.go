package cleaner

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"minibroker/logstore"
	"minibroker/record"
)

// TestEveryOffsetAnswers: three keys rewritten a thousand times. Whatever
// offset is asked for, the answer begins with the first batch that ends at or
// behind it, and a reader comes to the end.
func TestEveryOffsetAnswers(t *testing.T) {
	k := newKeyed(t, nil)
	from := time.Now().Add(-time.Hour).UnixMilli()
	for i := range int64(1000) {
		var batch []record.Record
		for n := range 3 {
			batch = append(batch, record.Record{Key: fmt.Appendf(nil, "k%d", n+1), Value: fmt.Appendf(nil, "%d", i), Timestamp: from + i/100*20_000})
		}
		k.append("t", record.BuilderOptions{}, batch...)
	}
	for k.cleaner.Round(context.Background()) {
	}
	log := k.log("t")
	var batches []record.Batch
	eachBatch(t, log, func(b record.Batch) { batches = append(batches, slices.Clone(b)) })
	if log.EndOffset() != 3000 || len(batches) > 101 || batches[len(batches)-1].LastOffset() != 2999 {
		t.Fatalf("%d batches up to %d, end %d", len(batches), batches[len(batches)-1].LastOffset(), log.EndOffset())
	}
	for offset := range log.EndOffset() {
		want := batches[slices.IndexFunc(batches, func(b record.Batch) bool { return b.LastOffset() >= offset })]
		info, err := log.Read(offset, 1, logstore.ReadOptions{UpperBound: log.EndOffset(), MinOneMessage: true})
		must(t, err)
		got := make(record.Batch, info.Records.Len())
		_, err = info.Records.ReadAt(got, 0)
		info.Records.Release()
		if err != nil || string(got) != string(want) {
			t.Fatalf("at %d: batch at %d, want the one at %d; %v", offset, got.BaseOffset(), want.BaseOffset(), err)
		}
	}
	if last := readThrough(t, log); last != 2999 {
		t.Errorf("read to %d", last)
	}
	k.done()
}

// TestTimestampsStay: when the record goes that its batch's timestamps are
// based on, the others keep theirs, with every codec.
func TestTimestampsStay(t *testing.T) {
	for codec := record.None; codec <= record.Zstd; codec++ {
		t.Run(codec.String(), func(t *testing.T) {
			k := newKeyed(t, nil)
			from := time.Now().Add(-time.Hour).UnixMilli()
			var batch []record.Record
			for i, key := range []string{"a", "b", "c", "d", "e"} {
				batch = append(batch, record.Record{Key: []byte(key), Value: []byte("1"), Timestamp: from + int64(i)*1000})
			}
			k.append("t", record.BuilderOptions{Codec: codec}, batch...)
			k.append("t", record.BuilderOptions{Codec: codec}, record.Record{Key: []byte("a"), Value: []byte("2"), Timestamp: from + 20_000},
				record.Record{Key: []byte("c"), Value: []byte("2"), Timestamp: from + 20_001})
			k.put("f", "1", from+40_000)
			if !k.cleaner.Round(context.Background()) {
				t.Fatal("nothing was cleaned")
			}
			var got []string
			eachBatch(t, k.log("t"), func(b record.Batch) {
				largest := int64(-1)
				must(t, b.ForEach(0, func(r *record.Record) error {
					got = append(got, fmt.Sprintf("%d %s=%s@%d", r.Offset, r.Key, r.Value, r.Timestamp-from))
					largest = max(largest, r.Timestamp)
					return nil
				}))
				if !b.ChecksumOK() || b.MaxTimestamp() != largest || b.Codec() != codec && b.BaseOffset() < 7 {
					t.Errorf("batch at %d: checksum %t, largest %d of %d, %v", b.BaseOffset(), b.ChecksumOK(), b.MaxTimestamp()-from, largest-from, b.Codec())
				}
			})
			want := []string{"1 b=1@1000", "3 d=1@3000", "4 e=1@4000", "5 a=2@20000", "6 c=2@20001", "7 f=1@40000"}
			if !slices.Equal(got, want) {
				t.Errorf("left is %q, want %q", got, want)
			}
			k.done()
		})
	}
}

// transacting is a node with producers of transactions. Each record opens a
// segment of its own.
type transacting struct {
	*keyed
	at   int64
	seqs map[int64]int32
}

func (x *transacting) send(producer int64, key, value string) {
	x.at += 20_000
	x.append("t", record.BuilderOptions{Transactional: true, Producer: &record.Producer{ID: producer, BaseSequence: x.seqs[producer]}},
		record.Record{Key: []byte(key), Value: []byte(value), Timestamp: x.at})
	x.seqs[producer]++
}

func (x *transacting) end(producer int64, commit bool) {
	x.t.Helper()
	marker := record.BuildMarker(record.MarkerOptions{TimestampMs: x.at, ProducerID: producer, Marker: record.Marker{Commit: commit}})
	_, err := x.log("t").Append(marker, logstore.AppendOptions{Origin: logstore.Coordinator})
	must(x.t, err)
}

// values are those that a reader of committed records, or of all, sees in the
// end.
func (x *transacting) values(committed bool) string {
	x.t.Helper()
	found := map[string]string{}
	if committed {
		for key, v := range readCommitted(x.t, x.log("t")) {
			found[key] = v.value
		}
		return fmt.Sprint(found)
	}
	eachBatch(x.t, x.log("t"), func(b record.Batch) {
		must(x.t, b.ForEach(0, func(r *record.Record) error {
			if !b.IsControl() {
				found[string(r.Key)] = string(r.Value)
			}
			return nil
		}))
	})
	return fmt.Sprint(found)
}

func (x *transacting) markers() (n int) {
	eachBatch(x.t, x.log("t"), func(b record.Batch) {
		if b.IsControl() {
			n++
		}
	})
	return n
}

func newTransacting(t *testing.T) *transacting {
	return &transacting{newKeyed(t, nil), time.Now().Add(-time.Hour).UnixMilli(), map[int64]int32{}}
}

// TestAbortedValueOutdatesNothing: the value of an aborted transaction goes,
// the committed one before it stays, for readers of both kinds; markers stay
// while their data does and a pass longer, then they go.
func TestAbortedValueOutdatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTransacting(t)
		x.send(1, "k", "1")
		x.end(1, true)
		x.send(1, "k", "2")
		x.end(1, false)
		x.send(1, "k", "1 again")
		x.end(1, false)
		x.send(2, "rolls", "x") // another producer, so that the first one's last batch is not kept for its sake
		x.end(2, true)
		x.send(1, "other", "x")
		x.end(1, true)
		x.send(2, "end", "x")
		x.end(2, true)
		if before := x.values(true); before != "map[end:x k:1 other:x rolls:x]" {
			t.Fatalf("before: %s", before)
		}
		var markers []int
		for range 4 {
			time.Sleep(time.Second)
			must(t, x.store.CheckpointCleaner(x.log("t").TopicPartition(), 0)) // all of it again
			if !x.cleaner.Round(context.Background()) {
				t.Fatal("nothing was cleaned")
			}
			if committed, all := x.values(true), x.values(false); committed != "map[end:x k:1 other:x rolls:x]" || all != committed {
				t.Errorf("committed %s, all %s", committed, all)
			}
			markers = append(markers, x.markers())
		}
		if markers[0] != 6 || markers[len(markers)-1] != 4 {
			t.Errorf("markers left after each pass: %v, want 6 at first and 4 in the end", markers)
		}
		x.done()
	})
}

// TestInterleavedAndOpenTransactions: of two transactions at a time the aborted
// one is not seen after a pass either; and nothing from the first record of an
// open one on is cleaned.
func TestInterleavedAndOpenTransactions(t *testing.T) {
	x := newTransacting(t)
	x.send(1, "a", "1")
	x.send(2, "a", "2")
	x.send(1, "b", "1")
	x.send(2, "b", "2")
	x.end(2, false)
	x.end(1, true)
	x.send(3, "c", "open")
	x.send(1, "a", "3")
	x.end(1, true)
	x.send(1, "a", "4")
	x.end(1, true)
	if !x.cleaner.Round(context.Background()) {
		t.Fatal("nothing was cleaned")
	}
	first, _ := x.log("t").FirstUnstableOffset()
	if at := x.checkpoint("t"); at != first || at != 6 {
		t.Errorf("checkpoint %d, the open transaction begins at %d", at, first)
	}
	if got := x.values(true); got != "map[a:4 b:1 c:open]" { // who reads all that is committed stops before the open one
		t.Errorf("left is %s", got)
	}
	x.end(3, false)
	x.send(1, "d", "1")
	x.end(1, true)
	for x.cleaner.Round(context.Background()) {
	}
	if got := x.values(true); got != "map[a:4 b:1 d:1]" {
		t.Errorf("in the end left is %s", got)
	}
	x.done()
}

// TestMaximumLagRolls: a log with little traffic is rolled by the record that
// comes after max.compaction.lag.ms, and then cleaned whatever its ratio.
func TestMaximumLagRolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeyed(t, func(c *logstore.Config) {
			c.SegmentMs, c.MaxCompactionLagMs, c.MinCleanableRatio = 7*24*3_600_000, 10_000, 0.99
		})
		ctx, stop := context.WithCancel(context.Background())
		finished := make(chan struct{})
		go func() { k.cleaner.Run(ctx); close(finished) }()
		now := func() int64 { return time.Now().UnixMilli() }
		k.put("k", "1", now())
		k.put("k", "2", now())
		time.Sleep(20 * time.Second)
		if at := k.checkpoint("t"); at != -1 {
			t.Errorf("the active segment was cleaned up to %d", at)
		}
		k.put("other", "1", now())
		time.Sleep(k.settings.Backoff + time.Millisecond)
		if at, n := k.checkpoint("t"), len(k.log("t").Segments()); at != 2 || n != 2 {
			t.Errorf("checkpoint %d, %d segments; want 2 and 2", at, n)
		}
		if got := readCommitted(t, k.log("t")); got["k"] != (valueAt{1, "2"}) {
			t.Errorf("k is %+v", got["k"])
		}
		stop()
		<-finished
		k.done()
	})
}

// TestFutureTimestampsDoNotBlock: without a minimum lag, records of the future
// are cleaned as others are.
func TestFutureTimestampsDoNotBlock(t *testing.T) {
	k := newKeyed(t, func(c *logstore.Config) { c.TimestampAfterMaxMs = math.MaxInt64 })
	from := time.Now().Add(10 * 24 * time.Hour).UnixMilli()
	for i := range int64(3) {
		k.put("k", fmt.Sprint(i), from+i*20_000)
	}
	if !k.cleaner.Round(context.Background()) || k.checkpoint("t") != 2 {
		t.Errorf("checkpoint %d, want 2", k.checkpoint("t"))
	}
	if got := readCommitted(t, k.log("t")); got["k"].offset != 2 {
		t.Errorf("k is %+v", got["k"])
	}
	k.done()
}
