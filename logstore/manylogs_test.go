package logstore

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
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
	load := map[vfs.Kind]int{vfs.OpReadDir: 1, vfs.OpOpen: 1, vfs.OpRead: 1, vfs.OpStat: 1, vfs.OpClose: 1}
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
	stopped := maps.Clone(load) // Kafka too takes an epoch without records away at a load
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
