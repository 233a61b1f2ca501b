package handlers

// Fetch, versions 4 to 18.
//
// Honoured: minimum and maximum of bytes, per request and per partition, with
// Kafka's order (partitions as listed, those with data go to the end of a
// session); the longest wait; isolation; leader epochs and the last fetched
// epoch; sessions with forgotten topics; topics by id from version 13; the
// current leader and its address from version 16. The records go from the file
// to the socket without being read here.
//
// Not needed on a single node: racks (the preferred replica is always -1) and
// fetches in a replica's name, which are answered as Kafka answers a replica
// that is none of the partition's. The cluster id is ignored, as by Kafka's
// brokers.

import (
	"container/list"
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/partition"
	"minibroker/protocol"
	"minibroker/quota"
)

// fetchKind is how a request stands to fetch sessions.
type fetchKind int8

const (
	fetchSessionless fetchKind = iota // lists everything and gets everything
	fetchFull                         // the same, and asks for a session
	fetchIncremental                  // lists changes and gets news
)

// fetchCall is the work space of one Fetch request. It is pooled together with
// its answer, which is in use until the answer has been written.
type fetchCall struct {
	kind    fetchKind
	session *fetchSession   // incremental only
	rest    *partition.Rest // what the session's fetch before left, then what this one leaves; nil for nothing
	keys    firstSeen[fetchKey]

	entries []fetchEntry
	reads   []partition.Read
	results []partition.ReadResult
	picked  []int32 // entries that the answer carries, in its order

	answer  fetchAnswer
	release func()
}

// fetchEntry is one partition of the request, or of the session.
type fetchEntry struct {
	fetchWant
	at   *list.Element // in the session's order, incremental only
	read int32         // number of its Read and ReadResult, -1 when refused
	code int16
	// leader answers what is asked of a partition that is not served here.
	leader, leaderEpoch int32
}

func (a *API) fetch(ctx context.Context, req *protocol.Request) (protocol.Response, error) {
	return a.answerFetch(ctx, req, nil)
}

// answerFetch answers a Fetch request. The meter is nil when no quotas are set.
func (a *API) answerFetch(ctx context.Context, req *protocol.Request, meter *quota.Meter) (protocol.Response, error) {
	body := req.Body.(*kmsg.FetchRequest)
	c := a.fetchCall()
	if code := c.open(a.data.sessions, body); code != codeNone {
		return c.refused(req.Version, code, noFetchSession), nil
	}
	spec := a.fetchSpec(req, body)
	if c.rest != nil {
		if meter == nil && req.Refuse == nil && c.atRest(ctx, &spec) {
			return c.nothingNew(a.data.sessions, body), nil
		}
		c.list()
	}
	a.prepareReads(c, a.meta.Image(), req, body)
	if len(c.reads) > 0 {
		if !spec.Isolation.Valid() {
			return c.failed(body, codeUnknownServerError), nil
		}
		metered := false
		if meter != nil {
			metered = meter.Pause()
			spec.MaxBytes = int(a.fitQuota(req, body, int32(spec.MaxBytes)))
			spec.MinBytes = min(spec.MinBytes, spec.MaxBytes)
		}
		c.results, c.rest = a.partitions.Fetch(ctx, c.reads, spec, c.results)
		if metered {
			meter.Run()
		}
		a.judge(c)
	}
	if meter != nil && !fromFollower(body) {
		if wait := a.throttleFetch(c, req, body, meter); wait > 0 {
			return c.throttled(body, wait), nil
		}
	}
	sessionID, code := c.settle(a.data.sessions, body)
	if code != codeNone {
		return c.refused(req.Version, code, sessionID), nil
	}
	c.answer.begin(req.Version, codeNone, sessionID)
	c.countSent()
	c.encode()
	a.nameFetchLeaders(c, req, body)
	c.leaveRest(a.data.sessions)
	return protocol.Response{Parts: c.answer.end(), Done: c.release}, nil
}

// fetchSpec is what a request asks of all partitions together.
func (a *API) fetchSpec(req *protocol.Request, body *kmsg.FetchRequest) partition.FetchSpec {
	maxBytes := min(body.MaxBytes, a.data.fetchMaxBytes)
	return partition.FetchSpec{
		MinBytes:  int(min(body.MinBytes, maxBytes)),
		MaxBytes:  int(maxBytes),
		MaxWait:   time.Duration(body.MaxWaitMillis) * time.Millisecond,
		Isolation: partition.Isolation(body.IsolationLevel),
		Follower:  fromFollower(body),
		Waited:    &req.Waited,
	}
}

func (a *API) fetchCall() *fetchCall {
	if c, ok := a.data.fetches.Get().(*fetchCall); ok {
		return c
	}
	c := &fetchCall{}
	c.release = func() {
		c.endRest()
		if cap(c.entries) > mostPooled {
			return
		}
		c.keys.reset()
		clear(c.entries)
		clear(c.reads)
		clear(c.results)
		c.entries, c.reads, c.results, c.picked = c.entries[:0], c.reads[:0], c.results[:0], c.picked[:0]
		c.session = nil
		c.answer.reset()
		a.data.fetches.Put(c)
	}
	return c
}

