package integration

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// reader is a member of a group that commits what it has read before it asks for more.
type reader struct {
	cl   *kgo.Client
	stop context.CancelFunc
	done chan struct{}
}

// tally counts how often each record was read, and how many were committed, by all readers of a test.
type tally struct {
	changed chan struct{} // holds one when there is news

	mu        sync.Mutex
	reads     map[string]int
	committed int
}

func newTally() *tally {
	return &tally{changed: make(chan struct{}, 1), reads: map[string]int{}}
}

// note changes the tally and wakes who waits for it.
func (c *tally) note(change func()) {
	c.mu.Lock()
	change()
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// await waits until a condition on the tally holds.
func (c *tally) await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	patient := time.After(patience)
	for {
		c.mu.Lock()
		done, have, committed := holds(), len(c.reads), c.committed
		c.mu.Unlock()
		if done {
			return
		}
		select {
		case <-c.changed:
		case <-patient:
			t.Fatalf("waited %v for %s: %d read, %d committed", patience, what, have, committed)
		}
	}
}

// awaitReads waits until n different records have been read.
func (c *tally) awaitReads(t *testing.T, n int) {
	t.Helper()
	c.await(t, fmt.Sprintf("%d records", n), func() bool { return len(c.reads) >= n })
}

// repeated lists the records that were read more than once.
func (c *tally) repeated() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for value, n := range c.reads {
		if n > 1 {
			all = append(all, fmt.Sprintf("%s x%d", value, n))
		}
	}
	return all
}

func startReader(t *testing.T, addr, topic string, c *tally, opts ...kgo.Opt) *reader {
	t.Helper()
	opts = append([]kgo.Opt{
		kgo.SeedBrokers(addr), kgo.ConsumerGroup("readers"), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.HeartbeatInterval(200 * time.Millisecond),
		kgo.SessionTimeout(6 * time.Second), kgo.RebalanceTimeout(10 * time.Second),
	}, opts...)
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &reader{cl: cl, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		for ctx.Err() == nil {
			fetches := cl.PollRecords(ctx, 50)
			c.note(func() {
				fetches.EachRecord(func(rec *kgo.Record) { c.reads[string(rec.Value)]++ })
			})
			// Not ctx: who leaves commits first.
			committing, cancel := context.WithTimeout(context.Background(), patience)
			if err := cl.CommitUncommittedOffsets(committing); err == nil {
				c.note(func() { c.committed += fetches.NumRecords() })
			}
			cancel()
			cl.AllowRebalance()
		}
	}()
	t.Cleanup(r.leave)
	return r
}

// leave ends the reader, which commits what it has read and says goodbye.
func (r *reader) leave() {
	r.stop()
	<-r.done
	r.cl.CloseAllowingRebalance()
}

// produceNumbers writes count records, each with its number, to a topic's partitions in turn.
func produceNumbers(t *testing.T, addr, topic string, first, count int) {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(topic), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var records []*kgo.Record
	for i := range count {
		records = append(records, kgo.StringRecord(fmt.Sprint(first+i)))
	}
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// TestGroupReadsEachRecordOnce lets members of a group come and go while records are written: each must be read exactly
// once, with the eager and with the cooperative way of rebalancing, and with static members.
func TestGroupReadsEachRecordOnce(t *testing.T) {
	kinds := map[string]func(i int) []kgo.Opt{
		"range":       func(int) []kgo.Opt { return []kgo.Opt{kgo.Balancers(kgo.RangeBalancer())} },
		"cooperative": func(int) []kgo.Opt { return []kgo.Opt{kgo.Balancers(kgo.CooperativeStickyBalancer())} },
		"static":      func(i int) []kgo.Opt { return []kgo.Opt{kgo.InstanceID(fmt.Sprint("i", i))} },
	}
	for name, options := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := freeAddr(t)
			p := startProcess(t, filepath.Join(t.TempDir(), "data"), addr, nil)
			createTopic(t, addr, "numbers", 6, nil)
			c := newTally()
			first := startReader(t, addr, "numbers", c, options(0)...)
			produceNumbers(t, addr, "numbers", 0, 300)
			c.awaitReads(t, 100)
			second := startReader(t, addr, "numbers", c, options(1)...)
			produceNumbers(t, addr, "numbers", 300, 300)
			c.awaitReads(t, 600)
			first.leave()
			third := startReader(t, addr, "numbers", c, options(2)...)
			produceNumbers(t, addr, "numbers", 600, 300)
			c.awaitReads(t, 900)
			second.leave()
			third.leave()
			if again := c.repeated(); len(again) > 0 {
				t.Errorf("read more than once: %q", again)
			}
			p.Stop(t)
		})
	}
}

