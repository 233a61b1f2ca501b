package fault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/protocol"
)

// ErrDropped is why a connection is closed that a rule drops.
var ErrDropped = errors.New("dropped, as a fault rule asks for")

// fetchSessionNotFound is the code that makes a client list all its partitions again.
const fetchSessionNotFound = 70

// Handler answers requests.
type Handler interface {
	Handle(ctx context.Context, req *protocol.Request) (protocol.Response, error)
}

// Wrap makes a handler that lets the rules of the set harm requests, and has the rest handled by next. topicName gives the name
// of a topic with an id, "" when there is none.
func (s *Set) Wrap(next Handler, topicName func(id [16]byte) string) Handler {
	return &harming{set: s, next: next, topicName: topicName}
}

type harming struct {
	set       *Set
	next      Handler
	topicName func(id [16]byte) string
}

// Handle answers one request.
func (h *harming) Handle(ctx context.Context, req *protocol.Request) (protocol.Response, error) {
	rules := h.set.List()
	if len(rules) == 0 {
		return h.next.Handle(ctx, req)
	}
	if fetch, ok := req.Body.(*kmsg.FetchRequest); ok && anyTopic(rules) {
		if answer := sessionless(fetch); answer != nil {
			return protocol.Response{Body: answer}, nil
		}
	}
	harm, err := h.collect(ctx, req, rules)
	if err != nil {
		return protocol.Response{}, err
	}
	return harm.handle(ctx, req, h.next)
}

// harm is what the rules do to one request, but for delays, which are over, and drops before anything else.
type harm struct {
	before, after []wound
	lost          bool // the answer
}

// wound is the error of one rule.
type wound struct {
	target target
	code   int16
}

// collect finds the rules that a request matches and waits for their delays. An error closes the connection.
func (h *harming) collect(ctx context.Context, req *protocol.Request, rules []*Active) (harm, error) {
	var found harm
	for _, a := range rules {
		r := &a.rule
		g := target{topic: r.Topic, partition: r.Partition, nameOf: h.topicName}
		if !a.selects(req) || !g.namedIn(req.Body) || !a.take() {
			continue
		}
		if err := wait(ctx, r.Delay); err != nil {
			return found, err
		}
		switch {
		case r.Drop && r.After:
			found.lost = true
		case r.Drop:
			return found, fmt.Errorf("%w: rule %d", ErrDropped, a.id)
		case a.kind.code != 0 && r.After:
			found.after = append(found.after, wound{g, a.kind.code})
		case a.kind.code != 0:
			found.before = append(found.before, wound{g, a.kind.code})
		}
	}
	return found, nil
}

// selects says whether a request is of the rule's API and client.
func (a *Active) selects(req *protocol.Request) bool {
	if a.kind.key != anyKey && a.kind.key != req.Key {
		return false
	}
	return a.rule.ClientID == "" || req.ClientID != nil && *req.ClientID == a.rule.ClientID
}

func wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// handle answers a request that is harmed.
func (m *harm) handle(ctx context.Context, req *protocol.Request, next Handler) (protocol.Response, error) {
	if len(m.before) == 0 && len(m.after) == 0 && !m.lost {
		return next.Handle(ctx, req)
	}
	var answer protocol.Response
	var err error
	switch body := req.Body.(type) {
	case *kmsg.FetchRequest:
		answer, err = m.fetch(ctx, req, body, next)
	case *kmsg.MetadataRequest:
		answer, err = m.metadata(ctx, req, body, next)
	default:
		answer, err = m.any(ctx, req, next)
	}
	if err == nil && m.lost {
		answer.Release()
		return protocol.Response{}, fmt.Errorf("%w after the request was handled", ErrDropped)
	}
	return answer, err
}

// any answers a request of any API: what is refused is taken out of it, the rest is handled.
func (m *harm) any(ctx context.Context, req *protocol.Request, next Handler) (protocol.Response, error) {
	var refused []kmsg.Response
	rest := true
	for i := range m.before {
		w := &m.before[i]
		refused = append(refused, refuse(req.Body, &w.target, w.code))
		if w.target.topic == "" || !singles(refused[i]) || !w.target.trim(req.Body) {
			rest = false
			break
		}
	}
	whole := !rest
	if rest {
		for i := range m.after {
			w := &m.after[i]
			refused = append(refused, refuse(req.Body, &w.target, w.code))
			whole = whole || w.target.topic == "" || !singles(refused[len(refused)-1])
		}
	}
	answer := protocol.Response{}
	if rest {
		var err error
		if answer, err = next.Handle(ctx, req); err != nil || len(refused) == 0 {
			return answer, err
		}
	}
	if produce, ok := req.Body.(*kmsg.ProduceRequest); ok && produce.Acks == 0 {
		answer.Release()
		return protocol.Response{}, fmt.Errorf("%w: produce with acks=0 gets no answer that could say it", ErrDropped)
	}
	if whole {
		answer.Release()
		answer = protocol.Response{Body: refused[len(refused)-1]}
		refused = refused[:len(refused)-1]
	}
	for _, r := range refused {
		joined, err := join(answer.Body, r)
		if err != nil {
			return answer, err
		}
		answer.Body = joined
	}
	return answer, nil
}

// metadata answers with the topics that there are, and the code in place of what is known of those that are refused: clients
// still learn where the broker is.
func (m *harm) metadata(ctx context.Context, req *protocol.Request, body *kmsg.MetadataRequest, next Handler) (protocol.Response, error) {
	if len(m.before) > 0 {
		body.AllowAutoTopicCreation = false
	}
	answer, err := next.Handle(ctx, req)
	resp, ok := answer.Body.(*kmsg.MetadataResponse)
	if err != nil || !ok {
		return answer, err
	}
	wounds := append(m.before, m.after...)
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range wounds {
			g := &wounds[j].target
			if g.topic == "" || t.Topic != nil && *t.Topic == g.topic || t.Topic == nil && g.nameOf(t.TopicID) == g.topic {
				t.ErrorCode, t.Partitions = wounds[j].code, nil
				break
			}
		}
	}
	return answer, nil
}

// fetch has single partitions refused by the handler, since an answer with records cannot be changed; at once, whatever the
// client would wait for.
func (m *harm) fetch(ctx context.Context, req *protocol.Request, body *kmsg.FetchRequest, next Handler) (protocol.Response, error) {
	wounds := append(m.before, m.after...)
	if len(wounds) > 0 {
		body.MaxWaitMillis = 0
		req.Refuse = func(topic string, partition int32) int16 {
			for i := range wounds {
				g := &wounds[i].target
				if (g.topic == "" || g.topic == topic) && (g.partition == nil || *g.partition == partition) {
					return wounds[i].code
				}
			}
			return 0
		}
		defer func() { req.Refuse = nil }()
	}
	return next.Handle(ctx, req)
}

// anyTopic says whether a rule is about fetches of a topic.
func anyTopic(rules []*Active) bool {
	for _, a := range rules {
		if a.rule.Topic != "" && (a.kind.key == anyKey || a.kind.key == int16(kmsg.Fetch)) {
			return true
		}
	}
	return false
}

// sessionless keeps a fetch from using a session, so that it lists all its partitions. One that goes on with a session is
// answered: the client has to start over.
func sessionless(fetch *kmsg.FetchRequest) kmsg.Response {
	const none, last = 0, -1
	if fetch.SessionID == none || fetch.SessionEpoch <= 0 {
		fetch.SessionID, fetch.SessionEpoch = none, last
		return nil
	}
	answer := fetch.ResponseKind().(*kmsg.FetchResponse)
	answer.ErrorCode = fetchSessionNotFound
	return answer
}
