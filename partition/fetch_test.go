package partition

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"minibroker/logstore"
	"minibroker/record"
)

func TestFetchLimits(t *testing.T) {
	m, ps := lead(t, "t-0", "t-1", "t-2")
	big := produce(t, ps[0], string(make([]byte, 5000)))
	next := produce(t, ps[0], "x")
	small := produce(t, ps[1], "y")
	limited := func(p *Partition, maxBytes int) Read {
		r := from(p, 0)
		r.MaxBytes = maxBytes
		return r
	}
	cases := []struct {
		name  string
		reads []Read
		max   int
		want  []int
	}{
		{"the first batch comes whole", []Read{limited(ps[0], 1000), limited(ps[1], 1000)}, 1, []int{big, 0}},
		{"what the first takes is not left", []Read{limited(ps[0], 1000), limited(ps[1], 1000)}, 1000, []int{big, 0}},
		{"room for both", []Read{limited(ps[0], 1000), limited(ps[1], 1000)}, 1 << 20, []int{big, small}},
		{"only the first comes whole", []Read{limited(ps[1], 1), limited(ps[0], 1)}, 1 << 20, []int{small, 0}},
		{"zero still gives one batch", []Read{limited(ps[1], 0)}, 0, []int{small}},
		{"an empty one does not count as the first", []Read{limited(ps[2], 10), limited(ps[1], 1)}, 1, []int{0, small}},
		{"batches come whole", []Read{limited(ps[0], big+next-1)}, 1 << 20, []int{big}},
		{"as many as fit", []Read{limited(ps[0], big+next)}, 1 << 20, []int{big + next}},
	}
	for _, c := range cases {
		got := sizes(fetch(m, t.Context(), c.reads, FetchSpec{MaxBytes: c.max}, nil))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v bytes, want %v", c.name, got, c.want)
		}
	}
}

func TestFetchErrors(t *testing.T) {
	m, ps := lead(t, "t-0", "t-1")
	p, empty := ps[0], ps[1]
	produce(t, p, "0", "1", "2")
	if _, err := p.DeleteRecords(1); err != nil {
		t.Fatal(err)
	}
	read := func(change func(*Read)) Read {
		r := from(p, 1)
		change(&r)
		return r
	}
	cases := []struct {
		name string
		read Read
		want error
	}{
		{"below the start", from(p, 0), logstore.ErrOffsetOutOfRange},
		{"negative", from(p, -1), logstore.ErrOffsetOutOfRange},
		{"above the end", from(p, 4), logstore.ErrOffsetOutOfRange},
		{"no partition", Read{}, ErrUnknownPartition},
		{"newer leader epoch", read(func(r *Read) { r.CurrentLeaderEpoch = 1 }), ErrUnknownLeaderEpoch},
		{"unknown last epoch", read(func(r *Read) { r.LastFetchedEpoch = 4 }), ErrUndefinedEpoch},
		{"below the start with an epoch", read(func(r *Read) { r.LastFetchedEpoch, r.FetchOffset = 0, 0 }), logstore.ErrOffsetOutOfRange},
		{"negative limit", read(func(r *Read) { r.MaxBytes = -1 }), ErrInvalidMaxBytes},
	}
	for _, c := range cases {
		got := fetch(m, t.Context(), []Read{c.read}, FetchSpec{MaxBytes: 1 << 20, MinBytes: 1, MaxWait: time.Hour}, nil)
		if r := got[0]; !errors.Is(r.Err, c.want) || r.Records != nil || r.HighWatermark != -1 || r.LastStableOffset != -1 || r.LogStartOffset != -1 {
			t.Errorf("%s: %+v, want error %v", c.name, r, c.want)
		}
	}
	// A negative limit is not noticed where there is nothing to read.
	at := from(empty, 0)
	at.MaxBytes = -1
	if got := fetch(m, t.Context(), []Read{at}, FetchSpec{MaxBytes: -1}, nil); got[0].Err != nil {
		t.Errorf("negative limit on an empty partition: %v", got[0].Err)
	}
	got := fetch(m, t.Context(), []Read{from(p, 1)}, FetchSpec{MaxBytes: 1 << 20, Follower: true}, nil)
	if !errors.Is(got[0].Err, ErrNotLeader) {
		t.Errorf("in a replica's name: %v", got[0].Err)
	}
}

