package partition

import (
	"path/filepath"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/record"
)

// openLog opens a new log in a directory of its own.
func openLog(t testing.TB, name string, change func(*logstore.Config)) *logstore.Log {
	t.Helper()
	config := logstore.DefaultConfig()
	config.IndexBytes = 4096
	if change != nil {
		change(&config)
	}
	log, err := logstore.OpenLog(logstore.LogOptions{FS: vfs.OS(), Dir: filepath.Join(t.TempDir(), name), Config: config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Errorf("close %s: %v", name, err)
		}
	})
	return log
}

// lead makes a Manager that leads new partitions of the given names in epoch 0.
func lead(t testing.TB, names ...string) (*Manager, []*Partition) {
	t.Helper()
	m := New(Options{})
	var partitions []*Partition
	for _, name := range names {
		p, err := m.Add(openLog(t, name, nil), 0)
		if err != nil {
			t.Fatal(err)
		}
		partitions = append(partitions, p)
	}
	return m, partitions
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
