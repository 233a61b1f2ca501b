package integration

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// groupTorture is members that read and commit while their broker is killed again and again.
type groupTorture struct {
	t    *testing.T
	addr string
	news chan struct{} // holds one when something was read

	mu    sync.Mutex
	acked map[string]map[int32]int64 // commits that were acknowledged, by group and partition
	reads map[string]map[string]int  // by group and value
	wrong []string
}

// TestTortureGroups kills a broker with SIGKILL at random moments while members of groups of both protocols read and commit.
// No acknowledged commit is lost, nothing below it is read again, and in the end each group has read everything.
func TestTortureGroups(t *testing.T) {
	rounds, seed := envInt(t, tortureRoundsEnv, 4), envInt(t, tortureSeedEnv, int(time.Now().UnixNano()&0x7fffffff))
	t.Logf("%d rounds, %s=%d", rounds, tortureSeedEnv, seed)
	random := rand.New(rand.NewPCG(uint64(seed), 3))
	data := filepath.Join(t.TempDir(), "data")
	x := &groupTorture{t: t, addr: freeAddr(t), news: make(chan struct{}, 1), acked: map[string]map[int32]int64{}, reads: map[string]map[string]int{}}
	p := startProcess(t, data, x.addr, quickSessions)
	createTopic(t, x.addr, "numbers", 4, nil)
	for group, opt := range map[string]kgo.Opt{"classic": kgo.Balancers(kgo.CooperativeStickyBalancer()), "consumer": kgo.ServerSideBalancer()} {
		x.acked[group], x.reads[group] = map[int32]int64{}, map[string]int{}
		for range 2 {
			x.member(group, opt)
		}
	}
	sent := 0
	for range rounds {
		written := x.write(sent, 400)
		x.awaitReads(sent + random.IntN(300))
		<-time.After(time.Duration(random.IntN(2_000)) * time.Microsecond) // the moment is random on purpose
		p.Kill()
		before := x.commits()
		p = startProcess(t, data, x.addr, quickSessions)
		x.checkCommits(before)
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		sent += 400
	}
	for group := range x.commits() {
		awaitOffsets(t, x.addr, group, sent)
	}
	x.finish(sent)
	p.Stop(t)
}

func (x *groupTorture) member(group string, opt kgo.Opt) {
	x.t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(x.addr), kgo.ConsumerGroup(group), kgo.ConsumeTopics("numbers"), kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.HeartbeatInterval(200*time.Millisecond),
		kgo.SessionTimeout(10*time.Second), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }), opt)
	if err != nil {
		x.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			fetches := cl.PollRecords(context.Background(), 20)
			if fetches.IsClientClosed() {
				return
			}
			x.read(group, fetches)
			if err := cl.CommitUncommittedOffsets(context.Background()); err == nil {
				x.commit(group, fetches)
			}
			cl.AllowRebalance()
		}
	}()
	x.t.Cleanup(func() {
		cl.CloseAllowingRebalance()
		<-done
	})
}

// read notes what was read. What had been committed before must not come again.
func (x *groupTorture) read(group string, fetches kgo.Fetches) {
	defer func() {
		select {
		case x.news <- struct{}{}:
		default:
		}
	}()
	x.mu.Lock()
	defer x.mu.Unlock()
	fetches.EachRecord(func(r *kgo.Record) {
		if r.Offset < x.acked[group][r.Partition] {
			x.wrong = append(x.wrong, fmt.Sprintf("group %s: %d-%d is read again, committed is %d", group, r.Partition, r.Offset, x.acked[group][r.Partition]))
		}
		x.reads[group][string(r.Value)]++
	})
}

func (x *groupTorture) commit(group string, fetches kgo.Fetches) {
	x.mu.Lock()
	defer x.mu.Unlock()
	fetches.EachRecord(func(r *kgo.Record) {
		x.acked[group][r.Partition] = max(x.acked[group][r.Partition], r.Offset+1)
	})
}

// commits is a copy of the acknowledged commits.
func (x *groupTorture) commits() map[string]map[int32]int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := map[string]map[int32]int64{}
	for group, offsets := range x.acked {
		all[group] = maps.Clone(offsets)
	}
	return all
}

// write begins to write numbers, one batch after the other, and returns where it says that they are written.
func (x *groupTorture) write(first, count int) <-chan error {
	x.t.Helper()
	cl := newClient(x.t, x.addr, kgo.DefaultProduceTopic("numbers"), kgo.RecordPartitioner(kgo.RoundRobinPartitioner()), kgo.ProducerLinger(0),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
	written := make(chan error, 1)
	go func() {
		var err error
		for n := first; n < first+count && err == nil; n += 20 {
			var batch []*kgo.Record
			for i := range 20 {
				batch = append(batch, kgo.StringRecord(fmt.Sprint(n+i)))
			}
			err = cl.ProduceSync(context.Background(), batch...).FirstErr()
		}
		written <- err
	}()
	return written
}

// awaitReads waits until each group has read so many records.
func (x *groupTorture) awaitReads(n int) {
	x.t.Helper()
	deadline := time.NewTimer(2 * patience)
	defer deadline.Stop()
	for {
		x.mu.Lock()
		least := n
		for _, reads := range x.reads {
			least = min(least, len(reads))
		}
		x.mu.Unlock()
		if least >= n {
			return
		}
		select {
		case <-x.news:
		case <-deadline.C:
			x.t.Fatalf("a group has read only %d of %d records, commits %v", least, n, x.commits())
		}
	}
}

// checkCommits expects that the broker has all commits that were acknowledged before it was killed.
func (x *groupTorture) checkCommits(before map[string]map[int32]int64) {
	x.t.Helper()
	for group, offsets := range before {
		have := offsetsOf(x.t, x.addr, group)
		for partition, offset := range offsets {
			if have[partition] < offset {
				x.t.Errorf("group %s: committed %d of partition %d, after the kill it is %d", group, offset, partition, have[partition])
			}
		}
	}
}

func (x *groupTorture) finish(sent int) {
	x.t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, w := range x.wrong {
		x.t.Error(w)
	}
	for group, reads := range x.reads {
		again := 0
		for _, n := range reads {
			again += n - 1
		}
		if len(reads) != sent {
			x.t.Errorf("group %s has read %d of %d records", group, len(reads), sent)
		}
		x.t.Logf("group %s: %d records, %d read again, none of them committed before", group, len(reads), again)
	}
}
