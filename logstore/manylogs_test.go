package logstore

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"minibroker/internal/vfs"
)

// countedCalls counts the file operations of a store by kind.
type countedCalls struct {
	mu     sync.Mutex
	byKind map[vfs.Kind]int
}

func (c *countedCalls) note(op vfs.Op) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byKind[op.Kind]++
	return nil
}

// take returns what was counted since the last call.
func (c *countedCalls) take() map[vfs.Kind]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.byKind
	c.byKind = map[vfs.Kind]int{}
	return taken
}

// countedLogs is how many logs the calls are counted of.
const countedLogs = 40

// check compares what was counted since the last call, by log: what is done once vanishes in the division.
func (c *countedCalls) check(t *testing.T, what string, want map[vfs.Kind]int) {
	t.Helper()
	got := c.take()
	for kind := vfs.OpOpen; kind <= vfs.OpSetModTime; kind++ {
		if per := got[kind] / countedLogs; per != want[kind] {
			t.Errorf("%s: %d %v a partition, want %d", what, per, kind, want[kind])
		}
	}
}

// settle begins an epoch in every log, as a broker does, and counts what it takes to settle.
func (c *countedCalls) settle(t *testing.T, s *Store) {
	t.Helper()
	for _, l := range s.Logs() {
		must(t, l.BeginEpoch(l.epochAfter()))
	}
	c.take()
	for _, l := range s.Logs() {
		must(t, l.SettleLoad())
	}
}

// TestCallsPerPartition: what a creation, a start and a stop ask of the file system grows with the number of partitions, so
// that each has few calls. To load a log without batches is to list its directory, to ask for the size of its .log (which the list
// does, uncounted here), and to read partition.metadata. Less is better: lower the numbers then.
func TestCallsPerPartition(t *testing.T) {
	mem, calls := vfs.NewMem(), &countedCalls{byKind: map[vfs.Kind]int{}}
	counting := vfs.NewFaulty(mem, calls.note)
	open := func() *Store {
		t.Helper()
		s, err := Open(Options{FS: counting, Dirs: []string{"/data"}, NodeID: 1})
		must(t, err)
		calls.take()
		must(t, s.Load(context.Background()))
		return s
	}
	s := open()
	calls.take()
	for i := range countedLogs {
		_, err := s.Create(TopicPartition{Topic: fmt.Sprint("t", i)}, NewUUID(), nil, DefaultConfig())
		must(t, err)
	}
	calls.check(t, "create", map[vfs.Kind]int{vfs.OpStat: 1, vfs.OpMkdir: 1, vfs.OpCreate: 4, vfs.OpWrite: 1, vfs.OpClose: 4, vfs.OpTruncate: 2, vfs.OpRename: 1})
	load := map[vfs.Kind]int{vfs.OpReadDir: 1, vfs.OpOpen: 1, vfs.OpRead: 1, vfs.OpClose: 1}
	settled := map[vfs.Kind]int{vfs.OpStat: 2, vfs.OpOpen: 2, vfs.OpTruncate: 2, vfs.OpCreate: 1, vfs.OpWrite: 1, vfs.OpSync: 1, vfs.OpClose: 3,
		vfs.OpRename: 1, vfs.OpSyncDir: 1}
	calls.settle(t, s)
	calls.take()
	must(t, s.Close(CleanStop{}))
	calls.take()

	s = open()
	calls.check(t, "start after a clean stop", load)
	calls.settle(t, s)
	calls.check(t, "settle", settled)
	must(t, s.Close(CleanStop{}))
	calls.check(t, "stop", map[vfs.Kind]int{vfs.OpOpen: 2, vfs.OpTruncate: 2, vfs.OpClose: 2})

	s = open()
	must(t, s.Close(CleanStop{}))
	stopped := maps.Clone(load)
	stopped[vfs.OpStat]++ // is there anything in the file of epochs?
	for kind, n := range map[vfs.Kind]int{vfs.OpCreate: 1, vfs.OpWrite: 1, vfs.OpSync: 1, vfs.OpClose: 1, vfs.OpRename: 1, vfs.OpSyncDir: 1} {
		stopped[kind] += n
	}
	calls.check(t, "start and stop at once", stopped)

	s = open()
	must(t, s.Abort())
	s = open()
	calls.check(t, "start after a crash", load)
	calls.settle(t, s)
	settled[vfs.OpStat], settled[vfs.OpTruncate], settled[vfs.OpOpen], settled[vfs.OpClose] = 0, 4, 4, 5 // emptied, then grown; by name on disk
	calls.check(t, "settle after a crash", settled)
	must(t, s.Close(CleanStop{}))
	if found, err := Verify(mem, "/data"); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
	if info, err := mem.Stat(filepath.Join("/data", "t7-0", segmentFileName(0, indexSuffix))); err != nil || info.Size() != 0 {
		t.Errorf("index after a clean stop: %v, %v", info, err)
	}
}