// fromFollower reports whether the request comes in a replica's name.
func fromFollower(body *kmsg.FetchRequest) bool {
	if body.Version >= 15 {
		return body.ReplicaState.ID >= 0
	}
	return body.ReplicaID >= 0
}

// open finds out how the request stands to sessions and lists the partitions
// that it is about. A code is an error of the session.
func (c *fetchCall) open(sessions *fetchSessions, body *kmsg.FetchRequest) int16 {
	if body.SessionEpoch == firstSessionEpoch || body.SessionEpoch == lastSessionEpoch {
		c.kind = fetchFull
		if body.SessionEpoch == lastSessionEpoch {
			c.kind = fetchSessionless
		}
		if body.SessionID != noFetchSession {
			sessions.remove(body.SessionID)
		}
		c.listRequest(body)
		return codeNone
	}
	s := sessions.get(body.SessionID)
	if s == nil {
		return codeFetchSessionIDNotFound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.epoch != body.SessionEpoch:
		return codeInvalidFetchSessionEpoch
	case s.usesIDs != (body.Version >= 13):
		return codeFetchSessionTopicIDError
	}
	s.updateLocked(body)
	if len(s.partitions) == 0 {
		sessions.remove(s.id)
		c.kind = fetchSessionless
		c.listRequest(body)
		return codeNone
	}
	if !sessions.touch(s, len(s.partitions), time.Now()) {
		return codeFetchSessionIDNotFound
	}
	s.epoch = nextSessionEpoch(s.epoch)
	c.kind, c.session, c.rest = fetchIncremental, s, sessions.takeRest(s)
	if c.rest == nil || len(body.Topics)+len(body.ForgottenTopics) > 0 {
		c.endRest()
		c.listLocked()
	}
	return codeNone
}

// listLocked lists the partitions of the session.
func (c *fetchCall) listLocked() {
	for at := c.session.order.Front(); at != nil; at = at.Next() {
		c.entries = append(c.entries, fetchEntry{fetchWant: at.Value.(*sessionPartition).fetchWant, at: at})
	}
}

// listRequest lists the partitions of a request that names all of them. One
// that comes twice keeps its first place and its last wishes.
func (c *fetchCall) listRequest(body *kmsg.FetchRequest) {
	for i := range body.Topics {
		t := &body.Topics[i]
		for j := range t.Partitions {
			want := wantOf(t, &t.Partitions[j])
			n, seen := c.keys.add(want.key())
			if seen {
				c.entries[n].fetchWant = want
			} else {
				c.entries = append(c.entries, fetchEntry{fetchWant: want})
			}
		}
	}
}

// prepareReads finds the topics and partitions; those that do not exist are
// refused at once, without ending the wait of the others.
func (a *API) prepareReads(c *fetchCall, image *metadata.Image, req *protocol.Request, body *kmsg.FetchRequest) {
	byID := body.Version >= 13
	var topic *metadata.Topic
	for i := range c.entries {
		e := &c.entries[i]
		if i == 0 || e.topic != c.entries[i-1].topic || e.id != c.entries[i-1].id {
			if byID {
				topic, _ = image.TopicByID(logstore.UUID(e.id))
			} else {
				topic, _ = image.Topic(e.topic)
			}
		}
		e.read = -1
		switch {
		case topic == nil && byID:
			e.code = codeUnknownTopicID
			continue
		case topic == nil || !hasPartition(topic, e.partition):
			e.code = codeUnknownTopicOrPartition
			continue
		}
		if req.Refuse != nil {
			if e.code = req.Refuse(topic.Name, e.partition); e.code != codeNone {
				continue
			}
		}
		p, err := a.partitions.Get(logstore.TopicPartition{Topic: topic.Name, Partition: e.partition})
		if err != nil {
			// The read fails too; what it failed for is known here.
			leader := &topic.Partitions[e.partition]
			e.code, e.leader, e.leaderEpoch = unservedCode(err), leader.Leader, leader.LeaderEpoch
		} else if byID && !isOf(p, topic) {
			e.code = codeInconsistentTopicID
			continue
		}
		e.read = int32(len(c.reads))
		c.reads = append(c.reads, partition.Read{
			Partition: p, FetchOffset: e.fetchOffset, MaxBytes: int(e.maxBytes),
			CurrentLeaderEpoch: e.currentLeaderEpoch, LastFetchedEpoch: e.lastFetchedEpoch,
		})
	}
}

// judge turns the errors of the reads into codes.
func (a *API) judge(c *fetchCall) {
	for i := range c.entries {
		e := &c.entries[i]
		if e.read < 0 || e.code != codeNone {
			continue
		}
		err := c.results[e.read].Err
		if err == nil {
			continue
		}
		e.code = errorCode(err)
		if p := c.reads[e.read].Partition; p != nil {
			e.leader, e.leaderEpoch = a.config.NodeID(), p.LeaderEpoch()
		}
		if e.code == codeUnknownServerError || e.code == codeKafkaStorageError {
			a.log.Error("fetch", "topic", e.topic, "partition", e.partition, "offset", e.fetchOffset, "error", err)
		}
	}
}

