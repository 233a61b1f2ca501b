package partition

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"minibroker/logstore"
	"minibroker/record"
)

// inVain fetches from the ends of the partitions until the wait is over.
func inVain(t *testing.T, m *Manager, spec FetchSpec, ps ...*Partition) *Rest {
	t.Helper()
	var reads []Read
	for _, p := range ps {
		reads = append(reads, from(p, p.EndOffset()))
	}
	results, rest := m.Fetch(t.Context(), reads, spec, nil)
	if rest == nil || sizes(results)[0] != 0 {
		t.Fatalf("no rest after %+v", results)
	}
	return rest
}

// TestRest: what ends a rest, and when. Whatever changes an answer has to.
func TestRest(t *testing.T) {
	marker := func(t *testing.T, p *Partition) {
		_, err := p.Append(record.BuildMarker(record.MarkerOptions{ProducerID: 7, Marker: record.Marker{Commit: true}}), logstore.AppendOptions{Origin: logstore.Coordinator})
		must(t, err)
	}
	large := aMinute()
	large.MinBytes = 1000
	committed := aMinute()
	committed.Isolation = ReadCommitted
	for name, c := range map[string]struct {
		happens func(t *testing.T, m *Manager, p *Partition)
		spec    FetchSpec     // of the next fetch, where it is another than of the first
		after   time.Duration // of the wait
		holds   bool
	}{
		"nothing":             {happens: func(*testing.T, *Manager, *Partition) {}, after: time.Minute, holds: true},
		"a refused batch":     {happens: func(t *testing.T, _ *Manager, p *Partition) { produceRefused(t, p, record.Batch("no batch")) }, after: time.Minute, holds: true},
		"records":             {happens: func(t *testing.T, _ *Manager, p *Partition) { produce(t, p, "x") }, after: time.Second},
		"a marker":            {happens: func(t *testing.T, _ *Manager, p *Partition) { marker(t, p) }, after: time.Second},
		"records are deleted": {happens: func(t *testing.T, _ *Manager, p *Partition) { _, err := p.DeleteRecords(2); must(t, err) }, after: time.Minute},
		"a new leader epoch":  {happens: func(t *testing.T, _ *Manager, p *Partition) { must(t, p.BecomeLeader(1)) }, after: time.Second},
		"the partition goes":  {happens: func(_ *testing.T, m *Manager, p *Partition) { m.Remove(p.TopicPartition()) }, after: time.Second},
		"its directory fails": {happens: func(_ *testing.T, m *Manager, p *Partition) {
			m.TakeOffline([]logstore.TopicPartition{p.TopicPartition()})
		}, after: time.Second},
		"another log takes its place":       {happens: replace, after: time.Second},
		"another minimum":                   {happens: func(*testing.T, *Manager, *Partition) {}, spec: large},
		"another isolation":                 {happens: func(*testing.T, *Manager, *Partition) {}, spec: committed},
		"records of another partition of m": {happens: func(t *testing.T, m *Manager, _ *Partition) { other(t, m) }, after: time.Minute, holds: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, ps := lead(t, "t-0", "t-1")
				produce(t, ps[1], "a", "b", "c")
				rest := inVain(t, m, aMinute(), ps...)
				defer rest.End()
				for range 2 { // it goes on and on
					if !rest.Wait(t.Context(), aMinute()) {
						t.Fatal("nothing has happened")
					}
				}
				spec := c.spec
				if spec.MaxWait == 0 {
					spec = aMinute()
				}
				begin := time.Now()
				go func() {
					time.Sleep(time.Second)
					c.happens(t, m, ps[1])
				}()
				if holds := rest.Wait(t.Context(), spec); holds != c.holds || time.Since(begin) != c.after {
					t.Errorf("holds: %v after %v, want %v after %v", holds, time.Since(begin), c.holds, c.after)
				}
				synctest.Wait()
				time.Sleep(time.Second)
			})
		})
	}
}

// replace makes the Manager lead another log of the same name.
func replace(t *testing.T, m *Manager, p *Partition) {
	_, err := m.Add(openLog(t, newStore(t), p.TopicPartition().String(), nil), 0)
	must(t, err)
}

// other appends to a partition that nobody waits for.
func other(t *testing.T, m *Manager) {
	p, err := m.Add(openLog(t, m.store, "other-0", nil), 0)
	must(t, err)
	produce(t, p, "x")
}

// TestRestBetweenTwoFetches: what happens while nobody waits is found at once by the next fetch, also what is less than it needs.
func TestRestBetweenTwoFetches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, ps := lead(t, "t-0", "t-1")
		spec := aMinute()
		spec.MinBytes = 1000
		for name, happens := range map[string]func(){
			"few bytes":  func() { produce(t, ps[1], "x") },
			"many bytes": func() { produce(t, ps[1], string(make([]byte, 2000))) },
			"a start": func() {
				_, err := ps[1].DeleteRecords(ps[1].EndOffset())
				must(t, err)
			},
		} {
			rest := inVain(t, m, spec, ps...)
			happens()
			begin := time.Now()
			if rest.Wait(t.Context(), spec) || time.Since(begin) != 0 {
				t.Errorf("%s: not noticed for %v", name, time.Since(begin))
			}
			rest.End()
		}
	})
}