func TestFetchTellsOfADivergingEpoch(t *testing.T) {
	m, ps := lead(t, "t-0")
	p := ps[0]
	produce(t, p, "0", "1")
	if err := p.BecomeLeader(3); err != nil {
		t.Fatal(err)
	}
	produce(t, p, "2")
	cases := []struct {
		epoch  int32
		offset int64
		want   EpochEnd
		has    bool
	}{
		{0, 2, EpochEnd{}, false},
		{0, 3, EpochEnd{0, 2}, true},
		{2, 1, EpochEnd{0, 2}, true},
		{3, 3, EpochEnd{}, false},
		{3, 5, EpochEnd{3, 3}, true},
	}
	for _, c := range cases {
		r := from(p, c.offset)
		r.LastFetchedEpoch = c.epoch
		got := fetch(m, t.Context(), []Read{r}, FetchSpec{MaxBytes: 1 << 20, MaxWait: time.Hour, MinBytes: 0}, nil)
		if got[0].Err != nil || got[0].HasDiverging != c.has || got[0].Diverging != c.want {
			t.Errorf("epoch %d before offset %d: %+v", c.epoch, c.offset, got[0])
		}
		release(got)
	}
}

// waiting runs a fetch in the background and returns its results and how long
// it took, in the bubble's time.
func waiting(m *Manager, ctx context.Context, reads []Read, spec FetchSpec) func() ([]ReadResult, time.Duration) {
	began := time.Now()
	done := make(chan []ReadResult, 1)
	go func() { done <- fetch(m, ctx, reads, spec, nil) }()
	return func() ([]ReadResult, time.Duration) { return <-done, time.Since(began) }
}

// aMinute waits up to a minute for a single byte.
func aMinute() FetchSpec {
	return FetchSpec{MinBytes: 1, MaxBytes: 1 << 20, MaxWait: time.Minute}
}

func TestFetchWaitsUntilTheTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ps := lead(t, "t-0")
		got, took := waiting(m, t.Context(), []Read{from(ps[0], 0)}, aMinute())()
		if took != time.Minute || got[0].Err != nil || got[0].Records != nil || got[0].HighWatermark != 0 {
			t.Errorf("after %v: %+v", took, got[0])
		}
	})
}

// TestFetchesEndTogether: fetches that wait equally long end at the same moments, none before its time and none much later.
func TestFetchesEndTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ps := lead(t, "t-0")
		for _, wait := range []time.Duration{1, 500 * time.Millisecond, 5 * time.Second, 7777 * time.Millisecond, time.Hour} {
			apart := min(wait/100, 50*time.Millisecond)
			ends := map[time.Duration]bool{}
			var all []func() ([]ReadResult, time.Duration)
			for range 50 {
				all = append(all, waiting(m, t.Context(), []Read{from(ps[0], 0)}, FetchSpec{MinBytes: 1, MaxWait: wait}))
				time.Sleep(apart / 10)
			}
			for _, end := range all {
				if _, took := end(); took < wait || took >= wait+max(1, apart) {
					t.Errorf("a fetch that may wait for %v waited for %v", wait, took)
				}
				ends[time.Since(m.made)] = true
			}
			if len(ends) > 6 {
				t.Errorf("50 fetches of %v in a twentieth of it ended at %d moments", wait, len(ends))
			}
		}
	})
}

