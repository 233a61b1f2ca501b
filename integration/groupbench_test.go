package integration

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// groupBenchEnv has TestBenchGroups measure beside Apache Kafka in so many rounds; make groupbench sets it.
const groupBenchEnv = "MINIBROKER_BENCH_GROUPS"

// groupBench is the measuring of one broker.
type groupBench struct {
	t       *testing.T
	p       *Process
	members int           // of the large groups
	groups  int           // that are idle
	rest    time.Duration // for which they are
	figures map[string]float64
}

// TestBenchGroups measures how long the first poll of a new group takes, how long a group of 50 takes until each member has
// its partitions, and what 1,000 groups cost that do nothing, on minibroker and on Apache Kafka 4.4.0 in turn. It asserts
// nothing about speed. Without the environment variable it runs on minibroker alone, with a few members.
func TestBenchGroups(t *testing.T) {
	rounds := envInt(t, groupBenchEnv, 0)
	if rounds == 0 {
		benchGroups(t, false, groupBench{members: 5, groups: 5, rest: 50 * time.Millisecond})
		return
	}
	all := map[bool][]map[string]float64{}
	for range rounds {
		for _, kafka := range []bool{false, true} {
			all[kafka] = append(all[kafka], benchGroups(t, kafka, groupBench{members: 50, groups: 1000, rest: 10 * time.Second}))
		}
	}
	fmt.Fprintln(os.Stdout, "| what | minibroker | Kafka 4.4.0 | ratio |\n| --- | --- | --- | --- |")
	for _, what := range []string{"first poll, classic, ms", "first poll, consumer, ms", "group of 50, classic, ms", "group of 50, consumer, ms", "1000 idle groups, CPU s in 10 s"} {
		own, other := medianOf(all[false], what), medianOf(all[true], what)
		fmt.Fprintf(os.Stdout, "| %s | %.3g | %.3g | %.3f |\n", what, own, other, own/other)
	}
}

func medianOf(runs []map[string]float64, what string) float64 {
	var values []float64
	for _, r := range runs {
		values = append(values, r[what])
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// benchGroups measures one broker that starts with nothing.
func benchGroups(t *testing.T, kafka bool, b groupBench) map[string]float64 {
	t.Helper()
	b.t, b.figures = t, map[string]float64{}
	data := t.TempDir()
	settings := []string{"group.initial.rebalance.delay.ms=0"}
	if b.p = startProcess(t, data, freeAddr(t), settings); kafka {
		b.p.Stop(t) // the directory is formatted
		b.p = startKafka(t, []string{data}, freeAddr(t), settings...)
	}
	createTopic(t, b.p.Addr, "one", 1, nil)
	createTopic(t, b.p.Addr, "many", int32(2*b.members), nil)
	produceNumbers(t, b.p.Addr, "one", 0, 1)
	for protocol, opts := range map[string][]kgo.Opt{"classic": nil, "consumer": {kgo.ServerSideBalancer()}} {
		for n := range 6 { // the first makes the internal topic
			if took := b.firstPoll(fmt.Sprintf("%s-%d", protocol, n), opts); n > 0 {
				b.note("first poll, "+protocol+", ms", took)
			}
		}
		b.note(fmt.Sprintf("group of %d, %s, ms", b.members, protocol), b.stable(protocol, opts))
	}
	b.idle()
	b.p.end(t)
	t.Logf("Kafka %v: %v", kafka, b.figures)
	return b.figures
}

// note keeps the best time of several.
func (b *groupBench) note(what string, took time.Duration) {
	ms := float64(took.Microseconds()) / 1000
	if before, ok := b.figures[what]; !ok || ms < before {
		b.figures[what] = ms
	}
}

// firstPoll is how long it takes from the making of a client to its first record, in a group that nobody has seen.
func (b *groupBench) firstPoll(group string, opts []kgo.Opt) time.Duration {
	b.t.Helper()
	began := time.Now()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.p.Addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics("one"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}, opts...)...)
	if err != nil {
		b.t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	for {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			b.t.Fatalf("group %s reads nothing", group)
		}
		if fetches.NumRecords() > 0 {
			return time.Since(began)
		}
	}
}

