package brokertest

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// newClient is a real client of a broker, closed with the test.
func newClient(t *testing.T, b *Broker, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.Addr()), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RetryBackoffFn(func(int) time.Duration { return time.Millisecond }), kgo.MetadataMinAge(10 * time.Millisecond)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// deadline is a context for everything that a client may wait for.
func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// produce sends values to a partition, one request each.
func produce(t *testing.T, client *kgo.Client, topic string, partition int32, values ...string) {
	t.Helper()
	for _, v := range values {
		r := &kgo.Record{Topic: topic, Partition: partition, Key: []byte("k" + v[:1]), Value: []byte(v)}
		if err := client.ProduceSync(deadline(t), r).FirstErr(); err != nil {
			t.Fatalf("produce %s to %s-%d: %v", v, topic, partition, err)
		}
	}
}

// consume reads n values of a topic from its start.
func consume(t *testing.T, b *Broker, topic string, n int) []string {
	t.Helper()
	client := newClient(t, b, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	var values []string
	for len(values) < n {
		fetches := client.PollFetches(deadline(t))
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	slices.Sort(values)
	return values
}

func TestParallelBrokers(t *testing.T) {
	for i := range 8 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			b := New(t, Topic("orders", 3))
			client := newClient(t, b)
			for p := range int32(3) {
				produce(t, client, "orders", p, fmt.Sprint(i, p))
			}
			want := []string{fmt.Sprint(i, 0), fmt.Sprint(i, 1), fmt.Sprint(i, 2)}
			if got := consume(t, b, "orders", 3); !slices.Equal(got, want) {
				t.Errorf("read %q, want %q", got, want)
			}
			if files, err := filepath.Glob(filepath.Join(b.Dir(), "orders-*", "*.log")); err != nil || len(files) != 3 {
				t.Errorf("logs in %s: %q, %v", b.Dir(), files, err)
			}
		})
	}
}

func TestRestartAndKill(t *testing.T) {
	t.Parallel()
	b := New(t, Topic("orders", 1))
	addr := b.Addr()
	client := newClient(t, b)
	produce(t, client, "orders", 0, "a")
	b.Restart()
	produce(t, client, "orders", 0, "b")
	b.Kill()
	if conn, err := net.Dial("tcp", addr); err == nil {
		conn.Close()
		t.Errorf("a killed broker takes connections")
	}
	b.Restart()
	produce(t, client, "orders", 0, "c")
	if got := consume(t, b, "orders", 3); !slices.Equal(got, []string{"a", "b", "c"}) || b.Addr() != addr {
		t.Errorf("read %q at %s", got, b.Addr())
	}
	b.Kill() // the end recovers it
}

func TestSettingsAndTopics(t *testing.T) {
	t.Parallel()
	b := New(t, Topic("keyed", 2, "cleanup.policy=compact", "retention.ms=1234"), Config("auto.create.topics.enable", "false"),
		Config("log.retention.hours", "5"))
	req := kmsg.NewPtrDescribeConfigsRequest()
	for kind, name := range map[kmsg.ConfigResourceType]string{kmsg.ConfigResourceTypeTopic: "keyed", kmsg.ConfigResourceTypeBroker: "1"} {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kind, name
		req.Resources = append(req.Resources, r)
	}
	resp, err := req.RequestWith(deadline(t), newClient(t, b))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, r := range resp.Resources {
		for _, c := range r.Configs {
			if c.Value != nil {
				found[r.ResourceName+" "+c.Name] = *c.Value
			}
		}
	}
	for key, want := range map[string]string{"keyed cleanup.policy": "compact", "keyed retention.ms": "1234",
		"1 auto.create.topics.enable": "false", "1 log.retention.hours": "5", "1 group.initial.rebalance.delay.ms": "0"} {
		if found[key] != want {
			t.Errorf("%s is %q, want %q", key, found[key], want)
		}
	}
}

func TestCompactAndRetention(t *testing.T) {
	t.Parallel()
	b := New(t, Topic("keyed", 1, "cleanup.policy=compact"), Topic("short", 1, "retention.ms=1"), Topic("both", 1, "cleanup.policy=compact,delete", "retention.ms=1"))
	client := newClient(t, b)
	produce(t, client, "keyed", 0, "a1", "b1", "a2", "a3", "b2")
	b.Compact("keyed")
	if got := consume(t, b, "keyed", 2); !slices.Equal(got, []string{"a3", "b2"}) {
		t.Errorf("after compaction: %q", got)
	}
	b.Compact("keyed") // with nothing to do
	old := time.Now().Add(-time.Hour)
	for _, topic := range []string{"short", "both"} {
		if err := client.ProduceSync(deadline(t), &kgo.Record{Topic: topic, Key: []byte("k"), Value: []byte("x"), Timestamp: old}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	b.RunRetention()
	for _, topic := range []string{"short", "both"} {
		if start := startOffset(t, client, topic); start != 1 {
			t.Errorf("%s starts at %d after retention", topic, start)
		}
	}
}

func startOffset(t *testing.T, client *kgo.Client, topic string) int64 {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	rt := kmsg.NewListOffsetsRequestTopic()
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rt.Topic, rp.Timestamp = topic, -2
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(deadline(t), client)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Topics[0].Partitions[0].Offset
}

// fakeT is a test inside of a test: it notes how it would have failed.
type fakeT struct {
	testing.TB
	name string

	mu       sync.Mutex
	errors   []string
	logs     []string
	cleanups []func()
}

func (f *fakeT) Helper()      {}
func (f *fakeT) Name() string { return f.name }
func (f *fakeT) Failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.errors) > 0
}
func (f *fakeT) Cleanup(fn func()) { f.cleanups = append(f.cleanups, fn) }
func (f *fakeT) Log(args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logs = append(f.logs, fmt.Sprint(args...))
}
func (f *fakeT) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}
func (f *fakeT) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	panic(fatal{})
}
func (f *fakeT) Fatal(args ...any) { f.Fatalf("%s", fmt.Sprint(args...)) }

// fatal is what ends a fake test.
type fatal struct{}

// run runs a fake test with its cleanups and returns its failures.
func run(t *testing.T, test func(f *fakeT)) *fakeT {
	t.Helper()
	f := &fakeT{TB: t, name: t.Name() + "/fake"}
	part := func(fn func()) {
		defer func() {
			if p := recover(); p != nil && p != (fatal{}) {
				panic(p)
			}
		}()
		fn()
	}
	part(func() { test(f) })
	for _, fn := range slices.Backward(f.cleanups) {
		part(fn)
	}
	return f
}
