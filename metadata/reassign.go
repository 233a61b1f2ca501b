package metadata

import (
	"fmt"
	"slices"

	"minibroker/logstore"
)

// PartitionID names a partition.
type PartitionID struct {
	TopicID   logstore.UUID
	Partition int32
}

// find looks a partition up.
func (i *Image) find(id PartitionID) (*Topic, *Partition, error) {
	t, ok := i.TopicByID(id.TopicID)
	if !ok || id.Partition < 0 || int(id.Partition) >= len(t.Partitions) {
		return nil, nil, fmt.Errorf("%w: partition %d of topic id %s", ErrUnknownTopic, id.Partition, id.TopicID)
	}
	return t, &t.Partitions[id.Partition], nil
}

// Reassignment says which brokers shall have a partition. Replicas nil cancels
// the reassignment that is under way.
type Reassignment struct {
	PartitionID
	Replicas []int32
}

// Reassign begins, ends or cancels reassignments, all in one batch. One is over
// at once when all replicas that it adds are in sync; the others stay under way.
func (s *Store) Reassign(all []Reassignment) error {
	return s.update(func(i *Image) ([]Record, error) {
		var records []Record
		for _, a := range all {
			t, p, err := i.find(a.PartitionID)
			if err != nil {
				return nil, err
			}
			var r *PartitionChangeRecord
			if a.Replicas == nil {
				r = p.cancelReassignment(t.ID)
			} else {
				r = p.reassign(t.ID, a.Replicas)
			}
			if !r.empty() {
				records = append(records, r)
			}
		}
		return records, nil
	})
}

// reassign makes the record that brings a partition to its target, or on the
// way to it: while replicas are added, those to be removed stay.
func (p *Partition) reassign(topic logstore.UUID, target []int32) *PartitionChangeRecord {
	adding, removing := minus(target, p.Replicas), minus(p.Replicas, target)
	replicas, isr := append(slices.Clone(target), removing...), p.ISR
	if len(adding)+len(removing) > 0 {
		kept := minus(isr, removing)
		if len(kept) > 0 && len(minus(adding, kept)) == 0 {
			replicas, isr, adding, removing = slices.Clone(target), kept, []int32{}, []int32{}
		}
	}
	return p.replace(topic, replicas, isr, adding, removing)
}

// cancelReassignment makes the record that takes the added replicas away again.
func (p *Partition) cancelReassignment(topic logstore.UUID) *PartitionChangeRecord {
	isr := minus(p.ISR, p.Adding)
	if len(isr) == 0 {
		isr = p.ISR
	}
	return p.replace(topic, minus(p.Replicas, p.Adding), isr, []int32{}, []int32{})
}

// replace makes the record of what differs from the partition as it is.
func (p *Partition) replace(topic logstore.UUID, replicas, isr, adding, removing []int32) *PartitionChangeRecord {
	r := newPartitionChange(topic, p.ID)
	if !slices.Equal(replicas, p.Replicas) {
		r.Replicas = replicas
		r.Directories = p.directoriesOf(replicas)
	}
	if !slices.Equal(isr, p.ISR) {
		r.ISR = isr
	}
	if !slices.Equal(adding, p.Adding) {
		r.AddingReplicas = adding
	}
	if !slices.Equal(removing, p.Removing) {
		r.RemovingReplicas = removing
	}
	return r
}

// directoriesOf lists the log dirs of other replicas: where they are known.
func (p *Partition) directoriesOf(replicas []int32) []logstore.UUID {
	dirs := make([]logstore.UUID, len(replicas))
	for n, id := range replicas {
		dirs[n] = unassignedDir()
		if at := slices.Index(p.Replicas, id); at >= 0 && at < len(p.Directories) {
			dirs[n] = p.Directories[at]
		}
	}
	return dirs
}

// minus is what a has and b has not, never nil.
func minus(a, b []int32) []int32 {
	rest := make([]int32, 0, len(a))
	for _, id := range a {
		if !slices.Contains(b, id) {
			rest = append(rest, id)
		}
	}
	return rest
}

// ElectUnclean lets this node lead partitions without a leader although it was
// not in sync, all in one batch. The partitions that it has no replica of stay
// as they are.
func (s *Store) ElectUnclean(ids []PartitionID) error {
	return s.update(func(i *Image) ([]Record, error) {
		e := election{elr: i.elrEnabled(), level: i.level(), gone: -1, alive: i.alive, anyReplica: func(string) bool { return true }}
		var records []Record
		for _, id := range ids {
			t, p, err := i.find(id)
			if err != nil {
				return nil, err
			}
			e.minISR = min(i.minISR(t.Name, s.o.MinISR), len(p.Replicas))
			e.alive = func(id int32) bool { return i.MayLead(p, id) }
			if r := e.change(t, p); !r.empty() {
				records = append(records, r)
			}
		}
		return records, nil
	})
}

// electAllowed makes this node the leader of partitions without one where
// unclean.leader.election.enable lets it.
func (s *Store) electAllowed() error {
	for more := true; more; {
		err := s.update(func(i *Image) ([]Record, error) {
			e := election{gone: -1, alive: i.alive, anyReplica: func(topic string) bool { return i.uncleanElection(topic, s.o.UncleanElection) }}
			records := i.electAll(e, s.o.MinISR, func(p *Partition) bool { return p.Leader == NoLeader && !i.InOfflineDirectory(p) })
			more = len(records) > maxBatchRecords
			return records[:min(len(records), maxBatchRecords)], nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// UnregisterBroker forgets a broker of a former cluster. It stops counting as
// in sync everywhere.
func (s *Store) UnregisterBroker(id int32) error {
	return s.update(func(i *Image) ([]Record, error) {
		b, ok := i.brokers[id]
		if !ok || id == s.o.NodeID {
			return nil, fmt.Errorf("%w: broker %d is not one to unregister", ErrInvalidChange, id)
		}
		alive := func(other int32) bool { return other != id && i.alive(other) }
		records := i.electAll(election{gone: id, unclean: true, alive: alive}, s.o.MinISR, func(p *Partition) bool {
			return slices.Contains(p.ISR, id) || slices.Contains(p.ELR, id)
		})
		return append(records, &UnregisterBrokerRecord{BrokerID: id, BrokerEpoch: b.BrokerEpoch}), nil
	})
}

// LeaderEpoch is the epoch of the metadata log's leader.
func (s *Store) LeaderEpoch() int32 { return s.Image().lastEpoch }

// KRaftVersion is the level of kraft.version: 0 while the quorum's voters are
// known by configuration.
func (i *Image) KRaftVersion() int16 { return i.kraftVersion }

// MayLead says whether a broker is up and may lead a partition; this node may not where its replica lies in a log dir that failed.
func (i *Image) MayLead(p *Partition, id int32) bool {
	return i.alive(id) && (id != i.NodeID || !i.InOfflineDirectory(p))
}
