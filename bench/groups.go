package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// classicGroups are groups of the protocol that every client has.
func classicGroups(t *trial) error {
	return t.groups(nil, func(cl *kgo.Client, group string) (string, int, error) {
		r := kmsg.NewPtrDescribeGroupsRequest()
		r.Groups = []string{group}
		resp, err := r.RequestWith(t.ctx, cl)
		if err != nil || len(resp.Groups) != 1 {
			return "", 0, err
		}
		return resp.Groups[0].State, len(resp.Groups[0].Members), nil
	})
}

// consumerGroups are groups of the new protocol (KIP-848).
func consumerGroups(t *trial) error {
	return t.groups([]kgo.Opt{kgo.ServerSideBalancer()}, func(cl *kgo.Client, group string) (string, int, error) {
		r := kmsg.NewPtrConsumerGroupDescribeRequest()
		r.Groups = []string{group}
		resp, err := r.RequestWith(t.ctx, cl)
		if err != nil || len(resp.Groups) != 1 {
			return "", 0, err
		}
		return resp.Groups[0].State, len(resp.Groups[0].Members), nil
	})
}

// groups measures the first poll of a group that is new, and how long it takes until many members that start at once have
// their partitions.
func (t *trial) groups(options []kgo.Opt, describe func(cl *kgo.Client, group string) (string, int, error)) error {
	i, err := t.broker()
	if err != nil {
		return err
	}
	if err := createTopic(t.ctx, i.addr(), "one", 1, nil); err != nil {
		return err
	}
	if err := createTopic(t.ctx, i.addr(), "shared", 2*t.sizes.members, nil); err != nil {
		return err
	}
	f := traffic{topic: "one", partitions: 1, records: 1, values: newValues(100)}
	if err := f.write(t.ctx, i.addr()); err != nil {
		return err
	}
	var polls []float64
	for n := range t.sizes.polls + 1 { // the first one makes the internal topic
		took, err := firstPoll(t.ctx, i.addr(), fmt.Sprintf("poll-%d", n), options)
		if err != nil {
			return err
		}
		if n > 0 {
			polls = append(polls, milliseconds(took))
		}
	}
	t.note("first poll of a new group", "ms", less, median(polls))
	s, err := i.measure(func() error { return t.large(i, options, describe) })
	if err != nil {
		return err
	}
	t.note(fmt.Sprintf("%d members started at once, to stable", t.sizes.members), "ms", less, milliseconds(s.wall))
	t.note(fmt.Sprintf("%d members: broker CPU", t.sizes.members), "ms", less, milliseconds(s.broker))
	t.note("peak RSS", "MiB", less, s.end.peak)
	if options != nil {
		return nil
	}
	if err := together(20, func(k int) error { return idleGroups(i.addr(), k, 20, t.sizes.idleGroups) }); err != nil {
		return err
	}
	return t.doNothing(fmt.Sprintf("%d groups at rest", t.sizes.idleGroups), i)
}

// firstPoll is how long it takes from nothing to the first record, in a group that nobody has seen.
func firstPoll(ctx context.Context, addr, group string, options []kgo.Opt) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	begun := time.Now()
	cl, err := newClient(addr, append([]kgo.Opt{kgo.ConsumerGroup(group), kgo.ConsumeTopics("one"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}, options...)...)
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	for {
		fetches := cl.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("group %s reads nothing: %w", group, err)
		}
		if fetches.NumRecords() > 0 {
			return time.Since(begun), nil
		}
	}
}

// large starts all members and returns when they share all partitions and the broker calls the group stable.
func (t *trial) large(i *instance, options []kgo.Opt, describe func(cl *kgo.Client, group string) (string, int, error)) error {
	var assigned atomic.Int64
	count := func(sign int64) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, m map[string][]int32) {
			assigned.Add(sign * int64(len(m["shared"])))
		}
	}
	options = append([]kgo.Opt{kgo.ConsumerGroup("large"), kgo.ConsumeTopics("shared"), kgo.OnPartitionsAssigned(count(1)),
		kgo.OnPartitionsRevoked(count(-1)), kgo.OnPartitionsLost(count(-1))}, options...)
	asker, err := newClient(i.addr())
	if err != nil {
		return err
	}
	defer asker.Close()
	var members []*kgo.Client
	defer func() { leave(members) }()
	for range t.sizes.members {
		cl, err := newClient(i.addr(), options...)
		if err != nil {
			return err
		}
		members = append(members, cl)
	}
	ctx, cancel := context.WithTimeout(t.ctx, 3*time.Minute)
	defer cancel()
	return until(ctx, 5*time.Millisecond, func() error {
		if n := assigned.Load(); n != int64(2*t.sizes.members) {
			return fmt.Errorf("%d of %d partitions are assigned", n, 2*t.sizes.members)
		}
		state, have, err := describe(asker, "large")
		if err == nil && (state != "Stable" || have != t.sizes.members) {
			return fmt.Errorf("the group is %q with %d members", state, have)
		}
		return err
	})
}

// idleGroups makes every step-th group, of one member that has five minutes until its next heartbeat.
func idleGroups(addr string, first, step, total int) error {
	c, err := dial(addr)
	if err != nil {
		return err
	}
	defer c.Close()
	for n := first; n < total; n += step {
		join := kmsg.NewPtrJoinGroupRequest()
		join.Group, join.SessionTimeoutMillis, join.RebalanceTimeoutMillis, join.ProtocolType = fmt.Sprint("at-rest-", n), 300000, 300000, "consumer"
		join.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte("m")}}
		var joined kmsg.JoinGroupResponse
		if err := c.ask(join, 2, &joined); err != nil {
			return err
		}
		sync := kmsg.NewPtrSyncGroupRequest()
		sync.Group, sync.Generation, sync.MemberID = join.Group, joined.Generation, joined.MemberID
		sync.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: joined.MemberID, MemberAssignment: []byte("all")}}
		var synced kmsg.SyncGroupResponse
		if err := c.ask(sync, 2, &synced); err != nil {
			return err
		}
		if joined.ErrorCode != 0 || synced.ErrorCode != 0 {
			return fmt.Errorf("group %s: join %w, sync %w", join.Group, kerr.ErrorForCode(joined.ErrorCode), kerr.ErrorForCode(synced.ErrorCode))
		}
	}
	return nil
}