// TestSyncsOfAStop: a partition with records is made durable with five syncs: its log, both indexes, the producer snapshot and, once, its directory.
func TestSyncsOfAStop(t *testing.T) {
	mem, calls := vfs.NewMem(), &countedCalls{byKind: map[vfs.Kind]int{}}
	s, err := Open(Options{FS: vfs.NewFaulty(mem, calls.note), Dirs: []string{"/data"}, NodeID: 1})
	must(t, err)
	must(t, s.Load(t.Context()))
	for i := range countedLogs {
		l, err := s.Create(TopicPartition{Topic: fmt.Sprint("t", i)}, NewUUID(), nil, DefaultConfig())
		must(t, err)
		mustAppend(t, l, byProducer(t, 0), AppendOptions{})
	}
	must(t, s.Settle())
	calls.take()
	must(t, s.Close(CleanStop{}))
	got := calls.take()
	if files, dirs := got[vfs.OpSync]/countedLogs, got[vfs.OpSyncDir]/countedLogs; files != 4 || dirs != 1 {
		t.Errorf("a stop syncs %d files and %d directories for each partition, want 4 and 1", files, dirs)
	}
}

// epochAfter is the leader epoch after the newest.
func (l *Log) epochAfter() int32 {
	latest, _ := l.LatestEpoch()
	return latest + 1
}

