package integration

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	pipelineRoundsEnv  = "MINIBROKER_PIPELINE_ROUNDS" // default 3
	pipelineSeedEnv    = "MINIBROKER_PIPELINE_SEED"   // default random, always printed
	pipelinePartitions = 4
	pipelineLead       = 300 // records by which the input may be ahead of the slowest copy
)

// pipeline copies a topic with several clients while they and the broker are killed.
type pipeline struct {
	t       *testing.T
	data    string
	addr    string
	rand    *rand.Rand
	broker  *Process
	clients []*pipelineClient
	groups  []string
	kills   map[string]int

	sent    atomic.Int64 // records given to the input
	acked   atomic.Int64
	slowest atomic.Int64 // what the slowest group has copied
}

// TestPipeline has Java's client, librdkafka and franz-go consume, transform and produce in transactions while clients and
// the broker are killed with SIGKILL at random moments. In the end the committed output of each is the image of the
// input, every record once, and no transaction is open anywhere.
func TestPipeline(t *testing.T) {
	rounds := envInt(t, pipelineRoundsEnv, 3)
	seed := envInt(t, pipelineSeedEnv, int(time.Now().UnixNano()&0x7fffffff))
	t.Logf("%d rounds, %s=%d", rounds, pipelineSeedEnv, seed)
	addr := freeAddr(t)
	x := &pipeline{t: t, data: filepath.Join(t.TempDir(), "data"), addr: addr, rand: rand.New(rand.NewPCG(uint64(seed), 1)),
		clients: pipelineClients(t, addr), groups: []string{"group-java", "group-python", "group-kgo"}, kills: map[string]int{}}
	x.start()
	createTopic(t, addr, "in", pipelinePartitions, nil)
	for _, out := range []string{"out-java", "out-python", "out-kgo"} {
		createTopic(t, addr, out, 2, map[string]string{"internal.segment.bytes": "20000"})
	}
	for _, c := range x.clients {
		go c.run()
		t.Cleanup(c.stop)
	}
	stopFeeding := x.feed()
	for round := range rounds {
		x.round(round)
	}
	stopFeeding()
	x.finish()
}

func (x *pipeline) start() {
	x.broker = startProcess(x.t, x.data, x.addr, []string{"group.min.session.timeout.ms=500", "group.initial.rebalance.delay.ms=0",
		"offsets.topic.num.partitions=3", "transaction.state.log.num.partitions=3", "log.initial.task.delay.ms=20",
		"log.flush.offset.checkpoint.interval.ms=50", "replica.high.watermark.checkpoint.interval.ms=50"})
}

// feed writes the numbers 0, 1, 2 ... to the input, never far ahead of the slowest copy, until the function returned is
// called; it returns when all are acknowledged.
func (x *pipeline) feed() (stop func()) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(x.addr), kgo.DefaultProduceTopic("in"), kgo.ProducerLinger(time.Millisecond),
		kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.UnknownTopicRetries(-1), kgo.RecordRetries(1<<30), kgo.MetadataMinAge(20*time.Millisecond))
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(cl.Close)
	ctx, cancel := context.WithCancel(x.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for tick := time.NewTicker(10 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			for n := 0; n < 20 && x.sent.Load() < x.slowest.Load()+pipelineLead; n++ {
				cl.Produce(context.WithoutCancel(ctx), kgo.StringRecord(strconv.FormatInt(x.sent.Add(1)-1, 10)), func(_ *kgo.Record, err error) {
					if err == nil {
						x.acked.Add(1)
					}
				})
			}
		}
	}()
	return func() {
		cancel()
		<-done
		if err := cl.Flush(x.t.Context()); err != nil || x.acked.Load() != x.sent.Load() {
			x.t.Fatalf("%d of %d records of the input acknowledged, %v", x.acked.Load(), x.sent.Load(), err)
		}
	}
}

// round waits until every group has copied some more, then kills.
func (x *pipeline) round(round int) {
	x.t.Helper()
	before := map[string]int64{}
	for _, g := range x.groups {
		before[g], _ = x.copied(g)
	}
	x.await(fmt.Sprintf("round %d", round), func(g string, copied int64) bool { return copied >= before[g]+60 })
	<-time.After(time.Duration(x.rand.IntN(100_000)) * time.Microsecond) // the moment is random on purpose
	victim := x.clients[x.rand.IntN(len(x.clients))]
	switch kind := x.rand.IntN(10); {
	case kind < 4:
		x.kill(victim)
	case kind < 6:
		x.killBroker()
	case kind < 8:
		x.killBroker()
		x.kill(victim)
	case kind < 9:
		x.kill(x.clients...)
	default:
		x.kill(x.clients...)
		x.killBroker()
	}
}

func (x *pipeline) kill(clients ...*pipelineClient) {
	for _, c := range clients {
		c.kill()
		x.kills[c.name]++
	}
}

func (x *pipeline) killBroker() {
	x.broker.Kill()
	x.kills["broker"]++
	x.start()
}

