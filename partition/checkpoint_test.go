package partition

import (
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// TestCheckpointHighWatermarks: the file follows every change of a high watermark, of the partitions that are led and of the
// directories that they are in; without one, no partition is even looked at.
func TestCheckpointHighWatermarks(t *testing.T) {
	mem := vfs.NewMem()
	s, err := logstore.Open(logstore.Options{FS: mem, Dirs: []string{"/a", "/b"}, NodeID: 1, Default: logstore.DefaultConfig()})
	must(t, err)
	defer func() { must(t, s.Close(logstore.CleanStop{BrokerEpoch: -1})) }()
	must(t, s.Load(t.Context()))
	m := New(Options{Store: s})
	one, two := logstore.TopicPartition{Topic: "one"}, logstore.TopicPartition{Topic: "two"}
	add := func(tp logstore.TopicPartition) *Partition {
		t.Helper()
		log, err := s.Create(tp, logstore.NewUUID(), nil, logstore.DefaultConfig())
		must(t, err)
		p, err := m.Add(log, 0)
		must(t, err)
		return p
	}
	written := func(what string, want map[logstore.TopicPartition]int64) {
		t.Helper()
		must(t, m.CheckpointHighWatermarks())
		got := map[logstore.TopicPartition]int64{}
		for _, dir := range []string{"/a", "/b"} {
			marks, err := logstore.ReadOffsetCheckpoint(mem, dir+"/replication-offset-checkpoint")
			must(t, err)
			for tp, at := range marks {
				got[tp] = at
			}
		}
		if len(got) != len(want) || got[one] != want[one] || got[two] != want[two] {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
		if m.moved.Load() || m.placings != s.Placings() {
			t.Errorf("%s: the partitions are to be looked at again though nothing has changed", what)
		}
		before := mem.Ops()
		if must(t, m.CheckpointHighWatermarks()); mem.Ops() != before {
			t.Errorf("%s: written twice", what)
		}
	}
	written("without partitions", nil)
	p := add(one)
	written("a partition", map[logstore.TopicPartition]int64{one: 0})
	produce(t, p, "a", "b")
	written("two records", map[logstore.TopicPartition]int64{one: 2})
	produce(t, add(two), "c")
	written("another partition", map[logstore.TopicPartition]int64{one: 2, two: 1})
	m.Remove(two)
	written("one that is led no more", map[logstore.TopicPartition]int64{one: 2})
	must(t, s.Delete(two))
	written("and deleted", map[logstore.TopicPartition]int64{one: 2})
	m.TakeOffline([]logstore.TopicPartition{one})
	written("one whose directory failed", nil)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
