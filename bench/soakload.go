package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	streamTopic = "soak-stream" // deleted from the front as it grows
	stateTopic  = "soak-state"  // compacted
	moneyTopic  = "soak-money"  // written in transactions
)

// soakLoad is everything at once: each kind of load is a goroutine that does one thing every so often.
type soakLoad struct {
	addr string
	rate float64
	jobs []*soakJob
}

// soakJob is one kind of load.
type soakJob struct {
	what  string
	every time.Duration
	do    func(ctx context.Context, n int) error // the n-th time
	count atomic.Int64
	last  atomic.Int64 // Unix nanoseconds of the end of the last one
}

// prepare creates the topics that stay.
func (l *soakLoad) prepare(ctx context.Context) error {
	for topic, config := range map[string]map[string]string{
		streamTopic: {"segment.bytes": "1048576", "retention.bytes": "3145728"},
		stateTopic:  {"segment.bytes": "1048576", "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1", "segment.ms": "20000"},
		moneyTopic:  {"segment.bytes": "1048576", "retention.bytes": "3145728"},
	} {
		if err := createTopic(ctx, l.addr, topic, 4, config); err != nil {
			return err
		}
	}
	l.jobs = []*soakJob{
		{what: "records into a topic that is deleted from the front", every: 4 * time.Millisecond},
		{what: "records into a compacted topic", every: 8 * time.Millisecond},
		{what: "transactions, every fifth aborted", every: 200 * time.Millisecond},
		{what: "turns of consumers of classic groups", every: 2 * time.Second, do: l.consumer(streamTopic)},
		{what: "turns of consumers of new groups", every: 2 * time.Second, do: l.consumer(stateTopic, kgo.ServerSideBalancer())},
		{what: "topics created, written, read and deleted", every: 2 * time.Second, do: l.topic},
		{what: "connections that came, fetched and went", every: 50 * time.Millisecond, do: l.connection},
		{what: "configurations changed, groups and partitions described", every: time.Second, do: l.admin},
	}
	return nil
}

// begin starts all jobs. What comes out are their failures; it is closed when all have ended.
func (l *soakLoad) begin(ctx context.Context) <-chan error {
	failed := make(chan error, len(l.jobs))
	var running sync.WaitGroup
	for _, j := range l.jobs {
		j.last.Store(time.Now().UnixNano())
		running.Go(func() {
			err := l.job(ctx, j)
			if ctx.Err() == nil && err != nil {
				failed <- fmt.Errorf("%s: %w", j.what, err)
			}
		})
	}
	go func() {
		running.Wait()
		close(failed)
	}()
	return failed
}

// job does its thing until the context ends. Those that write keep one client for a minute, and then take a new one, which
// is a new producer for the broker.
func (l *soakLoad) job(ctx context.Context, j *soakJob) error {
	every := time.Duration(float64(j.every) / l.rate)
	if j.do != nil {
		return j.again(ctx, every, j.do)
	}
	for ctx.Err() == nil {
		if err := l.producer(ctx, j, every); err != nil {
			return err
		}
	}
	return nil
}

// again calls do every so often.
func (j *soakJob) again(ctx context.Context, every time.Duration, do func(ctx context.Context, n int) error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := do(ctx, int(j.count.Load())); err != nil {
				return err
			}
			j.count.Add(1)
			j.last.Store(time.Now().UnixNano())
		}
	}
}

