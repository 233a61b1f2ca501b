package partition

import (
	"errors"
	"testing"

	"minibroker/logstore"
	"minibroker/record"
)

func TestAppendIsVisibleAtOnce(t *testing.T) {
	_, ps := lead(t, "t-0")
	p := ps[0]
	if p.LeaderEpoch() != 0 || p.HighWatermark() != 0 || p.EndOffset() != 0 || p.LastStableOffset() != 0 {
		t.Fatalf("a new partition has epoch %d, high watermark %d, end %d, stable %d",
			p.LeaderEpoch(), p.HighWatermark(), p.EndOffset(), p.LastStableOffset())
	}
	produce(t, p, "a", "b", "c")
	produce(t, p, "d")
	if p.HighWatermark() != 4 || p.EndOffset() != 4 || p.LastStableOffset() != 4 {
		t.Errorf("after four records: high watermark %d, end %d, stable %d", p.HighWatermark(), p.EndOffset(), p.LastStableOffset())
	}
}

func TestAppendCarriesThePartitionsEpoch(t *testing.T) {
	_, ps := lead(t, "t-0")
	p := ps[0]
	if err := p.BecomeLeader(4); err != nil {
		t.Fatal(err)
	}
	batch := newBatch(t, record.BuilderOptions{}, "a")
	if _, err := p.Append(batch, logstore.AppendOptions{Origin: logstore.Client, LeaderEpoch: 99}); err != nil {
		t.Fatal(err)
	}
	if got := batch.LeaderEpoch(); got != 4 {
		t.Errorf("the batch was stored in epoch %d, want 4", got)
	}
	if err := p.BecomeLeader(2); err != nil || p.LeaderEpoch() != 4 {
		t.Errorf("an older epoch was taken: %d, error %v", p.LeaderEpoch(), err)
	}
}

func TestEpochsOfOffsets(t *testing.T) {
	_, ps := lead(t, "t-0")
	p := ps[0]
	produce(t, p, "0", "1")
	for _, epoch := range []int32{3, 4, 9} {
		if err := p.BecomeLeader(epoch); err != nil {
			t.Fatal(err)
		}
		produce(t, p, "x", "y")
	}
	for offset, want := range []int32{0, 0, 3, 3, 4, 4, 9, 9, 9} {
		if got := p.EpochAt(int64(offset)); got != want {
			t.Errorf("offset %d is of epoch %d, want %d", offset, got, want)
		}
	}
	ends := map[int32]EpochEnd{-1: {-1, -1}, 0: {0, 2}, 1: {0, 2}, 3: {3, 4}, 4: {4, 6}, 8: {4, 6}, 9: {9, 8}, 10: {-1, -1}}
	for epoch, want := range ends {
		if got := p.EpochEnd(epoch); got != want {
			t.Errorf("epoch %d ends as %+v, want %+v", epoch, got, want)
		}
	}
	if _, err := p.DeleteRecords(5); err != nil {
		t.Fatal(err)
	}
	if got := p.EpochAt(5); got != 4 {
		t.Errorf("the new start is of epoch %d, want 4", got)
	}
	if _, err := p.DeleteRecords(8); err != nil {
		t.Fatal(err)
	}
	if got := p.EpochAt(8); got != 9 {
		t.Errorf("the start of the emptied log is of epoch %d, want 9", got)
	}
}

func TestLeaderEpochOfClients(t *testing.T) {
	_, ps := lead(t, "t-0")
	p := ps[0]
	if err := p.BecomeLeader(4); err != nil {
		t.Fatal(err)
	}
	for epoch, want := range map[int32]error{-1: nil, -5: nil, 4: nil, 3: ErrFencedLeaderEpoch, 5: ErrUnknownLeaderEpoch} {
		if err := p.CheckLeaderEpoch(epoch); !errors.Is(err, want) {
			t.Errorf("epoch %d: %v, want %v", epoch, err, want)
		}
	}
}

func TestDeleteRecords(t *testing.T) {
	_, ps := lead(t, "t-0")
	p := ps[0]
	produce(t, p, "0", "1", "2", "3")
	steps := []struct {
		offset, low int64
		err         error
	}{
		{2, 2, nil},
		{1, 2, nil}, // already gone
		{5, -1, logstore.ErrOffsetOutOfRange},
		{-2, -1, logstore.ErrOffsetOutOfRange},
		{-1, 4, nil}, // up to the high watermark
		{-1, 4, nil},
	}
	for _, s := range steps {
		low, err := p.DeleteRecords(s.offset)
		if low != s.low || !errors.Is(err, s.err) {
			t.Errorf("below %d: low %d, error %v; want %d, %v", s.offset, low, err, s.low, s.err)
		}
	}
}

