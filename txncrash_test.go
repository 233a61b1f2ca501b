package minibroker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"minibroker/group"
	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/record"
	"minibroker/txn"
)

// txnScript commits and aborts transactions of both versions: each writes a value to a partition and commits an offset.
type txnScript struct {
	t *testing.T
	b *Broker

	mu   sync.Mutex
	done []txnPromise // the last one may be without an answer
}

type txnPromise struct {
	id       string
	value    string
	offset   int64
	commit   bool
	answered bool
}

// now is what was answered so far.
func (s *txnScript) now() []txnPromise {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.done)
}

func (s *txnScript) prepare() error {
	if err := s.b.formatting.wait(); err != nil {
		return err
	}
	small := map[string]string{"internal.segment.bytes": "1500"}
	_, err := s.b.meta.CreateTopics([]metadata.NewTopic{{Name: "data", Partitions: 1, Configs: small}, {Name: offsetsTopic, Partitions: 1, Configs: small},
		{Name: transactionTopic, Partitions: 1, Configs: small}})
	return err
}

// run makes the transactions. An error ends it.
func (s *txnScript) run() error {
	producers := map[string]txn.Producer{}
	for n := range 6 {
		id, version := "old", txn.Version0
		if n%2 == 1 {
			id, version = "new", txn.Version2
		}
		p, ok := producers[id]
		if !ok {
			var err error
			if p, err = s.b.transactions.InitProducerID(txn.InitRequest{ID: id, TimeoutMs: 60_000}); err != nil {
				return err
			}
		}
		next, err := s.transaction(n, id, p, version)
		if err != nil {
			return err
		}
		producers[id] = next
	}
	return nil
}

func (s *txnScript) transaction(n int, id string, p txn.Producer, version txn.Version) (txn.Producer, error) {
	w := txnPromise{id: id, value: fmt.Sprintf("%s %d", id, n), offset: int64(n + 1), commit: n%3 != 2}
	s.mu.Lock()
	s.done = append(s.done, w)
	s.mu.Unlock()
	err := s.b.transactions.AddPartitions(id, p, []txn.Partition{{Topic: "data"}, {Topic: offsetsTopic}}, version)
	if err != nil {
		return p, err
	}
	sequence := int32(0)
	part, err := s.b.partitions.Get(logstore.TopicPartition{Topic: "data"})
	if err != nil {
		return p, err
	}
	for _, known := range part.Log().ActiveProducers() {
		if known.ProducerID == p.ID && known.ProducerEpoch == p.Epoch {
			sequence = known.LastSequence + 1
		}
	}
	b := record.NewBuilder(record.BuilderOptions{Transactional: true, Producer: &record.Producer{ID: p.ID, Epoch: p.Epoch, BaseSequence: sequence}})
	if err := b.Append(record.Record{Timestamp: time.Now().UnixMilli(), Value: []byte(w.value)}); err != nil {
		return p, err
	}
	batch, err := b.Build()
	if err != nil {
		return p, err
	}
	if _, err := part.Append(batch, logstore.AppendOptions{TransactionVersion: int16(version)}); err != nil {
		return p, err
	}
	_, err = s.b.groups.CommitTransactional(&group.TransactionalCommitRequest{
		GroupID: id, Committer: group.Committer{Generation: -1}, ProducerID: p.ID, ProducerEpoch: p.Epoch, TransactionVersion: int16(version),
		Partitions: []group.CommitPartition{{PartitionName: group.PartitionName{Topic: "data"}, Offset: w.offset, LeaderEpoch: -1}},
	})
	if err != nil {
		return p, err
	}
	next, err := s.b.transactions.End(id, p, w.commit, version)
	if err == nil {
		s.mu.Lock()
		s.done[len(s.done)-1].answered = true
		s.mu.Unlock()
	}
	return next, err
}