// TestGroupSurvivesKill kills the broker in the middle: no committed offset may be lost, and the same members go on.
func TestGroupSurvivesKill(t *testing.T) {
	data, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
	p := startProcess(t, data, addr, nil)
	createTopic(t, addr, "numbers", 4, nil)
	c := newTally()
	startReader(t, addr, "numbers", c)
	startReader(t, addr, "numbers", c)
	produceNumbers(t, addr, "numbers", 0, 400)
	c.awaitReads(t, 400)
	c.await(t, "400 commits", func() bool { return c.committed == 400 })
	before := offsetsOf(t, addr, "readers")
	p.Kill()
	p = startProcess(t, data, addr, nil)
	if after := offsetsOf(t, addr, "readers"); !maps.Equal(before, after) {
		t.Errorf("offsets %v, before the kill %v", after, before)
	}
	produceNumbers(t, addr, "numbers", 400, 400)
	c.awaitReads(t, 800)
	if again := c.repeated(); len(again) > 0 {
		t.Errorf("read more than once: %q", again)
	}
}

// offsetsOf are a group's offsets by partition.
func offsetsOf(t *testing.T, addr, group string) map[int32]int64 {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	req.Groups = append(req.Groups, g)
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		t.Fatal(err)
	}
	offsets := map[int32]int64{}
	for _, topic := range resp.Groups[0].Topics {
		for _, p := range topic.Partitions {
			offsets[p.Partition] = p.Offset
		}
	}
	return offsets
}

// awaitOffsets waits until a group has committed so many records of its one topic.
func awaitOffsets(t *testing.T, addr, group string, records int) {
	t.Helper()
	committed := map[int32]int64{}
	if !await(patience, func() bool {
		committed = offsetsOf(t, addr, group)
		total := int64(0)
		for offset := range maps.Values(committed) {
			total += max(offset, 0)
		}
		return total == int64(records)
	}) {
		t.Fatalf("group %s has committed %v of %d records", group, committed, records)
	}
}

// TestGroupsOfClients reads the same lines in a group of its own with kcat and with Java's console consumer, and shows
// the groups with Kafka's tool.
func TestGroupsOfClients(t *testing.T) {
	addr := freeAddr(t)
	p := startProcess(t, filepath.Join(t.TempDir(), "data"), addr, nil)
	lines := []string{"one", "two", "three"}
	goClient{}.produce(t, addr, "words", lines)
	t.Run("kcat", func(t *testing.T) {
		kcatClient{}.need(t)
		out := runCommand(t, "", "kcat", "-b", addr, "-X", "auto.offset.reset=earliest", "-e", "-q", "-G", "of-kcat", "words")
		if got := strings.Fields(out); !slices.Equal(got, lines) {
			t.Errorf("read %q", got)
		}
	})
	t.Run("java", func(t *testing.T) {
		kafkaLibs(t)
		out := java(t, "", "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", addr, "--topic", "words", "--group", "of-java",
			"--from-beginning", "--max-messages", "3", "--command-property", "group.protocol=classic")
		if got := strings.Fields(out); !slices.Equal(got, lines) {
			t.Errorf("read %q", got)
		}
		out = java(t, "", "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--bootstrap-server", addr, "--describe", "--group", "of-java")
		if !strings.Contains(strings.Join(strings.Fields(out), " "), "of-java words 0 3 3 0") {
			t.Errorf("description: %s", out)
		}
	})
	p.Stop(t)
}