func TestManagerForgetsPartitions(t *testing.T) {
	m, ps := lead(t, "t-0", "t-1")
	tp := ps[0].TopicPartition()
	if p, err := m.Get(tp); err != nil || p != ps[0] {
		t.Fatalf("get: %v, %v", p, err)
	}
	produce(t, ps[1], "a")
	for i, p := range ps {
		if at, ok := m.highWatermark(p.TopicPartition()); !ok || at != int64(i) {
			t.Errorf("high watermark of %s: %d, %v", p.TopicPartition(), at, ok)
		}
	}
	m.Remove(tp)
	m.Remove(tp)
	if at, ok := m.highWatermark(tp); ok {
		t.Errorf("high watermark after removal: %d", at)
	}
	if _, err := m.Get(tp); !errors.Is(err, ErrUnknownPartition) {
		t.Errorf("get after removal: %v", err)
	}
	batch := newBatch(t, record.BuilderOptions{}, "late")
	if _, err := ps[0].Append(batch, logstore.AppendOptions{Origin: logstore.Client}); !errors.Is(err, ErrUnknownPartition) {
		t.Errorf("append after removal: %v", err)
	}
	if _, err := ps[0].DeleteRecords(-1); !errors.Is(err, ErrUnknownPartition) {
		t.Errorf("delete records after removal: %v", err)
	}
	if all := m.Partitions(); len(all) != 1 || all[0] != ps[1] {
		t.Errorf("partitions after removal: %v", all)
	}
}

func TestAddAgainOnlyMovesTheEpoch(t *testing.T) {
	m, ps := lead(t, "t-0")
	p, err := m.Add(ps[0].Log(), 2)
	if err != nil || p != ps[0] || p.LeaderEpoch() != 2 {
		t.Errorf("added again: same %v, epoch %d, error %v", p == ps[0], p.LeaderEpoch(), err)
	}
}

func TestLastStableOffsetFollowsTransactions(t *testing.T) {
	m, ps := lead(t, "t-0")
	p := ps[0]
	produce(t, p, "before")
	producer := &record.Producer{ID: 7, Epoch: 0, BaseSequence: 0}
	inside := newBatch(t, record.BuilderOptions{Producer: producer, Transactional: true}, "inside")
	if _, err := p.Append(inside, logstore.AppendOptions{Origin: logstore.Client}); err != nil {
		t.Fatal(err)
	}
	produce(t, p, "after")
	if p.HighWatermark() != 3 || p.LastStableOffset() != 1 {
		t.Fatalf("open transaction: high watermark %d, stable %d", p.HighWatermark(), p.LastStableOffset())
	}
	committed := FetchSpec{MaxBytes: 1 << 20, Isolation: ReadCommitted}
	got := fetch(m, t.Context(), []Read{from(p, 0)}, committed, nil)
	if n := got[0].size(); n != p.Log().Size()-int64(len(inside))-int64(len(newBatch(t, record.BuilderOptions{}, "after"))) {
		t.Errorf("read committed got %d bytes", n)
	}
	if !got[0].Committed || len(got[0].Aborted) != 0 || got[0].LastStableOffset != 1 {
		t.Errorf("read committed: %+v", got[0])
	}
	release(got)
	marker := record.BuildMarker(record.MarkerOptions{ProducerID: 7, TimestampMs: 1000})
	if _, err := p.Append(marker, logstore.AppendOptions{Origin: logstore.Coordinator}); err != nil {
		t.Fatal(err)
	}
	if p.LastStableOffset() != 4 {
		t.Errorf("after the marker the stable offset is %d", p.LastStableOffset())
	}
	got = fetch(m, t.Context(), []Read{from(p, 0)}, committed, nil)
	if len(got[0].Aborted) != 1 || got[0].Aborted[0].ProducerID != 7 || got[0].Aborted[0].FirstOffset != 1 {
		t.Errorf("aborted transactions %+v", got[0].Aborted)
	}
	release(got)
	got = fetch(m, t.Context(), []Read{from(p, 0)}, FetchSpec{MaxBytes: 1 << 20}, nil)
	if got[0].Committed || got[0].Aborted != nil || got[0].size() != p.Log().Size() {
		t.Errorf("read uncommitted: %+v", got[0])
	}
	release(got)
}
