package integration

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// fillTopic writes the values w0, w1, ... to a topic.
func fillTopic(t *testing.T, addr, topic string, n int) (want []string) {
	t.Helper()
	var lines []string
	for i := range n {
		lines = append(lines, fmt.Sprintf("w%03d", i))
		want = append(want, fmt.Sprintf("W%03d", i))
	}
	goClient{}.produce(t, addr, topic, lines)
	return want
}

// readCommitted reads n values that are committed and expects that there are no more.
func readCommitted(t *testing.T, addr, topic string, n int) []string {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var values []string
	for len(values) < n {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %d of %d values: %v", len(values), n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	slices.Sort(values)
	return values
}

// TestJavaTransactions has Java's client copy a topic in transactions, some aborted, and fence itself.
func TestJavaTransactions(t *testing.T) {
	kafkaLibs(t)
	data, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
	p := startProcess(t, data, addr, nil)
	createTopic(t, addr, "in", 3, nil)
	createTopic(t, addr, "out", 2, nil)
	want := fillTopic(t, addr, "in", 95)
	out := java(t, "", "testdata/java/Transact.java", addr, "in", "out", "copier", "95")
	if got, want := strings.TrimSpace(out), "copied 95, some aborted\nfenced"; got != want {
		t.Errorf("the copier says %q, want %q", got, want)
	}
	if got := readCommitted(t, addr, "out", len(want)); !slices.Equal(got, want) {
		t.Errorf("committed: %q", got)
	}
	p.Stop(t)
	dumpLog(t, data)
}

// TestCopyAcrossKills copies a topic in franz-go's transactions while the broker is killed and started again: each
// value comes out once.
func TestCopyAcrossKills(t *testing.T) {
	data, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
	p := startProcess(t, data, addr, nil)
	createTopic(t, addr, "in", 3, nil)
	createTopic(t, addr, "out", 2, nil)
	want := fillTopic(t, addr, "in", 300)
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	s, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(addr), kgo.TransactionalID("copier"), kgo.ConsumerGroup("copiers"),
		kgo.ConsumeTopics("in"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(), kgo.DefaultProduceTopic("out"), kgo.FetchMaxPartitionBytes(300))
	if err != nil {
		t.Fatal(err)
	}
	for copied, round := 0, 0; copied < len(want); round++ {
		records := s.PollFetches(ctx).Records()
		if ctx.Err() != nil {
			t.Fatalf("copied %d of %d: %v\n%s", copied, len(want), ctx.Err(), p.Output())
		}
		if len(records) == 0 {
			continue
		}
		if copyRecords(t, ctx, s, records, round) {
			copied += len(records)
		}
		if round%5 == 2 && round < 30 {
			p.Kill()
			p = startProcess(t, data, addr, nil)
		}
	}
	s.Close()
	if got := readCommitted(t, addr, "out", len(want)); !slices.Equal(got, want) {
		t.Errorf("committed %d values: %q", len(got), got)
	}
	p.Stop(t)
}

// copyRecords copies in one transaction, every fourth of which is aborted, and reports whether it was committed.
func copyRecords(t *testing.T, ctx context.Context, s *kgo.GroupTransactSession, records []*kgo.Record, round int) bool {
	t.Helper()
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
	produced := kgo.AbortingFirstErrPromise(s.Client())
	for _, r := range records {
		s.Produce(ctx, kgo.StringRecord(strings.ToUpper(string(r.Value))), produced.Promise())
	}
	failed := produced.Err() != nil
	committed, err := s.End(ctx, kgo.TransactionEndTry(!failed && round%4 != 3))
	if err != nil && !errors.Is(err, kerr.OperationNotAttempted) {
		t.Fatalf("end of round %d: %v", round, err)
	}
	return committed
}