// await waits until all groups have copied enough.
func (x *pipeline) await(what string, enough func(group string, copied int64) bool) {
	x.t.Helper()
	last := map[string]int64{}
	ok := await(4*patience, func() bool {
		all, slowest := true, int64(1<<62)
		for _, g := range x.groups {
			n, err := x.copied(g)
			if err != nil {
				return false // the broker is about to be there again
			}
			last[g], slowest = n, min(slowest, n)
			all = all && enough(g, n)
		}
		x.slowest.Store(slowest)
		return all
	})
	if !ok {
		for _, c := range x.clients {
			c.mu.Lock()
			x.t.Logf("%s: %d processes ended by themselves:\n%s", c.name, c.ended, c.said.String())
			c.mu.Unlock()
		}
		x.t.Fatalf("%s: of %d records, copied are %v; kills %v", what, x.sent.Load(), last, x.kills)
	}
}

// copied is how many records of the input a group has committed.
func (x *pipeline) copied(group string) (int64, error) { return committedSum(x.addr, group, "in") }

// committedSum is the sum of the offsets that a group has committed in a topic.
func committedSum(addr, group, topic string) (int64, error) {
	conn, err := dial(addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	q := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	q.Groups = append(q.Groups, g)
	resp, err := conn.Request(q, 8)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, of := range resp.(*kmsg.OffsetFetchResponse).Groups[0].Topics {
		if of.Topic != topic {
			continue
		}
		for _, p := range of.Partitions {
			sum += max(p.Offset, 0)
		}
	}
	return sum, nil
}

// finish lets every group come to the end and compares.
func (x *pipeline) finish() {
	x.t.Helper()
	x.await("the end", func(_ string, copied int64) bool { return copied == x.sent.Load() })
	for _, c := range x.clients {
		c.stop()
	}
	var want []string
	for n := range x.sent.Load() {
		want = append(want, fmt.Sprintf("<%d>", n))
	}
	slices.Sort(want)
	aborted := 0
	for _, out := range []string{"out-java", "out-python", "out-kgo"} {
		got, all := allCommitted(x.t, x.addr, out, 2)
		if !slices.Equal(got, want) {
			x.t.Errorf("%s: %d values are committed, not the %d of the input once each", out, len(got), len(want))
		}
		aborted += all - len(got)
	}
	for topic, n := range map[string]int32{"in": pipelinePartitions, "__consumer_offsets": 3} {
		allStable(x.t, x.addr, topic, n)
	}
	for _, c := range x.clients {
		x.t.Logf("%s: %d processes ended by themselves\n%s", c.name, c.ended, c.said.String())
	}
	x.t.Logf("%d records through each of 3 pipelines, %d records of aborted transactions, kills: %v", len(want), aborted, x.kills)
	x.broker.Stop(x.t)
}

// allStable checks that no transaction is open in a topic and returns its end offsets.
func allStable(t *testing.T, addr, topic string, partitions int32) (ends map[int32]int64) {
	t.Helper()
	cl := newClient(t, addr)
	ends = map[int32]int64{}
	for p := range partitions {
		for _, isolation := range []int8{0, 1} {
			q := kmsg.NewPtrListOffsetsRequest()
			q.ReplicaID, q.IsolationLevel = -1, isolation
			qt := kmsg.NewListOffsetsRequestTopic()
			qt.Topic = topic
			qp := kmsg.NewListOffsetsRequestTopicPartition()
			qp.Partition, qp.Timestamp = p, -1
			qt.Partitions = append(qt.Partitions, qp)
			q.Topics = append(q.Topics, qt)
			offset := ask[*kmsg.ListOffsetsResponse](t, cl, q).Topics[0].Partitions[0].Offset
			if isolation == 1 && offset != ends[p] {
				t.Errorf("%s-%d: last stable offset %d, end offset %d", topic, p, offset, ends[p])
			}
			ends[p] = offset
		}
	}
	return ends
}

// allCommitted reads every committed value of a topic, sorted, and counts the records that were ever written to it.
func allCommitted(t *testing.T, addr, topic string, partitions int32) (values []string, written int) {
	t.Helper()
	ends := allStable(t, addr, topic, partitions)
	for _, isolation := range []kgo.IsolationLevel{kgo.ReadCommitted(), kgo.ReadUncommitted()} {
		from := map[int32]kgo.Offset{}
		left := map[int32]bool{}
		for p, end := range ends {
			if end > 0 {
				from[p], left[p] = kgo.NewOffset().AtStart(), true
			}
		}
		// Each partition ends in a marker, which is how its end is seen.
		cl := newClient(t, addr, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}), kgo.FetchIsolationLevel(isolation), kgo.KeepControlRecords())
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
		for len(left) > 0 {
			fetches := cl.PollFetches(ctx)
			if err := fetches.Err(); err != nil {
				cancel()
				t.Fatalf("read %s: %v", topic, err)
			}
			fetches.EachRecord(func(r *kgo.Record) {
				if r.Offset == ends[r.Partition]-1 {
					delete(left, r.Partition)
				}
				switch {
				case r.Attrs.IsControl():
				case isolation == kgo.ReadCommitted():
					values = append(values, string(r.Value))
				default:
					written++
				}
			})
		}
		cancel()
		cl.Close()
	}
	slices.Sort(values)
	return values, written
}
