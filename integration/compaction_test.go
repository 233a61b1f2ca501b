package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"minibroker/record"
)

// keyValue is a record; a nil value is a tombstone.
type keyValue struct {
	key   string
	value []byte
}

func words(pairs ...string) []keyValue {
	var all []keyValue
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, keyValue{pairs[i], []byte(pairs[i+1])})
	}
	return all
}

// sendBatch sends one batch of records with one timestamp (ms).
func sendBatch(t *testing.T, conn *Conn, topic string, ms int64, records []keyValue) {
	t.Helper()
	b := record.NewBuilder(record.BuilderOptions{})
	for _, r := range records {
		if err := b.Append(record.Record{Key: []byte(r.key), Value: r.value, Timestamp: ms}); err != nil {
			t.Fatal(err)
		}
	}
	batch, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	answer, err := conn.Produce(topic, 0, batch)
	if err != nil || answer.ErrorCode != 0 {
		t.Fatalf("produce to %s: error %d, %v", topic, answer.ErrorCode, err)
	}
}

// awaitCleaned waits until the cleaner has come to an offset.
func awaitCleaned(t *testing.T, p *Process, topic string, offset int64) {
	t.Helper()
	line := fmt.Sprintf("\n%s 0 %d\n", topic, offset)
	file := filepath.Join(p.Data, "cleaner-offset-checkpoint")
	if !await(patience, func() bool {
		b, _ := os.ReadFile(file)
		return strings.Contains(string(b), line)
	}) {
		b, _ := os.ReadFile(file)
		t.Fatalf("no line %q in the cleaner's checkpoint: %q\n%s", strings.TrimSpace(line), b, p.Output())
	}
}

// TestCompactionExample compacts ten records of three keys, the last one a tombstone: 199 bytes become 110, and of the
// offsets 6, 8 and 9 are left.
func TestCompactionExample(t *testing.T) {
	p := startProcess(t, filepath.Join(t.TempDir(), "data"), freeAddr(t), []string{"log.cleaner.backoff.ms=300"})
	conn, err := dial(p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.CreateTopic("cmp", 1, map[string]string{"cleanup.policy": "compact", "segment.ms": "5000",
		"min.cleanable.dirty.ratio": "0.01", "file.delete.delay.ms": "60000"}); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixMilli()
	ten := words("user1", "a1", "user2", "b1", "user3", "c1", "user1", "a2", "user2", "b2", "user3", "c2", "user1", "a3", "user2", "b3", "user3", "c3")
	sendBatch(t, conn, "cmp", now-40_000, append(ten, keyValue{key: "user2"}))
	sendBatch(t, conn, "cmp", now-34_000, words("user4", "d1"))
	awaitCleaned(t, p, "cmp", 10)
	dir := filepath.Join(p.Data, "cmp-0")
	for name, want := range map[string]int64{"00000000000000000000.log": 110, "00000000000000000000.log.deleted": 199,
		"00000000000000000000.index": 0, "00000000000000000000.timeindex": 12} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() != want {
			t.Errorf("%s: %v, want %d bytes", name, err, want)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "00000000000000000000.log"))
	if err != nil {
		t.Fatal(err)
	}
	batch, _, err := record.Next(data)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	if err := batch.ForEach(0, func(r *record.Record) error {
		left = append(left, fmt.Sprintf("%d %s=%s", r.Offset, r.Key, r.Value))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"6 user1=a3", "8 user3=c3", "9 user2="}; !slices.Equal(left, want) || batch.LastOffset() != 9 {
		t.Errorf("left is %q up to offset %d, want %q", left, batch.LastOffset(), want)
	}
	p.Stop(t)
}

// TestCompactedTopicReadToTheEnd: stock clients read a compacted topic, whose offsets have holes, from the start to the
// end, while it runs and after a kill in the middle of the next pass.
func TestCompactedTopicReadToTheEnd(t *testing.T) {
	data, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
	settings := []string{"log.cleaner.backoff.ms=200"}
	p := startProcess(t, data, addr, settings)
	conn, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.CreateTopic("keys", 1, map[string]string{"cleanup.policy": "compact", "segment.ms": "10000",
		"min.cleanable.dirty.ratio": "0.01", "segment.index.bytes": "4096"}); err != nil {
		t.Fatal(err)
	}
	rewrite := func(round int, from int64) {
		for i := range 300 {
			ms := from + int64(i/50)*20_000 // six segments
			sendBatch(t, conn, "keys", ms, words("k1", fmt.Sprintf("%d.%d", round, i), "k2", "x", fmt.Sprintf("only-%d-%d", round, i%40), "y"))
		}
	}
	begin := time.Now().Add(-time.Hour).UnixMilli()
	rewrite(1, begin)
	awaitCleaned(t, p, "keys", 750)
	compareReaders(t, addr, conn, "running")
	rewrite(2, begin+600_000)
	p.Kill()
	p = startProcess(t, data, addr, settings)
	if conn, err = dial(addr); err != nil {
		t.Fatal(err)
	}
	awaitCleaned(t, p, "keys", 1650)
	compareReaders(t, addr, conn, "after a kill")
	conn.Close()
	p.Stop(t)
	t.Run("dump", func(t *testing.T) { dumpLog(t, data) })
}

// compareReaders lets every client read topic "keys"; all must see what franz-go sees, each key's newest value.
func compareReaders(t *testing.T, addr string, conn *Conn, when string) {
	end, err := conn.ListOffset("keys", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	want := recordsBelow(t, addr, "keys", end)
	for _, c := range []client{javaClient{}, kcatClient{}} {
		t.Run(when+": "+c.name(), func(t *testing.T) {
			c.need(t)
			if got := c.consume(t, addr, "keys", len(want)); !slices.Equal(got, want) {
				t.Errorf("%d lines, franz-go read %d", len(got), len(want))
			}
		})
	}
}

// recordsBelow reads the values up to an offset and checks that offsets rise.
func recordsBelow(t *testing.T, addr, topic string, end int64) []string {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var values []string
	last := int64(-1)
	for last < end-1 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset <= last {
				t.Errorf("offset %d after %d", r.Offset, last)
			}
			last = r.Offset
			values = append(values, string(r.Value))
		})
	}
	return values
}