// settle chooses what the answer carries and brings the session up to date.
// It returns the session's id, or an error of the session.
func (c *fetchCall) settle(sessions *fetchSessions, body *kmsg.FetchRequest) (sessionID int32, code int16) {
	if c.kind != fetchIncremental {
		c.pick(func(*fetchEntry, *partition.ReadResult) bool { return true })
		if c.kind == fetchFull {
			return c.createSession(sessions, body), codeNone
		}
		return noFetchSession, codeNone
	}
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.epoch != nextSessionEpoch(body.SessionEpoch) {
		// Another request of the same session overtook this one.
		return s.id, codeInvalidFetchSessionEpoch
	}
	c.pick(func(e *fetchEntry, r *partition.ReadResult) bool {
		size := rangeLen(r.Records)
		if size > 0 {
			s.order.MoveToBack(e.at)
		}
		return e.at.Value.(*sessionPartition).news(e.code, r.HasDiverging, size, r.HighWatermark, r.LogStartOffset)
	})
	return s.id, codeNone
}

// pick lists the entries for which wanted is true: first those that were read,
// then those that were refused.
func (c *fetchCall) pick(wanted func(*fetchEntry, *partition.ReadResult) bool) {
	refused := false
	for i := range c.entries {
		e := &c.entries[i]
		if e.read < 0 {
			refused = true
		} else if wanted(e, &c.results[e.read]) {
			c.picked = append(c.picked, int32(i))
		}
	}
	if !refused {
		return
	}
	none := partition.ReadResult{HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1}
	for i := range c.entries {
		if e := &c.entries[i]; e.read < 0 && wanted(e, &none) {
			c.picked = append(c.picked, int32(i))
		}
	}
}

// createSession makes a session of what was asked and answered, if there is
// room for one.
func (c *fetchCall) createSession(sessions *fetchSessions, body *kmsg.FetchRequest) int32 {
	s := sessions.create(len(c.entries), body.Version >= 13, fromFollower(body), time.Now())
	if s == nil {
		return noFetchSession
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range c.picked {
		e := &c.entries[i]
		p := s.addLocked(e.fetchWant)
		if e.read >= 0 {
			r := &c.results[e.read]
			p.highWatermark, p.logStartOffset = r.HighWatermark, r.LogStartOffset
		}
	}
	return s.id
}

// countSent counts the records of the answer, before the parts take them over.
func (c *fetchCall) countSent() {
	for _, i := range c.picked {
		if e := &c.entries[i]; e.read >= 0 {
			if n := rangeLen(c.results[e.read].Records); n > 0 {
				c.reads[e.read].Partition.CountSent(n)
			}
		}
	}
}

// refused answers with an error of the session.
func (c *fetchCall) refused(version int16, code int16, sessionID int32) protocol.Response {
	c.releaseRecords()
	c.answer.begin(version, code, sessionID)
	c.answer.topics(0)
	return protocol.Response{Parts: c.answer.end(), Done: c.release}
}

// failed answers a request that cannot be carried out at all. Up to version
// 12 each partition says so as well.
func (c *fetchCall) failed(body *kmsg.FetchRequest, code int16) protocol.Response {
	c.answer.begin(body.Version, code, body.SessionID)
	if body.Version >= 13 {
		c.answer.topics(0)
		return protocol.Response{Parts: c.answer.end(), Done: c.release}
	}
	c.entries = c.entries[:0]
	c.keys.reset()
	c.listRequest(body)
	for i := range c.entries {
		c.entries[i].read, c.entries[i].code = -1, code
		c.picked = append(c.picked, int32(i))
	}
	c.encode()
	return protocol.Response{Parts: c.answer.end(), Done: c.release}
}

func (c *fetchCall) releaseRecords() {
	for i := range c.results {
		if r := c.results[i].Records; r != nil {
			r.Release()
			c.results[i].Records = nil
		}
	}
}

// nameFetchLeaders adds this node's address when an answer points to it as the
// leader. A replica is not told: it knows the nodes.
func (a *API) nameFetchLeaders(c *fetchCall, req *protocol.Request, body *kmsg.FetchRequest) {
	if req.Version < leaderInFetch || fromFollower(body) {
		return
	}
	for _, i := range c.picked {
		e := &c.entries[i]
		if !e.namesLeader() || e.leader != a.config.NodeID() {
			continue
		}
		if endpoint, ok := a.advertised(req.Listener); ok {
			c.answer.node, c.answer.endpoint = e.leader, &endpoint
		}
		return
	}
}

// namesLeader reports whether the entry's error is one that tells the client
// where the leader is.
func (e *fetchEntry) namesLeader() bool {
	return e.code == codeNotLeaderOrFollower || e.code == codeFencedLeaderEpoch
}

func rangeLen(r *logstore.Range) int64 {
	if r == nil {
		return 0
	}
	return r.Len()
}