func TestFetchDoesNotWaitWithoutAWish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ps := lead(t, "t-0")
		for _, s := range []FetchSpec{{MinBytes: 0, MaxWait: time.Minute}, {MinBytes: 1}, {MinBytes: 1, MaxWait: -1}} {
			if _, took := waiting(m, t.Context(), []Read{from(ps[0], 0)}, s)(); took != 0 {
				t.Errorf("%+v waited for %v", s, took)
			}
		}
		if _, took := waiting(m, t.Context(), nil, aMinute())(); took != 0 {
			t.Errorf("a fetch of nothing waited for %v", took)
		}
	})
}

func TestFetchWaitsUntilAnyPartitionHasEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ps := lead(t, "t-0", "t-1")
		end := waiting(m, t.Context(), []Read{from(ps[0], 0), from(ps[1], 0)}, aMinute())
		time.Sleep(time.Second)
		n := produce(t, ps[1], "x")
		got, took := end()
		if s := sizes(got); took != time.Second || !slices.Equal(s, []int{0, n}) {
			t.Errorf("after %v: %v bytes, want %d", took, s, n)
		}
	})
}

func TestFetchWaitsUntilAllTogetherHaveEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ps := lead(t, "t-0", "t-1")
		first := produce(t, ps[0], "x")
		s := aMinute()
		s.MinBytes = 3 * first
		end := waiting(m, t.Context(), []Read{from(ps[0], 0), from(ps[1], 0)}, s)
		for range 2 {
			time.Sleep(time.Second)
			produce(t, ps[1], "y")
		}
		got, took := end()
		if s := sizes(got); took != 2*time.Second || !slices.Equal(s, []int{first, 2 * first}) {
			t.Errorf("after %v: %v bytes", took, s)
		}
	})
}

func TestFetchTakesWhatThereIsInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ps := lead(t, "t-0")
		s := aMinute()
		s.MinBytes = 1000
		end := waiting(m, t.Context(), []Read{from(ps[0], 0)}, s)
		time.Sleep(time.Second)
		n := produce(t, ps[0], "x")
		got, took := end()
		if s := sizes(got); took != time.Minute || s[0] != n {
			t.Errorf("after %v: %v bytes", took, s)
		}
	})
}

func TestFetchCountsWhatDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ps := lead(t, "t-0")
		n := produce(t, ps[0], "x")
		produce(t, ps[0], "y")
		r := from(ps[0], 0)
		r.MaxBytes = n + 1
		s := aMinute()
		s.MinBytes = n + 1
		if got, took := waiting(m, t.Context(), []Read{r}, s)(); took != 0 || sizes(got)[0] != n {
			t.Errorf("waited for %v", took)
		}
		s.MinBytes = n + 2
		if got, took := waiting(m, t.Context(), []Read{r}, s)(); took != time.Minute || sizes(got)[0] != n {
			t.Errorf("with a minimum above the maximum waited for %v", took)
		}
	})
}

func TestWhatEndsAWait(t *testing.T) {
	spec := FetchSpec{MinBytes: 1000, MaxBytes: 1 << 20, MaxWait: time.Minute}
	synctest.Test(t, func(t *testing.T) {
		m, ps := lead(t, "t-0", "t-1")
		ctx, cancel := context.WithCancel(t.Context())
		end := waiting(m, ctx, []Read{from(ps[0], 0)}, spec)
		time.Sleep(time.Second)
		n := produce(t, ps[0], "x")
		cancel()
		if got, took := end(); took != time.Second || sizes(got)[0] != n {
			t.Errorf("context done: %v", took)
		}

		end = waiting(m, t.Context(), []Read{from(ps[0], 1), from(ps[1], 0)}, spec)
		time.Sleep(time.Second)
		m.Remove(ps[1].TopicPartition())
		if got, took := end(); took != time.Second || !errors.Is(got[1].Err, ErrUnknownPartition) || got[0].Err != nil {
			t.Errorf("partition removed: %v, %+v", took, got)
		}

		m, ps = lead(t, "t-0", "t-1")
		produce(t, ps[0], "x")
		end = waiting(m, t.Context(), []Read{from(ps[0], 1), from(ps[1], 0)}, spec)
		time.Sleep(time.Second)
		m.TakeOffline([]logstore.TopicPartition{ps[1].TopicPartition()})
		if got, took := end(); took != time.Second || !errors.Is(got[1].Err, logstore.ErrStorage) || got[0].Err != nil {
			t.Errorf("log dir failed: %v, %+v", took, got)
		}
		if _, err := ps[1].Append(newBatch(t, record.BuilderOptions{}, "x"), logstore.AppendOptions{}); !errors.Is(err, logstore.ErrStorage) {
			t.Errorf("append in a failed log dir: %v", err)
		}
		if _, err := m.Get(ps[1].TopicPartition()); !errors.Is(err, logstore.ErrStorage) {
			t.Errorf("look-up of a partition in a failed log dir: %v", err)
		}

		r := from(ps[0], 1)
		r.CurrentLeaderEpoch = 0
		end = waiting(m, t.Context(), []Read{r}, spec)
		time.Sleep(time.Second)
		if err := ps[0].BecomeLeader(2); err != nil {
			t.Fatal(err)
		}
		if got, took := end(); took != time.Second || !errors.Is(got[0].Err, ErrFencedLeaderEpoch) {
			t.Errorf("new leader epoch: %v, %+v", took, got)
		}
	})
}

func TestAMarkerEndsTheWaitOfReadCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ps := lead(t, "t-0")
		p := ps[0]
		producer := &record.Producer{ID: 7, Epoch: 0, BaseSequence: 0}
		inside := newBatch(t, record.BuilderOptions{Producer: producer, Transactional: true}, string(make([]byte, 2000)))
		spec := FetchSpec{MinBytes: 1000, MaxBytes: 1 << 20, MaxWait: time.Minute, Isolation: ReadCommitted}
		end := waiting(m, t.Context(), []Read{from(p, 0)}, spec)
		time.Sleep(time.Second)
		if _, err := p.Append(inside, logstore.AppendOptions{Origin: logstore.Client}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		marker := record.BuildMarker(record.MarkerOptions{ProducerID: 7, Marker: record.Marker{Commit: true}})
		if _, err := p.Append(marker, logstore.AppendOptions{Origin: logstore.Coordinator}); err != nil {
			t.Fatal(err)
		}
		if got, took := end(); took != 2*time.Second || sizes(got)[0] != len(inside)+len(marker) {
			t.Errorf("after %v", took)
		}
	})
}

// TestAFetchTellsWhereTheLogBeginsInTheEnd: that moves without ending a wait.
func TestAFetchTellsWhereTheLogBeginsInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ps := lead(t, "t-0", "t-1")
		for range 3 {
			produce(t, ps[1], "x")
		}
		end := waiting(m, t.Context(), []Read{from(ps[0], 0), from(ps[1], 3)}, aMinute())
		time.Sleep(time.Second)
		if _, err := ps[1].DeleteRecords(2); err != nil {
			t.Fatal(err)
		}
		if got, took := end(); took != time.Minute || got[1].Err != nil || got[1].LogStartOffset != 2 || got[1].HighWatermark != 3 || got[0].LogStartOffset != 0 {
			t.Errorf("after %v: %+v", took, got)
		}

		open := newBatch(t, record.BuilderOptions{Producer: &record.Producer{ID: 7}, Transactional: true}, "y")
		if _, err := ps[1].Append(open, logstore.AppendOptions{Origin: logstore.Client}); err != nil {
			t.Fatal(err)
		}
		committed := aMinute()
		committed.Isolation = ReadCommitted
		end = waiting(m, t.Context(), []Read{from(ps[1], 3)}, committed)
		time.Sleep(time.Second)
		if _, err := ps[1].DeleteRecords(4); err != nil {
			t.Fatal(err)
		}
		if got, took := end(); took != time.Minute || !errors.Is(got[0].Err, logstore.ErrOffsetOutOfRange) {
			t.Errorf("a start above the offset: after %v %+v", took, got)
		}
	})
}