// stable is how long it takes until all members that start at once share the partitions.
func (b *groupBench) stable(protocol string, opts []kgo.Opt) time.Duration {
	b.t.Helper()
	var assigned atomic.Int64
	count := func(sign int64) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, m map[string][]int32) {
			assigned.Add(sign * int64(len(m["many"])))
		}
	}
	opts = append([]kgo.Opt{kgo.SeedBrokers(b.p.Addr), kgo.ConsumerGroup("large-" + protocol), kgo.ConsumeTopics("many"),
		kgo.OnPartitionsAssigned(count(1)), kgo.OnPartitionsRevoked(count(-1)), kgo.OnPartitionsLost(count(-1))}, opts...)
	asker := newClient(b.t, b.p.Addr)
	began := time.Now()
	var leaving sync.WaitGroup
	defer leaving.Wait()
	for range b.members {
		cl, err := kgo.NewClient(opts...)
		if err != nil {
			b.t.Fatal(err)
		}
		defer leaving.Go(cl.Close)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for assigned.Load() != int64(2*b.members) || stableMembers(b.t, asker, "large-"+protocol, protocol) != b.members {
		if <-tick.C; time.Since(began) > 4*patience {
			b.t.Fatalf("%d of %d partitions are assigned", assigned.Load(), 2*b.members)
		}
	}
	return time.Since(began)
}

// stableMembers counts the members of a group that is stable.
func stableMembers(t *testing.T, cl *kgo.Client, group, protocol string) int {
	t.Helper()
	if protocol == "consumer" {
		req := kmsg.NewPtrConsumerGroupDescribeRequest()
		req.Groups = []string{group}
		if g := ask[*kmsg.ConsumerGroupDescribeResponse](t, cl, req).Groups[0]; g.State == "Stable" {
			return len(g.Members)
		}
		return 0
	}
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	if g := ask[*kmsg.DescribeGroupsResponse](t, cl, req).Groups[0]; g.State == "Stable" {
		return len(g.Members)
	}
	return 0
}

// idle is what groups cost whose one member has half an hour until its next heartbeat.
func (b *groupBench) idle() {
	b.t.Helper()
	var making sync.WaitGroup
	errs := make([]error, 20)
	for n := range errs {
		making.Go(func() { errs[n] = b.makeIdle(n, len(errs)) })
	}
	making.Wait()
	for _, err := range errs {
		if err != nil {
			b.t.Fatal(err)
		}
	}
	<-time.After(b.rest / 5) // what comes after a request is over then
	before := cpuSeconds(b.p.cmd.Process.Pid)
	<-time.After(b.rest)
	b.figures[fmt.Sprintf("%d idle groups, CPU s in 10 s", b.groups)] = cpuSeconds(b.p.cmd.Process.Pid) - before
}

// makeIdle makes every step-th group.
func (b *groupBench) makeIdle(first, step int) error {
	conn, err := dial(b.p.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	for n := first; n < b.groups; n += step {
		join := kmsg.NewPtrJoinGroupRequest()
		join.Group, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis, join.ProtocolType = fmt.Sprint("idle-", n), 1800000, 1800000, "consumer"
		join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte("m")}}
		resp, err := conn.Request(join, 2)
		if err != nil {
			return err
		}
		j := resp.(*kmsg.JoinGroupResponse)
		sync := kmsg.NewPtrSyncGroupRequest()
		sync.Group, sync.Generation, sync.MemberID = join.Group, j.Generation, j.MemberID
		sync.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: j.MemberID, MemberAssignment: []byte("all")}}
		if resp, err = conn.Request(sync, 2); err != nil {
			return err
		}
		if code := resp.(*kmsg.SyncGroupResponse).ErrorCode; j.ErrorCode != 0 || code != 0 {
			return fmt.Errorf("group %s: join %d, sync %d", join.Group, j.ErrorCode, code)
		}
	}
	return nil
}

// cpuSeconds is what a process has used so far, in steps of 10 ms; 0 where there is no /proc.
func cpuSeconds(pid int) float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields, ticks := strings.Fields(rest), 0.0
	for _, f := range fields[11:13] {
		n, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return ticks / 100
}