// BenchmarkManyLogs creates 1,000 partitions, loads them after a crash and after a clean stop: time and memory of each.
func BenchmarkManyLogs(b *testing.B) {
	const many = 1000
	dir := b.TempDir()
	open := func() *Store {
		s, err := Open(Options{Dirs: []string{dir}, NodeID: 1})
		if err == nil {
			err = s.Load(context.Background())
		}
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	s := open()
	b.Run("create", func(b *testing.B) {
		b.ReportAllocs()
		for n := range b.N {
			l, err := s.Create(TopicPartition{Topic: fmt.Sprintf("create-%d-%d", b.N, n)}, NewUUID(), nil, DefaultConfig())
			if err == nil {
				err = l.AssignEpoch(0)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	for i := range many {
		if _, err := s.Create(TopicPartition{Topic: fmt.Sprint("t", i)}, NewUUID(), nil, DefaultConfig()); err != nil {
			b.Fatal(err)
		}
	}
	end := map[string]func() error{
		"crash": func() error { return s.Abort() },
		"clean": func() error { return s.Close(CleanStop{}) },
	}
	for _, how := range []string{"clean", "crash"} {
		b.Run("load after "+how, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				b.StopTimer()
				if err := end[how](); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				s = open()
			}
			b.ReportMetric(float64(len(s.Logs())), "logs")
		})
	}
	if err := s.Close(CleanStop{}); err != nil {
		b.Fatal(err)
	}
}

// TestSettleBesideUse: a loaded log grows its indexes and writes its epochs beside the first appends, reads and flushes, and
// beside its end. Nothing is lost, whichever comes first.
func TestSettleBesideUse(t *testing.T) {
	mem := vfs.NewMem()
	tp := func(i int) TopicPartition { return TopicPartition{Topic: "t", Partition: int32(i)} }
	const logs, rounds = 6, 5
	config := DefaultConfig()
	config.IndexIntervalBytes = 1
	o := Options{FS: mem, Dirs: []string{"/data"}, NodeID: 1, Default: config}
	s := openStore(t, o)
	for i := range logs {
		_, err := s.Create(tp(i), NewUUID(), nil, config)
		must(t, err)
	}
	for round := range rounds {
		if round%2 == 0 {
			must(t, s.Close(CleanStop{}))
		} else {
			must(t, s.Abort())
		}
		s = openStore(t, o)
		var everyone sync.WaitGroup
		for i := range logs {
			l := s.Log(tp(i))
			must(t, l.BeginEpoch(l.epochAfter()))
			everyone.Go(func() { mustBeside(t, l.SettleLoad()) })
			everyone.Go(func() { mustBeside(t, l.SettleLoad()) })
			if i < logs/2 { // the others stay without a record
				set := numbered(t, 10*round, 10)
				everyone.Go(func() {
					_, err := l.Append(set, AppendOptions{LeaderEpoch: int32(round)})
					mustBeside(t, err, l.Flush(l.EndOffset()))
				})
			}
			everyone.Go(func() {
				_, err := l.Read(l.StartOffset(), 1<<20, ReadOptions{UpperBound: l.EndOffset()})
				mustBeside(t, err)
				_, _, _, _, err = l.OffsetForTimestamp(0, l.EndOffset())
				mustBeside(t, err)
			})
			if round == rounds-1 && i%2 == 1 {
				everyone.Go(func() { mustBeside(t, l.Flush(l.EndOffset())) })
			}
		}
		everyone.Wait()
	}
	for i := range logs {
		want := 0
		if i < logs/2 {
			want = 10 * rounds
		}
		l := s.Log(tp(i))
		if got, err := readFrom(l, 0, 1<<20, l.EndOffset()); err != nil || !slices.Equal(got, counting(0, want)) {
			t.Errorf("log %d: %d records, want %d, %v", i, len(got), want, err)
		}
		for _, f := range []struct {
			suffix string
			size   int64
		}{{indexSuffix, int64(config.IndexBytes / 8 * 8)}, {timeIndexSuffix, int64(config.IndexBytes / 12 * 12)}} {
			info, err := mem.Stat(filepath.Join(l.Dir(), segmentFileName(0, f.suffix)))
			if err != nil || info.Size() != f.size {
				t.Errorf("log %d: %s settled with %v, %v, want %d", i, f.suffix, info, err, f.size)
			}
		}
	}
	must(t, s.Close(CleanStop{}))
	if found, err := Verify(mem, "/data"); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}

// mustBeside is must for a goroutine beside the test's.
func mustBeside(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestSettleMeetsTheEnd: logs that are closed, abandoned or deleted while they settle.
func TestSettleMeetsTheEnd(t *testing.T) {
	mem := vfs.NewMem()
	o := Options{FS: mem, Dirs: []string{"/data"}, NodeID: 1}
	for round := range 10 {
		s := openStore(t, o)
		tp := TopicPartition{Topic: "t", Partition: int32(round)}
		_, err := s.Create(tp, NewUUID(), nil, DefaultConfig())
		must(t, err)
		must(t, s.Close(CleanStop{}))
		s = openStore(t, o)
		var everyone sync.WaitGroup
		for _, l := range s.Logs() {
			must(t, l.BeginEpoch(l.epochAfter()))
			everyone.Go(func() { mustBeside(t, l.SettleLoad()) })
		}
		everyone.Go(func() {
			switch round % 3 {
			case 0:
				mustBeside(t, s.Close(CleanStop{}))
			case 1:
				mustBeside(t, s.Abort())
			default:
				mustBeside(t, s.Delete(tp))
			}
		})
		everyone.Wait()
		must(t, s.Close(CleanStop{}))
		if found, err := Verify(mem, "/data"); err != nil || len(found) > 0 {
			t.Errorf("round %d: %v, %v", round, found, err)
		}
	}
}