// TestCrashInTransactions stops a broker before each of its file operations while it commits and aborts, as a killed
// process and as a power loss would. After a kill, every answered commit and abort is in force, the one without an answer
// is so wholly or not at all, and nothing is left decided without its markers. After a power loss the broker starts and
// takes transactions; every file is sound in both.
func TestCrashInTransactions(t *testing.T) {
	type crash struct {
		op    vfs.Op
		want  []txnPromise
		model vfs.CrashModel
		left  *vfs.Mem
	}
	var mu sync.Mutex
	var crashes []crash
	mem := vfs.NewMem()
	b, err := Open(t.Context(), Options{Config: memConfig(t), FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	s := &txnScript{t: t, b: b}
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	mem.SetHook(func(op vfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		for _, model := range []vfs.CrashModel{vfs.KeepAll, vfs.KeepSynced} {
			crashes = append(crashes, crash{op, s.now(), model, mem.CrashClone(model)})
		}
		return nil
	})
	if err := s.run(); err != nil {
		t.Fatal(err)
	}
	mem.SetHook(nil)
	if err := b.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	for n, c := range crashes {
		if c.model == vfs.KeepAll && n%6 == 0 {
			if err := showTransactions(t, c.left, c.want); err != nil {
				t.Errorf("shown read-only, before operation %d, %v of %s: %v", c.op.N, c.op.Kind, c.op.Name, err)
			}
		}
		if err := restartTransactions(t, c.left, c.want, c.model == vfs.KeepSynced); err != nil {
			t.Errorf("crash (model %d) before operation %d, %v of %s, with %+v: %v", c.model, c.op.N, c.op.Kind, c.op.Name, c.want[max(0, len(c.want)-1):], err)
		}
	}
	t.Logf("%d states tried", len(crashes))
}

// showTransactions shows what a kill left: decided transactions are complete there too, in memory alone.
func showTransactions(t *testing.T, fsys vfs.FS, want []txnPromise) error {
	t.Helper()
	b, err := Open(t.Context(), Options{Config: memConfig(t), FS: fsys, ReadOnly: true})
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	defer b.Abort()
	if err := keepsTransactions(b, want); err != nil {
		return err
	}
	part, err := b.partitions.Get(logstore.TopicPartition{Topic: "data"})
	if err != nil {
		return err
	}
	if _, err := part.Append(record.BuildMarker(record.MarkerOptions{ProducerID: 1}), logstore.AppendOptions{Origin: logstore.Coordinator}); !errors.Is(err, logstore.ErrReadOnly) {
		return fmt.Errorf("an append was answered with %v", err)
	}
	return nil
}

func restartTransactions(t *testing.T, fsys vfs.FS, want []txnPromise, powerLoss bool) error {
	t.Helper()
	b, err := Open(t.Context(), Options{Config: memConfig(t), FS: fsys})
	if err != nil {
		return fmt.Errorf("start: %w", err)
	}
	if !powerLoss {
		if err := keepsTransactions(b, want); err != nil {
			b.Abort()
			return err
		}
	}
	for _, id := range []string{"old", "new"} {
		_, err := b.transactions.InitProducerID(txn.InitRequest{ID: id, TimeoutMs: 1000})
		if errors.Is(err, txn.ErrConcurrent) { // it aborted an open one
			_, err = b.transactions.InitProducerID(txn.InitRequest{ID: id, TimeoutMs: 1000})
		}
		if err != nil && !(powerLoss && errors.Is(err, txn.ErrNotCoordinator)) { // whose topic was not on the disk yet
			b.Abort()
			return fmt.Errorf("init of %s after the restart: %w", id, err)
		}
	}
	if part, err := b.partitions.Get(logstore.TopicPartition{Topic: "data"}); !powerLoss && (err != nil || part.LastStableOffset() != part.EndOffset()) {
		b.Abort()
		return fmt.Errorf("a transaction is left open: %v", err)
	}
	if err := b.Close(context.Background()); err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	found, err := logstore.Verify(fsys, "/data")
	if len(found) > 0 {
		return errors.Join(fmt.Errorf("%d findings, the first: %s", len(found), found[0]), err)
	}
	return err
}

// keepsTransactions checks what was answered.
func keepsTransactions(b *Broker, want []txnPromise) error {
	part, err := b.partitions.Get(logstore.TopicPartition{Topic: "data"})
	if err != nil {
		return err
	}
	values, err := committedValues(part.Log())
	if err != nil {
		return err
	}
	offsets := map[string]int64{"old": -1, "new": -1}
	expected := 0
	for _, w := range want {
		there := slices.Contains(values, w.value)
		if w.answered && there != w.commit || !w.answered && there && !w.commit {
			return fmt.Errorf("%s is committed: %v, promised %+v", w.value, there, w)
		}
		if there {
			expected++
			offsets[w.id] = w.offset
		}
	}
	if len(values) != expected {
		return fmt.Errorf("committed %q", values)
	}
	for id, offset := range offsets {
		d, err := b.transactions.Describe(id)
		if err != nil && !errors.Is(err, txn.ErrNotFound) || d.State == txn.PrepareCommit || d.State == txn.PrepareAbort {
			return fmt.Errorf("%s: %s, %v", id, d.State, err)
		}
		got, err := b.groups.Fetch(&group.FetchRequest{GroupID: id, MemberEpoch: -1}, []group.FetchPartition{{PartitionName: group.PartitionName{Topic: "data"}}})
		if err != nil || got[0].Offset.Offset != offset {
			return fmt.Errorf("%s: offset %+v, %v; want %d", id, got, err, offset)
		}
	}
	return nil
}

// committedValues reads the values of committed transactions.
func committedValues(log *logstore.Log) (values []string, err error) {
	open := map[int64][]string{}
	for at := log.StartOffset(); at < log.EndOffset(); {
		info, err := log.Read(at, 1, logstore.ReadOptions{UpperBound: log.EndOffset(), MinOneMessage: true})
		if err != nil || info.Records == nil {
			return nil, fmt.Errorf("read at %d: nothing, %v", at, err)
		}
		b := make(record.Batch, info.Records.Len())
		_, err = info.Records.ReadAt(b, 0)
		info.Records.Release()
		if err != nil {
			return nil, err
		}
		at = info.NextOffset
		if b.IsControl() {
			m, err := b.Marker()
			if err != nil {
				return nil, err
			}
			if m.Commit {
				values = append(values, open[b.ProducerID()]...)
			}
			delete(open, b.ProducerID())
			continue
		}
		if err := b.ForEach(1<<20, func(r *record.Record) error {
			open[b.ProducerID()] = append(open[b.ProducerID()], string(r.Value))
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return values, nil
}
