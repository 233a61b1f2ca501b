package handlers

import (
	"container/list"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/partition"
)

const (
	noFetchSession    = 0  // session id: none
	firstSessionEpoch = 0  // asks for a new session
	lastSessionEpoch  = -1 // asks for none, and ends the one named

	// sessionProtection is how long a session that is in use is safe from
	// being evicted for another one, and how long an unused one may stay.
	sessionProtection = 2 * time.Minute

	// mostSessionPartitions bounds what all sessions together remember, some
	// 60 MB; Kafka has no such bound. A session that would go beyond it is
	// not made, or ends, and its client lists all partitions in each request.
	mostSessionPartitions = 1 << 18
)

// fetchWant is what a client wants of one partition.
type fetchWant struct {
	topic     string   // as the client named it, up to version 12
	id        [16]byte // from version 13
	partition int32

	fetchOffset        int64
	maxBytes           int32
	currentLeaderEpoch int32
	lastFetchedEpoch   int32
}

// fetchKey is the identity of a partition in a fetch.
type fetchKey struct {
	topic     string
	id        [16]byte
	partition int32
}

func (w *fetchWant) key() fetchKey {
	return fetchKey{topic: w.topic, id: w.id, partition: w.partition}
}

// sessionPartition is a partition of a session: what the client wants of it
// and what it was last told.
type sessionPartition struct {
	fetchWant
	highWatermark  int64
	logStartOffset int64
}

// isNews reports whether an incremental answer has to carry the partition.
func (p *sessionPartition) isNews(code int16, diverging bool, size, highWatermark, logStartOffset int64) bool {
	return code != codeNone || diverging || size > 0 || p.highWatermark != highWatermark || p.logStartOffset != logStartOffset
}

// news is isNews, and notes what the answer says then.
func (p *sessionPartition) news(code int16, diverging bool, size, highWatermark, logStartOffset int64) bool {
	news := p.isNews(code, diverging, size, highWatermark, logStartOffset)
	p.highWatermark, p.logStartOffset = highWatermark, logStartOffset
	if code != codeNone || diverging {
		// An impossible value, so that the partition comes again when the
		// error has gone.
		p.highWatermark = -1
	}
	return news
}

// fetchSession is the set of partitions that a client fetches again and again,
// so that its requests name only what changes. It is touched by one request at
// a time: a second one has the wrong epoch.
type fetchSession struct {
	id       int32
	usesIDs  bool
	follower bool
	created  time.Time

	mu         sync.Mutex
	epoch      int32 // of the next request
	partitions map[fetchKey]*list.Element
	order      list.List // of *sessionPartition; those that had data move to the end

	// Guarded by fetchSessions.mu.
	used  time.Time
	size  int             // partitions when it was last used
	place *list.Element   // in fetchSessions.byUse, nil when the session has ended
	rest  *partition.Rest // of the last fetch, nil when something came or the session is in use
}

// addLocked makes a partition part of the session or changes what is wanted of it.
func (s *fetchSession) addLocked(w fetchWant) *sessionPartition {
	if at, ok := s.partitions[w.key()]; ok {
		p := at.Value.(*sessionPartition)
		p.fetchWant = w
		return p
	}
	p := &sessionPartition{fetchWant: w, highWatermark: -1, logStartOffset: -1}
	s.partitions[w.key()] = s.order.PushBack(p)
	return p
}

func (s *fetchSession) removeLocked(key fetchKey) {
	if at, ok := s.partitions[key]; ok {
		s.order.Remove(at)
		delete(s.partitions, key)
	}
}

// updateLocked applies what a request adds, changes and forgets.
func (s *fetchSession) updateLocked(body *kmsg.FetchRequest) {
	for i := range body.Topics {
		t := &body.Topics[i]
		for j := range t.Partitions {
			s.addLocked(wantOf(t, &t.Partitions[j]))
		}
	}
	for i := range body.ForgottenTopics {
		t := &body.ForgottenTopics[i]
		for _, number := range t.Partitions {
			s.removeLocked(fetchKey{topic: t.Topic, id: t.TopicID, partition: number})
		}
	}
}

// wantOf copies one partition of a request.
func wantOf(t *kmsg.FetchRequestTopic, p *kmsg.FetchRequestTopicPartition) fetchWant {
	return fetchWant{
		topic: t.Topic, id: t.TopicID, partition: p.Partition,
		fetchOffset: p.FetchOffset, maxBytes: p.PartitionMaxBytes,
		currentLeaderEpoch: p.CurrentLeaderEpoch, lastFetchedEpoch: p.LastFetchedEpoch,
	}
}