// TestRestOfAClientThatIsGone: only the first append to each partition has to do with it, and it keeps none that is removed.
func TestRestOfAClientThatIsGone(t *testing.T) {
	m, ps := lead(t, "t-0", "t-1")
	spec := aMinute()
	spec.MaxWait = time.Microsecond
	rest := inVain(t, m, spec, ps...)
	if !rest.Wait(t.Context(), spec) {
		t.Error("something has happened")
	}
	produce(t, ps[0], "x")
	if ps[0].waiting.Load() != 0 || ps[0].first != nil || ps[1].waiting.Load() != 1 {
		t.Errorf("%d and %d wait, want 0 and 1", ps[0].waiting.Load(), ps[1].waiting.Load())
	}
	produce(t, ps[0], "y")
	m.Remove(ps[1].TopicPartition())
	for i := range rest.links {
		if p := rest.links[i].partition.Load(); p != nil {
			t.Errorf("%s is kept", p.TopicPartition())
		}
	}
	rest.End()
	for _, p := range ps {
		if p.waiting.Load() != 0 || p.first != nil {
			t.Errorf("%d still wait for %s", p.waiting.Load(), p.TopicPartition())
		}
	}
}

// TestTrafficOfARest: a fetch counts for each partition, looked at or not.
func TestTrafficOfARest(t *testing.T) {
	m, ps := lead(t, "t-0", "t-1")
	spec := aMinute()
	spec.MaxWait = time.Microsecond
	rest := inVain(t, m, spec, ps...)
	fetches := func(when string, want int64) {
		t.Helper()
		for _, p := range ps {
			if got := p.Traffic().FetchRequests; got != want {
				t.Errorf("%s: %d fetches of %s, want %d", when, got, p.TopicPartition(), want)
			}
		}
	}
	fetches("the first", 1)
	for range 3 {
		rest.Wait(t.Context(), spec)
	}
	fetches("resting", 4)
	produce(t, ps[0], "x") // drops it there
	fetches("disturbed", 4)
	rest.End()
	fetches("ended", 4)
}

// TestRestingConsumersMissNoWake is TestConsumersMissNoWake for consumers that keep their place.
func TestRestingConsumersMissNoWake(t *testing.T) {
	const producers, consumers, each = 4, 4, 200
	m, ps := lead(t, "t-0", "t-1", "t-2")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	rested := make(chan struct{}, consumers)
	for i := range producers {
		wg.Go(func() {
			for j := range each {
				if j%10 == i { // now they are at rest, now they are not
					select {
					case <-rested:
					case <-ctx.Done():
						t.Error("nobody rests")
						return
					}
				}
				produce(t, ps[(i+j)%len(ps)], strconv.Itoa(j))
			}
		})
	}
	for range consumers {
		wg.Go(func() { consumeResting(ctx, t, m, ps, producers*each, rested) })
	}
	wg.Wait()
	for _, p := range ps {
		if p.first != nil || p.waiting.Load() != 0 {
			t.Errorf("%s: %d fetches still wait", p.TopicPartition(), p.waiting.Load())
		}
	}
}

// consumeResting reads all partitions until it has seen so many records, and tells of fetches for which none was looked at. After the
// first of them it waits for a minute, so that a wake that is missed shows.
func consumeResting(ctx context.Context, t *testing.T, m *Manager, ps []*Partition, records int64, rested chan<- struct{}) {
	reads := make([]Read, len(ps))
	for i := range ps {
		reads[i] = from(ps[i], 0)
	}
	short, long := aMinute(), aMinute()
	short.MaxWait = 20 * time.Microsecond
	var rest *Rest
	var results []ReadResult
	for seen := int64(0); seen < records; {
		if rest != nil {
			for n := 0; rest.Wait(ctx, []FetchSpec{short, long}[min(n, 1)]); n++ {
				if ctx.Err() != nil {
					t.Errorf("a consumer stands at %d of %d records", seen, records)
					rest.End()
					return
				}
				select {
				case rested <- struct{}{}:
				default: // as many as can be waited for
				}
			}
			rest.End()
		}
		results, rest = m.Fetch(ctx, reads, short, results[:0])
		for i := range results {
			next := endOf(t, &results[i], reads[i].FetchOffset)
			seen += next - reads[i].FetchOffset
			reads[i].FetchOffset = next
		}
		release(results)
	}
	if rest != nil {
		rest.End()
	}
}
