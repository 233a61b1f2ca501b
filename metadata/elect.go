package metadata

import (
	"slices"
	"strconv"
	"strings"
)

// election finds out what happens to a partition when a broker comes or goes,
// by the rules of Kafka's controller:
//
//   - A leader must be alive and in sync, or eligible when nobody is in sync.
//   - With eligible leader replicas (ELR) the last one in sync that goes stays
//     eligible, unless its stop was unclean; without, it just stays in sync.
//   - Who led last may lead again when nobody is in sync or eligible. It is
//     then marked as recovering.
//   - So is any other replica, where unclean.leader.election.enable allows it.
type election struct {
	elr    bool // eligible leader replicas are kept
	level  int16
	minISR int // of the topic, at most its replicas

	gone    int32 // broker that stops being in sync, -1 for none
	unclean bool  // and may have lost data

	alive func(id int32) bool // may lead

	// anyReplica tells of which topics a replica may lead that is neither in
	// sync nor eligible; nil: of none.
	anyReplica func(topic string) bool
}

// change returns what becomes of partition p of a topic; an empty record when
// nothing does.
func (e *election) change(t *Topic, p *Partition) *PartitionChangeRecord {
	r := newPartitionChange(t.ID, p.ID)
	isr := without(p.ISR, e.gone)
	elr := e.eligible(p, isr)
	leader, fromLast := e.elect(p, isr, elr)
	if leader == NoLeader && e.anyReplica != nil && e.anyReplica(t.Name) {
		if at := slices.IndexFunc(p.Replicas, e.alive); at >= 0 {
			leader, fromLast = p.Replicas[at], true
		}
	}
	if leader != p.Leader {
		r.Leader = leader
		switch {
		case fromLast:
			r.ISR = []int32{leader}
			if p.RecoveryState == 0 {
				r.LeaderRecoveryState = 1
			}
		case slices.Contains(elr, leader):
			isr, elr = []int32{leader}, without(elr, leader)
		}
	}
	if r.ISR != nil || !e.elr {
		elr = []int32{}
	}
	if !slices.Equal(elr, p.ELR) {
		r.EligibleLeaderReplicas = elr
	}
	if r.ISR == nil && (len(isr) > 0 || e.elr) && !slices.Equal(isr, p.ISR) {
		r.ISR = isr
	}
	if e.level < levelNoEpochBumpOnShrink && r.Leader == NoLeaderChange && r.ISR != nil && len(r.ISR) < len(p.ISR) {
		r.Leader = p.Leader // raises the leader epoch
	}
	e.noteLastLeader(p, r)
	return r
}

// eligible is the ELR once isr are in sync.
func (e *election) eligible(p *Partition, isr []int32) []int32 {
	if !e.elr {
		return p.ELR
	}
	elr := []int32{}
	if len(isr) >= e.minISR {
		return elr
	}
	for _, id := range append(slices.Clone(p.ELR), p.ISR...) {
		if !slices.Contains(elr, id) && !slices.Contains(isr, id) && !(e.unclean && id == e.gone) {
			elr = append(elr, id)
		}
	}
	return elr
}

// elect chooses a leader. fromLast says that it is only the one who led last.
func (e *election) elect(p *Partition, isr, elr []int32) (leader int32, fromLast bool) {
	valid := func(id int32) bool {
		return (slices.Contains(isr, id) || len(isr) == 0 && slices.Contains(elr, id)) && e.alive(id)
	}
	if valid(p.Leader) {
		return p.Leader, false
	}
	for _, id := range p.Replicas {
		if valid(id) {
			return id, false
		}
	}
	if e.elr && len(isr) == 0 && len(elr) == 0 && len(p.LastKnownELR) == 1 && e.alive(p.LastKnownELR[0]) {
		return p.LastKnownELR[0], true
	}
	return NoLeader, false
}

// noteLastLeader keeps the leader that goes in the last known ELR, and forgets
// it once there is one again.
func (e *election) noteLastLeader(p *Partition, r *PartitionChangeRecord) {
	if !e.elr {
		return
	}
	already := len(p.LastKnownELR) == 1 && p.LastKnownELR[0] == p.Leader
	if r.ISR != nil && len(r.ISR) == 0 && p.Leader != NoLeader && !already {
		r.LastKnownELR = []int32{p.Leader}
		return
	}
	leads := r.Leader >= 0 || p.Leader != NoLeader && r.Leader != NoLeader
	if leads && len(p.LastKnownELR) > 0 {
		r.LastKnownELR = []int32{}
	}
}

// without is a copy of ids that lacks id, never nil.
func without(ids []int32, id int32) []int32 {
	kept := make([]int32, 0, len(ids))
	for _, have := range ids {
		if have != id {
			kept = append(kept, have)
		}
	}
	return kept
}

// electAll makes the records for all partitions that concern selects.
func (i *Image) electAll(e election, fallbackMinISR string, concern func(*Partition) bool) []Record {
	e.elr, e.level = i.elrEnabled(), i.level()
	var records []Record
	for _, t := range i.sorted {
		minISR := i.minISR(t.Name, fallbackMinISR)
		for n := range t.Partitions {
			p := &t.Partitions[n]
			if !concern(p) {
				continue
			}
			e.minISR = min(minISR, len(p.Replicas))
			if r := e.change(t, p); !r.empty() {
				records = append(records, r)
			}
		}
	}
	return records
}

const (
	minISRKey  = "min.insync.replicas"
	uncleanKey = "unclean.leader.election.enable"
)

// uncleanElection is the unclean.leader.election.enable of a topic: its own,
// the node's or the cluster's dynamic one, or the fallback.
func (i *Image) uncleanElection(topic string, fallback bool) bool {
	for _, r := range []Resource{{ResourceTopic, topic}, {ResourceBroker, strconv.Itoa(int(i.NodeID))}, {ResourceBroker, ""}} {
		if value, ok := i.Config(r.Kind, r.Name)[uncleanKey]; ok {
			return strings.EqualFold(value, "true")
		}
	}
	return fallback
}

// minISR is the min.insync.replicas of a topic: its own, the cluster's
// default, or the node's.
func (i *Image) minISR(topic, fallback string) int {
	value, ok := i.Config(ResourceTopic, topic)[minISRKey]
	if !ok {
		if value, ok = i.Config(ResourceBroker, "")[minISRKey]; !ok {
			value = fallback
		}
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// alive reports whether a broker may lead partitions.
func (i *Image) alive(id int32) bool {
	b, ok := i.brokers[id]
	return ok && !b.Fenced && !b.InControlledShutdown
}