// producer writes with one client for a while.
func (l *soakLoad) producer(ctx context.Context, j *soakJob, every time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	values := newValues(1024)
	key := func(n int) []byte { return fmt.Appendf(nil, "key-%d", n%1000) }
	switch j {
	case l.jobs[0], l.jobs[1]:
		topic := streamTopic
		if j == l.jobs[1] {
			topic = stateTopic
		}
		cl, err := newClient(l.addr, kgo.DefaultProduceTopic(topic))
		if err != nil {
			return err
		}
		defer cl.Close()
		var failure atomic.Pointer[error]
		err = j.again(limited, every, func(_ context.Context, n int) error {
			cl.Produce(ctx, &kgo.Record{Key: key(n), Value: values.at(n)}, func(_ *kgo.Record, err error) {
				if err != nil {
					failure.Store(&err)
				}
			})
			if err := failure.Load(); err != nil {
				return *err
			}
			return nil
		})
		return errors.Join(err, cl.Flush(ctx))
	}
	cl, err := newClient(l.addr, kgo.TransactionalID("soak"), kgo.DefaultProduceTopic(moneyTopic), kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	defer cl.Close()
	return j.again(limited, every, func(_ context.Context, n int) error {
		if err := cl.BeginTransaction(); err != nil {
			return err
		}
		err := cl.ProduceSync(ctx, &kgo.Record{Key: key(n), Value: values.at(n)}, &kgo.Record{Key: key(n + 1), Value: values.at(n)}).FirstErr()
		return errors.Join(err, cl.EndTransaction(ctx, n%5 > 0))
	})
}

// consumer has a consumer join one of ten groups, read, commit and go, while another of the group stays a little longer.
func (l *soakLoad) consumer(topic string, options ...kgo.Opt) func(context.Context, int) error {
	return func(ctx context.Context, n int) error {
		group := fmt.Sprintf("%s-%d", topic, n%10)
		options := append([]kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
			kgo.FetchMaxPartitionBytes(256 << 10)}, options...)
		return together(2, func(k int) error {
			cl, err := newClient(l.addr, options...)
			if err != nil {
				return err
			}
			defer cl.CloseAllowingRebalance()
			waiting, cancel := context.WithTimeout(ctx, time.Duration(k+1)*time.Second)
			defer cancel()
			for waiting.Err() == nil {
				if err := readAndCommit(waiting, cl); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// readAndCommit polls once. That the time is over, or that a rebalance came between, is no failure.
func readAndCommit(ctx context.Context, cl *kgo.Client) error {
	fetches := cl.PollFetches(ctx)
	for _, e := range fetches.Errors() {
		if ctx.Err() == nil && !errors.Is(e.Err, kerr.UnknownTopicOrPartition) {
			return fmt.Errorf("fetch of %s-%d: %w", e.Topic, e.Partition, e.Err)
		}
	}
	err := cl.CommitUncommittedOffsets(ctx)
	for _, harmless := range []error{kerr.RebalanceInProgress, kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.StaleMemberEpoch} {
		if errors.Is(err, harmless) {
			return nil
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// topic is created, written, read and deleted; some have many partitions.
func (l *soakLoad) topic(ctx context.Context, n int) error {
	f := traffic{topic: fmt.Sprintf("soak-%d", n), partitions: 1 + n%20, records: 50, values: newValues(100)}
	if err := createTopic(ctx, l.addr, f.topic, f.partitions, nil); err != nil {
		return err
	}
	if err := f.write(ctx, l.addr); err != nil {
		return err
	}
	if err := f.read(ctx, l.addr, f.records); err != nil {
		return err
	}
	deleteTopic(ctx, l.addr, f.topic)
	return nil
}

// connection asks for the end of a partition, fetches there or somewhere before, and goes; some just vanish while they wait.
func (l *soakLoad) connection(_ context.Context, n int) error {
	c, err := dial(l.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.greet(); err != nil {
		return err
	}
	if n%10 == 0 {
		_, err := c.Write([]byte{0, 0, 1, 0, 0}) // a request of 256 bytes, of which the rest never comes
		return err
	}
	r, t, p := kmsg.NewPtrListOffsetsRequest(), kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = int32(n%4), -2
	t.Topic, t.Partitions = streamTopic, []kmsg.ListOffsetsRequestTopicPartition{p}
	r.Topics = []kmsg.ListOffsetsRequestTopic{t}
	var resp kmsg.ListOffsetsResponse
	if err := c.ask(r, 5, &resp); err != nil {
		return err
	}
	if len(resp.Topics) != 1 || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		return fmt.Errorf("ListOffsets is answered with %+v", resp)
	}
	return nil
}

// admin asks for what consoles ask for, and changes a configuration.
func (l *soakLoad) admin(ctx context.Context, n int) error {
	cl, err := newClient(l.addr)
	if err != nil {
		return err
	}
	defer cl.Close()
	groups := kmsg.NewPtrDescribeGroupsRequest()
	groups.Groups = []string{fmt.Sprintf("%s-%d", streamTopic, rand.IntN(10))}
	for _, r := range []kmsg.Request{kmsg.NewPtrMetadataRequest(), kmsg.NewPtrListGroupsRequest(), groups, kmsg.NewPtrDescribeLogDirsRequest(), kmsg.NewPtrDescribeClusterRequest()} {
		if _, err := cl.Request(ctx, r); err != nil {
			return err
		}
	}
	return alterTopic(ctx, l.addr, streamTopic, "retention.ms", fmt.Sprint(600_000+n%10))
}

// stalled tells which job has not done anything for a while.
func (l *soakLoad) stalled(longest time.Duration) error {
	for _, j := range l.jobs {
		if since := time.Since(time.Unix(0, j.last.Load())); since > longest {
			return fmt.Errorf("%s: nothing for %v", j.what, since.Round(time.Second))
		}
	}
	return nil
}

// done tells how often each job did its thing.
func (l *soakLoad) done() string {
	var all []string
	for _, j := range l.jobs {
		all = append(all, fmt.Sprintf("%d %s", j.count.Load(), j.what))
	}
	return strings.Join(all, ", ")
}
