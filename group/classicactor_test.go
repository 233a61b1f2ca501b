package group

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// oldtimer is a client of the classic protocol that rebalances eagerly: it gives
// up everything before it joins again. As leader it divides the partitions, and
// does so anew when topics grow.
type oldtimer struct {
	*party
	id         string
	generation int32
	owned      []slot
	silent     bool
	version    int64 // of the topics that it divided; 0 when it does not lead
}

func (a *oldtimer) run() {
	defer close(a.finished)
	for !a.ended() {
		if !a.join() {
			a.rest(100 * time.Millisecond)
			continue
		}
		for !a.ended() {
			if a.stalled() {
				a.silent = true
				continue
			}
			if !a.beat() || a.version != 0 && a.version != a.m.topicSet().version {
				break
			}
			a.rest(time.Duration(500+a.rng.IntN(2000)) * time.Millisecond)
		}
	}
	a.m.claims.dropAll(a.name)
	if a.goodbye && a.id != "" {
		a.m.coordinator().Leave("g", []Leaving{{MemberID: a.id, InstanceID: a.instance}}) // a failure is as good as a crash
	}
}

// beat shows that it lives; it says whether it may go on.
func (a *oldtimer) beat() bool {
	err := a.m.coordinator().Heartbeat(&HeartbeatRequest{GroupID: "g", Generation: a.generation, MemberID: a.id, InstanceID: a.instance})
	switch {
	case err == nil:
		if a.silent {
			a.silent = false
			a.m.claims.take(a.name, a.owned)
		}
		return true
	case a.elsewhere(err):
		return true
	case errors.Is(err, ErrUnknownMember), errors.Is(err, ErrFencedInstance):
		a.id = ""
	case errors.Is(err, ErrRebalanceInProgress), errors.Is(err, ErrIllegalGeneration):
	default:
		a.m.claims.complain("%s: heartbeat: %v", a.name, err)
	}
	return false
}

// elsewhere says that the coordinator cannot be asked at the moment.
func (a *oldtimer) elsewhere(err error) bool {
	return errors.Is(err, ErrNotCoordinator) || errors.Is(err, ErrNotAvailable) || errors.Is(err, ErrLoading) || errors.Is(err, ErrStorage)
}

// join joins and syncs; it says whether it is a member now.
func (a *oldtimer) join() bool {
	a.m.claims.dropAll(a.name)
	a.owned, a.silent, a.version = nil, false, 0
	r := ask("g", a.id, needsID, func(r *JoinRequest) {
		said := kmsg.NewConsumerMemberMetadata()
		said.Version, said.Topics = 3, a.topics
		r.InstanceID, r.SessionTimeoutMs, r.RebalanceTimeoutMs = a.instance, 30000, 20000
		r.Protocols = []Protocol{{"range", said.AppendTo(nil)}}
	})
	joined, err := a.m.coordinator().Join(context.Background(), r)
	if err != nil {
		a.m.claims.complain("%s: join: %v", a.name, err)
	}
	switch err := joined.Err; {
	case err == nil:
	case errors.Is(err, ErrMemberIDRequired):
		a.id = joined.MemberID
		return false
	case errors.Is(err, ErrUnknownMember), errors.Is(err, ErrFencedInstance):
		a.id = ""
		return false
	case a.elsewhere(err), errors.Is(err, ErrRebalanceInProgress):
		return false
	default:
		a.m.claims.complain("%s: join: %v", a.name, err)
		return false
	}
	a.id, a.generation = joined.MemberID, joined.Generation
	if a.stalled() {
		return false
	}
	return a.sync(&joined)
}

func (a *oldtimer) sync(joined *JoinResult) bool {
	s := &SyncRequest{GroupID: "g", Generation: a.generation, MemberID: a.id, InstanceID: a.instance}
	if len(joined.Members) > 0 && !joined.SkipAssignment {
		s.Assignments = a.divide(joined.Members)
	}
	if joined.LeaderID == a.id {
		a.version = a.m.topicSet().version
	}
	synced, err := a.m.coordinator().Sync(context.Background(), s)
	if err != nil {
		a.m.claims.complain("%s: sync: %v", a.name, err)
	}
	switch err := synced.Err; {
	case err == nil:
	case errors.Is(err, ErrUnknownMember), errors.Is(err, ErrFencedInstance):
		a.id = ""
		return false
	case a.elsewhere(err), errors.Is(err, ErrRebalanceInProgress), errors.Is(err, ErrIllegalGeneration):
		return false
	default:
		a.m.claims.complain("%s: sync: %v", a.name, err)
		return false
	}
	var part kmsg.ConsumerMemberAssignment
	if len(synced.Assignment) > 0 {
		if err := part.ReadFrom(synced.Assignment); err != nil {
			a.m.claims.complain("%s: assignment: %v", a.name, err)
		}
	}
	a.owned = slotsOf(listOf(partsOf(part.Topics, a.m.topicSet())))
	a.m.claims.take(a.name, a.owned)
	return true
}

// divide gives each partition to one of those who subscribe to its topic.
func (a *oldtimer) divide(members []JoinedMember) []Assignment {
	topics, readers := a.m.topicSet(), map[string][]string{}
	a.m.divided.Store(&topics)
	for _, m := range members {
		var said kmsg.ConsumerMemberMetadata
		if err := said.ReadFrom(m.Metadata); err != nil {
			a.m.claims.complain("%s: metadata of %s: %v", a.name, m.ID, err)
		}
		for _, topic := range said.Topics {
			readers[topic] = append(readers[topic], m.ID)
		}
	}
	parts := map[string]partitionSet{}
	for topic, ids := range readers {
		t, _ := topics.ByName(topic)
		slices.Sort(ids)
		for p := range t.Partitions {
			id := ids[int(p)%len(ids)]
			if parts[id] == nil {
				parts[id] = partitionSet{}
			}
			parts[id].add(t.ID, p)
		}
	}
	var all []Assignment
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		all = append(all, Assignment{id, classicAssignment(parts[id], topics, 3)})
	}
	return all
}
