package partition

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/record"
)

// newStore opens an empty store.
func newStore(t testing.TB) *logstore.Store {
	t.Helper()
	s, err := logstore.Open(logstore.Options{FS: vfs.OS(), Dirs: []string{t.TempDir()}, NodeID: 1, Default: logstore.DefaultConfig()})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close(logstore.CleanStop{BrokerEpoch: -1})) })
	must(t, s.Load(context.Background()))
	return s
}

// openLog makes a log of a store, which is named as its directory is.
func openLog(t testing.TB, s *logstore.Store, name string, change func(*logstore.Config)) *logstore.Log {
	t.Helper()
	config := logstore.DefaultConfig()
	config.IndexBytes = 4096
	if change != nil {
		change(&config)
	}
	topic, number, _ := strings.Cut(name, "-")
	partition, err := strconv.Atoi(number)
	must(t, err)
	log, err := s.Create(logstore.TopicPartition{Topic: topic, Partition: int32(partition)}, logstore.NewUUID(), nil, config)
	must(t, err)
	return log
}

// lead makes a Manager that leads new partitions of the given names in epoch 0.
func lead(t testing.TB, names ...string) (*Manager, []*Partition) {
	t.Helper()
	s := newStore(t)
	m := New(Options{Store: s})
	var partitions []*Partition
	for _, name := range names {
		p, err := m.Add(openLog(t, s, name, nil), 0)
		must(t, err)
		partitions = append(partitions, p)
	}
	return m, partitions
}

// fetch fetches, and keeps nothing for the next one.
func fetch(m *Manager, ctx context.Context, reads []Read, spec FetchSpec, dst []ReadResult) []ReadResult {
	dst, rest := m.Fetch(ctx, reads, spec, dst)
	if rest != nil {
		rest.End()
	}
	return dst
}

// newBatch builds a batch as a producer sends it.
func newBatch(t testing.TB, o record.BuilderOptions, values ...string) record.Batch {
	t.Helper()
	o.LeaderEpoch = -1
	b := record.NewBuilder(o)
	for _, v := range values {
		if err := b.Append(record.Record{Timestamp: 1000, Value: []byte(v)}); err != nil {
			t.Fatal(err)
		}
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

// produce appends one batch of plain records and returns its size.
func produce(t testing.TB, p *Partition, values ...string) int {
	t.Helper()
	batch := newBatch(t, record.BuilderOptions{}, values...)
	if _, err := p.Append(batch, logstore.AppendOptions{Origin: logstore.Client}); err != nil {
		t.Fatal(err)
	}
	return len(batch)
}

// from asks for a partition's records from an offset on, without limits.
func from(p *Partition, offset int64) Read {
	return Read{Partition: p, FetchOffset: offset, MaxBytes: 1 << 20, CurrentLeaderEpoch: -1, LastFetchedEpoch: -1}
}

// sizes are the bytes of the results, which are released.
func sizes(results []ReadResult) []int {
	var all []int
	for i := range results {
		all = append(all, int(results[i].size()))
	}
	release(results)
	return all
}
