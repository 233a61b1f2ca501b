package fault

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

func TestRulesThatCannotBeMeant(t *testing.T) {
	zero, negative := int32(0), int32(-1)
	for _, test := range []struct {
		rule Rule
		says string
	}{
		{Rule{}, "give error, delay or drop"},
		{Rule{API: "Produced", Drop: true}, `no API "Produced"`},
		{Rule{Error: "NO_LEADER"}, `"NO_LEADER" is no error of Kafka's`},
		{Rule{Error: "NONE"}, "no error"},
		{Rule{Error: "6", Drop: true}, "exclude each other"},
		{Rule{Delay: time.Second, After: true}, "after needs error or drop"},
		{Rule{Delay: 2 * time.Hour}, "up to 1h0m0s"},
		{Rule{Delay: -1}, "up to"},
		{Rule{Drop: true, Times: -1}, "1 or more"},
		{Rule{Drop: true, Partition: &zero}, "needs a topic"},
		{Rule{Drop: true, Topic: "a", Partition: &negative}, "0 or more"},
		{Rule{API: "Heartbeat", Topic: "a", Drop: true}, "Heartbeat requests name no topics"},
		{Rule{API: "CreateTopics", Topic: "a", Partition: &zero, Drop: true}, "name no partitions"},
	} {
		_, err := NewSet().Add(test.rule)
		if !errors.Is(err, ErrInvalidRule) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: %v, want %q", test.rule, err, test.says)
		}
	}
}

// recorder is a handler that notes what reaches it.
type recorder struct{ requests []kmsg.Request }

func (r *recorder) Handle(_ context.Context, req *protocol.Request) (protocol.Response, error) {
	r.requests = append(r.requests, req.Body)
	return protocol.Response{Body: req.Body.ResponseKind()}, nil
}

func heartbeat(client string) *protocol.Request {
	return &protocol.Request{Key: int16(kmsg.Heartbeat), Version: 4, ClientID: &client, Body: &kmsg.HeartbeatRequest{Version: 4, Group: "g"}}
}

func code(t *testing.T, resp protocol.Response, err error) int16 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return resp.Body.(*kmsg.HeartbeatResponse).ErrorCode
}

func TestRulesCountAndEnd(t *testing.T) {
	s, next := NewSet(), &recorder{}
	h := s.Wrap(next, nil)
	ask := func(client string) int16 {
		resp, err := h.Handle(t.Context(), heartbeat(client))
		return code(t, resp, err)
	}
	a, err := s.Add(Rule{API: "heartbeat", ClientID: "app", Error: "REBALANCE_IN_PROGRESS", Times: 2})
	if err != nil {
		t.Fatal(err)
	}
	got := []int16{ask("other"), ask("app"), ask("app"), ask("app")}
	if !slices.Equal(got, []int16{0, 27, 27, 0}) || a.Count() != 2 || len(next.requests) != 2 {
		t.Errorf("codes %v, the rule counts %d, %d requests were handled", got, a.Count(), len(next.requests))
	}
	always, err := s.Add(Rule{Error: "COORDINATOR_NOT_AVAILABLE"})
	if err != nil {
		t.Fatal(err)
	}
	if ask("x") != 15 || ask("y") != 15 || len(s.List()) != 2 || always.ID() <= a.ID() {
		t.Errorf("rules %v", s.List())
	}
	always.Remove()
	always.Remove()
	if ask("x") != 0 || len(s.List()) != 1 {
		t.Errorf("after the removal: %v", s.List())
	}
	s.Clear()
	if s.List() != nil {
		t.Errorf("after all were removed: %v", s.List())
	}
}

func TestDropsAndDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, next := NewSet(), &recorder{}
		h := s.Wrap(next, nil)
		add := func(r Rule) {
			t.Helper()
			if _, err := s.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		add(Rule{Drop: true, Times: 1})
		if _, err := h.Handle(t.Context(), heartbeat("a")); !errors.Is(err, ErrDropped) || len(next.requests) != 0 {
			t.Errorf("dropped: %v, %d requests were handled", err, len(next.requests))
		}
		add(Rule{Drop: true, After: true, Times: 1})
		if _, err := h.Handle(t.Context(), heartbeat("a")); !errors.Is(err, ErrDropped) || len(next.requests) != 1 {
			t.Errorf("dropped after: %v, %d requests were handled", err, len(next.requests))
		}
		add(Rule{Error: "REQUEST_TIMED_OUT", After: true, Times: 1, Delay: time.Minute})
		begin := time.Now()
		resp, err := h.Handle(t.Context(), heartbeat("a"))
		if code(t, resp, err) != 7 || len(next.requests) != 2 || time.Since(begin) != time.Minute {
			t.Errorf("refused after: %+v, %d requests were handled, it took %v", resp.Body, len(next.requests), time.Since(begin))
		}
		add(Rule{Delay: time.Minute, Times: 1})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := h.Handle(ctx, heartbeat("a")); !errors.Is(err, context.DeadlineExceeded) || len(next.requests) != 2 {
			t.Errorf("a client that goes away: %v", err)
		}
	})
}

func TestNoAnswerToAcksZero(t *testing.T) {
	s := NewSet()
	if _, err := s.Add(Rule{API: "Produce", Error: "KAFKA_STORAGE_ERROR"}); err != nil {
		t.Fatal(err)
	}
	req := &protocol.Request{Key: int16(kmsg.Produce), Version: 9, Body: &kmsg.ProduceRequest{Version: 9, Acks: 0}}
	if _, err := s.Wrap(&recorder{}, nil).Handle(t.Context(), req); !errors.Is(err, ErrDropped) {
		t.Errorf("%v", err)
	}
}

// TestFetchesListTheirPartitions: while a rule is about a topic's fetches, there are no sessions that hide topics.
func TestFetchesListTheirPartitions(t *testing.T) {
	s, next := NewSet(), &recorder{}
	h := s.Wrap(next, func([16]byte) string { return "" })
	rule, err := s.Add(Rule{API: "Fetch", Topic: "a", Error: "NOT_LEADER_OR_FOLLOWER"})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(session, epoch int32) (*kmsg.FetchRequest, protocol.Response) {
		body := &kmsg.FetchRequest{Version: 12, SessionID: session, SessionEpoch: epoch, MaxWaitMillis: 500,
			Topics: []kmsg.FetchRequestTopic{{Topic: "a", Partitions: []kmsg.FetchRequestTopicPartition{{Partition: 1}}}}}
		resp, err := h.Handle(t.Context(), &protocol.Request{Key: int16(kmsg.Fetch), Version: 12, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		return body, resp
	}
	if _, resp := ask(7, 3); resp.Body.(*kmsg.FetchResponse).ErrorCode != fetchSessionNotFound || len(next.requests) != 0 {
		t.Errorf("a running session: %+v", resp.Body)
	}
	if body, _ := ask(0, 0); body.SessionEpoch != -1 || body.MaxWaitMillis != 0 || len(next.requests) != 1 || rule.Count() != 1 {
		t.Errorf("a new session: %+v, the rule counts %d", body, rule.Count())
	}
}