// nextSessionEpoch follows the epochs 1, 2, ... and never comes back to 0,
// which asks for a new session.
func nextSessionEpoch(epoch int32) int32 {
	switch {
	case epoch < 0:
		return lastSessionEpoch
	case epoch == math.MaxInt32:
		return 1
	default:
		return epoch + 1
	}
}

// fetchSessions holds the sessions of all clients, at most slots of them.
type fetchSessions struct {
	slots int // max.incremental.fetch.session.cache.slots

	mu         sync.Mutex
	byID       map[int32]*fetchSession
	byUse      list.List // of *fetchSession, the longest unused first
	partitions int       // sum of the sessions' sizes
}

func newFetchSessions(slots int) *fetchSessions {
	return &fetchSessions{slots: slots, byID: make(map[int32]*fetchSession)}
}

// get finds a session.
func (f *fetchSessions) get(id int32) *fetchSession {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byID[id]
}

// touch notes that a session is in use with so many partitions. It reports false
// when they are too many and the session has ended.
func (f *fetchSessions) touch(s *fetchSession, size int, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.place == nil {
		return true // driven out while in use: this request still holds it
	}
	f.partitions += size - s.size
	s.used, s.size = now, size
	f.byUse.MoveToBack(s.place)
	if f.partitions > mostSessionPartitions {
		f.removeLocked(s)
		return false
	}
	return true
}

// remove forgets a session, if it is there.
func (f *fetchSessions) remove(id int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.byID[id]; s != nil {
		f.removeLocked(s)
	}
}

func (f *fetchSessions) removeLocked(s *fetchSession) {
	delete(f.byID, s.id)
	f.byUse.Remove(s.place)
	f.partitions -= s.size
	s.place = nil
	if s.rest != nil {
		s.rest.End()
		s.rest = nil
	}
}

// takeRest gives what the last fetch of a session left, nil for nothing.
func (f *fetchSessions) takeRest(s *fetchSession) *partition.Rest {
	f.mu.Lock()
	defer f.mu.Unlock()
	rest := s.rest
	s.rest = nil
	return rest
}

// leaveRest keeps what a fetch has left for the next one of the session, if that goes on.
func (f *fetchSessions) leaveRest(s *fetchSession, rest *partition.Rest) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.place == nil || s.rest != nil {
		rest.End()
		return
	}
	s.rest = rest
}

// create makes a session for so many partitions, nil when there is no room:
// all slots are taken by sessions that are in use and worth as much.
func (f *fetchSessions) create(size int, usesIDs, follower bool, now time.Time) *fetchSession {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.partitions+size > mostSessionPartitions || len(f.byID) >= f.slots && !f.evictLocked(size, follower, now) {
		return nil
	}
	s := &fetchSession{
		id: f.freeIDLocked(), usesIDs: usesIDs, follower: follower, created: now,
		epoch: nextSessionEpoch(firstSessionEpoch), partitions: make(map[fetchKey]*list.Element, size),
		used: now, size: size,
	}
	f.byID[s.id] = s
	f.partitions += size
	s.place = f.byUse.PushBack(s)
	return s
}

// evictLocked makes room: for anyone by a session that was not used for
// sessionProtection; else by the least worthy one that lived that long and is
// worth less than the newcomer. A follower's session is worth more than a
// client's and may drive out a younger one; then the number of partitions
// counts.
func (f *fetchSessions) evictLocked(size int, follower bool, now time.Time) bool {
	oldest := f.byUse.Front()
	if oldest == nil {
		return false
	}
	if s := oldest.Value.(*fetchSession); now.Sub(s.used) > sessionProtection {
		f.removeLocked(s)
		return true
	}
	var least *fetchSession
	for at := oldest; at != nil; at = at.Next() {
		s := at.Value.(*fetchSession)
		evictable := s.used.Sub(s.created) > sessionProtection || follower && !s.follower
		if evictable && (least == nil || s.lessWorthyThan(least.size, least.follower, least.id)) {
			least = s
		}
	}
	if least == nil || !least.lessWorthyThan(size, follower, noFetchSession) {
		return false
	}
	f.removeLocked(least)
	return true
}

func (s *fetchSession) lessWorthyThan(size int, follower bool, id int32) bool {
	switch {
	case s.follower != follower:
		return follower
	case s.size != size:
		return s.size < size
	default:
		return s.id < id
	}
}

// freeIDLocked draws an id that no session has.
func (f *fetchSessions) freeIDLocked() int32 {
	for {
		id := 1 + rand.Int32N(math.MaxInt32)
		if _, taken := f.byID[id]; !taken {
			return id
		}
	}
}
