package txn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"minibroker/record"
)

// memory is a __transaction_state in memory that can fail, and the partitions
// that markers go to.
type memory struct {
	mu       sync.Mutex
	count    int32
	batches  map[int32][]record.Batch
	fail     func(m *memory) error // asked before each append
	markers  []Marker
	mark     func(Marker) error // asked before each marker
	nextID   int64
	appended int
	// unreadable are the partitions that cannot be replayed.
	unreadable map[int32]error
}

func newMemory() *memory { return &memory{count: 3, batches: map[int32][]record.Batch{}} }

func (m *memory) Partitions() int32                { return m.count }
func (m *memory) LeaderEpoch(int32) (int32, error) { return 4, nil }

func (m *memory) Append(p int32, b record.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		if err := m.fail(m); err != nil {
			return err
		}
	}
	m.appended++
	m.batches[p] = append(m.batches[p], slices.Clone(b))
	return nil
}

func (m *memory) Replay(p int32, fn func(record.Batch) error) error {
	if err := m.unreadable[p]; err != nil {
		return err
	}
	for _, b := range m.batches[p] {
		if err := fn(b); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) WriteMarker(k Marker) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mark != nil {
		if err := m.mark(k); err != nil {
			return err
		}
	}
	m.markers = append(m.markers, k)
	return nil
}

// took returns the markers written since the last call, in words.
func (m *memory) took() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for _, k := range m.markers {
		what := "abort"
		if k.Commit {
			what = "commit"
		}
		all = append(all, fmt.Sprintf("%s %s-%d p%d/%d", what, k.Topic, k.Partition.Partition, k.ProducerID, k.ProducerEpoch))
	}
	m.markers = nil
	return strings.Join(all, ", ")
}

// open makes a coordinator over what the log holds.
func (m *memory) open(t testing.TB) *Coordinator {
	t.Helper()
	c := New(Options{
		Log: m, Markers: m, Level: func() int16 { return 2 },
		ProducerIDs: NewProducerIDs(func() (int64, int64, error) { m.nextID += 1000; return m.nextID, 1000, nil }),
		Settings:    Settings{MaxTimeoutMs: 900_000, TimeoutCheck: 10 * time.Second, ExpirationMs: 604_800_000},
	})
	if err := c.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func begin(t *testing.T, c *Coordinator, id string) Producer {
	t.Helper()
	p, err := c.InitProducerID(InitRequest{ID: id, TimeoutMs: 60_000})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func add(t *testing.T, c *Coordinator, id string, p Producer, v Version, partitions ...Partition) {
	t.Helper()
	if err := c.AddPartitions(id, p, partitions, v); err != nil {
		t.Fatal(err)
	}
}

func state(t *testing.T, c *Coordinator, id string) string {
	t.Helper()
	d, err := c.Describe(id)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s p%d/%d %v", d.State, d.Producer.ID, d.Producer.Epoch, d.Partitions)
}
