package client

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// rebalanceMs is how long the group waits for this member to give partitions back.
const rebalanceMs = 30_000

// commitByName is the last version of OffsetCommit that names topics by name; the same is true of fetchOffsetsByName.
const (
	commitByName       = 9
	fetchOffsetsByName = 9
)

// Member is a member of a consumer group that reads one topic, by the protocol in which the broker assigns partitions. It is for one
// goroutine, which has to call Beat about as often as it says.
type Member struct {
	c     *Client
	group string
	topic Topic
	id    string
	epoch int32
	coord string // address of the coordinator
	owned []int32
}

// Join joins a group. No partition is assigned yet.
func (c *Client) Join(ctx context.Context, group string, topic Topic) (*Member, error) {
	var id [16]byte
	rand.Read(id[:]) // never fails
	m := &Member{c: c, group: group, topic: topic, id: base64.RawURLEncoding.EncodeToString(id[:])}
	if err := m.find(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// find asks for the coordinator of the group, until there is one.
func (m *Member) find(ctx context.Context) error {
	for {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKey, req.CoordinatorKeys = m.group, []string{m.group}
		resp, err := asked[*kmsg.FindCoordinatorResponse](m.c.ask(ctx, "", req, -1))
		if err != nil {
			return err
		}
		code, message, host, port := resp.ErrorCode, resp.ErrorMessage, resp.Host, resp.Port
		if len(resp.Coordinators) > 0 {
			found := resp.Coordinators[0]
			code, message, host, port = found.ErrorCode, found.ErrorMessage, found.Host, found.Port
		}
		if code == 0 {
			m.coord = net.JoinHostPort(host, strconv.Itoa(int(port)))
			return nil
		}
		if err := Failed(code, message); !kerr.IsRetriable(err) {
			return fmt.Errorf("coordinator of group %s: %w", m.group, err)
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// pause waits a moment before something is tried again.
func pause(ctx context.Context) error {
	timer := time.NewTimer(200 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Beat tells the group that this member lives and which partitions it has. It returns when the next beat is due and the partitions
// that are this member's now; changed says that they are others than before: what is read of those that are gone must be committed
// before the next beat.
func (m *Member) Beat(ctx context.Context) (next time.Duration, partitions []int32, changed bool, err error) {
	resp, err := m.beat(ctx)
	if err != nil {
		return 0, nil, false, err
	}
	switch err := Failed(resp.ErrorCode, resp.ErrorMessage); {
	case errors.Is(err, kerr.FencedMemberEpoch), errors.Is(err, kerr.UnknownMemberID):
		changed = len(m.owned) > 0
		m.epoch, m.owned = 0, nil
		return 0, nil, changed, nil
	case kerr.IsRetriable(err):
		return 0, m.owned, false, errors.Join(pause(ctx), m.find(ctx))
	case err != nil:
		return 0, nil, false, fmt.Errorf("group %s: %w", m.group, err)
	}
	m.epoch = resp.MemberEpoch
	next = time.Duration(resp.HeartbeatIntervalMillis) * time.Millisecond
	if resp.Assignment == nil {
		return next, m.owned, false, nil
	}
	var assigned []int32
	for _, t := range resp.Assignment.Topics {
		if t.TopicID == m.topic.ID {
			assigned = append(assigned, t.Partitions...)
		}
	}
	slices.Sort(assigned)
	changed = !slices.Equal(assigned, m.owned)
	if changed {
		next = 0 // the group waits to hear that what is gone was given back
	}
	m.owned = assigned
	return next, assigned, changed, nil
}

func (m *Member) beat(ctx context.Context) (*kmsg.ConsumerGroupHeartbeatResponse, error) {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.MemberEpoch, req.RebalanceTimeoutMillis = m.group, m.id, m.epoch, rebalanceMs
	req.SubscribedTopicNames = []string{m.topic.Name}
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	if len(m.owned) > 0 {
		t := kmsg.NewConsumerGroupHeartbeatRequestTopic()
		t.TopicID, t.Partitions = m.topic.ID, m.owned
		req.Topics = append(req.Topics, t)
	}
	return asked[*kmsg.ConsumerGroupHeartbeatResponse](m.c.ask(ctx, m.coord, req, -1))
}

// Leave leaves the group, so that others get the partitions at once.
func (m *Member) Leave(ctx context.Context) error {
	m.epoch = -1
	resp, err := m.beat(ctx)
	if err != nil {
		return err
	}
	return Failed(resp.ErrorCode, resp.ErrorMessage)
}

// Committed asks for the committed offset of each partition, -1 where there is none.
func (m *Member) Committed(ctx context.Context, partitions []int32) (map[int32]int64, error) {
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.Partitions = m.topic.Name, partitions
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.Topics = m.group, append(g.Topics, t)
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Groups = append(req.Groups, g)
	resp, err := asked[*kmsg.OffsetFetchResponse](m.c.ask(ctx, m.coord, req, fetchOffsetsByName))
	if err != nil {
		return nil, err
	}
	offsets := map[int32]int64{}
	for _, g := range resp.Groups {
		if err := Failed(g.ErrorCode, nil); err != nil {
			return nil, fmt.Errorf("offsets of group %s: %w", m.group, err)
		}
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if err := Failed(p.ErrorCode, nil); err != nil {
					return nil, fmt.Errorf("offsets of group %s: %w", m.group, err)
				}
				offsets[p.Partition] = p.Offset
			}
		}
	}
	return offsets, nil
}

// Commit stores how far the member has read.
func (m *Member) Commit(ctx context.Context, at []*Position) error {
	if len(at) == 0 {
		return nil
	}
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = m.topic.Name
	for _, p := range at {
		c := kmsg.NewOffsetCommitRequestTopicPartition()
		c.Partition, c.Offset = p.Partition, p.Offset
		t.Partitions = append(t.Partitions, c)
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation, req.MemberID, req.Topics = m.group, m.epoch, m.id, append(req.Topics, t)
	resp, err := asked[*kmsg.OffsetCommitResponse](m.c.ask(ctx, m.coord, req, commitByName))
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := Failed(p.ErrorCode, nil); err != nil {
				return fmt.Errorf("commit of group %s: %w", m.group, err)
			}
		}
	}
	return nil
}
