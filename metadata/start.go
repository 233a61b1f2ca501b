package metadata

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"minibroker/logstore"
)

// startLocked appends what a start appends, measured on Apache Kafka 4.4.0:
//
//	LeaderChange, the first batch of the new epoch
//	AbortTransaction             if the log ends inside a transaction
//	the bootstrap records        the first time, in a transaction
//	RegisterController
//	per broker that was up       PartitionChange of what it led, Fenced: after a
//	                             crash this node itself; Kafka waits 9 s before
//	PartitionChange, RegisterBroker   the changes only after an unclean stop or
//	                             with partitions that still have this leader
//	CordonedLogDirs              none
//	Fenced no, PartitionChange   each partition gets its leader back
//
// One line is one batch. All of them are synced together.
func (s *Store) startLocked(quorum QuorumState) error {
	bootstrap, control, err := s.bootstrapLocked()
	if err != nil {
		return err
	}
	if err := s.leadLocked(quorum, control); err != nil {
		return err
	}
	if s.transaction != nil {
		if err := s.abortTransactionLocked(); err != nil {
			return err
		}
	}
	steps := []func() error{
		func() error { return s.appendLocked(bootstrap) },
		s.registerControllerLocked, s.fenceAllLocked, s.registerBrokerLocked, s.unfenceLocked,
	}
	if len(bootstrap) == 0 {
		steps = steps[1:]
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	if err := s.log.Flush(s.log.EndOffset()); err != nil {
		return err
	}
	s.show(s.next)
	return nil
}

// bootstrapLocked gives the records that a log without a metadata.version
// begins with, and the control records that go with the first LeaderChange.
func (s *Store) bootstrapLocked() ([]Record, []ControlRecord, error) {
	if s.next.level() > 0 {
		return nil, nil, nil
	}
	if len(s.next.sorted) > 0 {
		return nil, nil, fmt.Errorf("%w: the log has topics but no %s", ErrUnsupported, featureMetadataVersion)
	}
	records, control, err := s.bootstrapState()
	if err != nil {
		return nil, nil, err
	}
	if s.log.EndOffset() > 0 {
		control = nil // they were written at the first start
	}
	trial := s.next.edit(nil)
	for _, r := range records {
		if err := trial.apply(r); err != nil {
			return nil, nil, err
		}
	}
	after, err := trial.done()
	if err != nil {
		return nil, nil, err
	}
	if after.level() < levelMin {
		return nil, nil, fmt.Errorf("%w: the bootstrap checkpoint names no %s", ErrUnsupported, featureMetadataVersion)
	}
	if _, set := after.Config(ResourceBroker, "")[minISRKey]; after.elrEnabled() && !set {
		records = append(records, &ConfigRecord{ResourceType: ResourceBroker, Name: minISRKey, Value: &s.o.MinISR})
	}
	if after.level() >= levelTransactions {
		name := "Bootstrap records"
		records = slices.Insert(records, 0, Record(&BeginTransactionRecord{Name: &name}))
		records = append(records, &EndTransactionRecord{})
	}
	return records, control, nil
}

// leadLocked begins the next leader epoch: in quorum-state, then in the log.
func (s *Store) leadLocked(quorum QuorumState, control []ControlRecord) error {
	latest, _ := s.log.LatestEpoch()
	s.epoch = max(quorum.LeaderEpoch, s.next.lastEpoch, latest) + 1
	e := s.next.edit(s.transaction)
	for _, c := range control {
		e.control(c)
	}
	if err := e.next.checkVoters(quorum); err != nil {
		return err
	}
	state := QuorumState{LeaderID: s.o.NodeID, LeaderEpoch: s.epoch, VotedID: -1, Voters: []int32{s.o.NodeID}}
	if e.next.kraftVersion > 0 {
		state.DataVersion = 1
	}
	if err := writeQuorumState(s.o.FS, s.o.Dir, state); err != nil {
		return err
	}
	self := []LeaderVoter{{ID: s.o.NodeID}}
	change := &LeaderChange{LeaderID: s.o.NodeID, Voters: self, GrantingVoters: self}
	now := time.Now().UnixMilli()
	batch, err := buildControl(append([]ControlRecord{change}, control...), now)
	if err != nil {
		return err
	}
	first := s.log.EndOffset()
	if err := s.storeLocked(batch, first); err != nil {
		return err
	}
	e.at(first+int64(len(control)), s.epoch, now)
	s.next, err = e.done()
	return err
}

func (s *Store) abortTransactionLocked() error {
	if s.next.level() < levelTransactions {
		return fmt.Errorf("%w: a transaction at %s %d", ErrMalformed, featureMetadataVersion, s.next.level())
	}
	reason := "Controller failover"
	return s.appendLocked([]Record{&AbortTransactionRecord{Reason: &reason}})
}

func (s *Store) registerControllerLocked() error {
	if s.next.level() < levelControllerRegistration {
		return nil
	}
	return s.appendLocked([]Record{&RegisterControllerRecord{
		ControllerID: s.o.NodeID, IncarnationID: logstore.NewUUID(), Endpoints: s.o.ControllerEndpoints, Features: supportedFeatures,
	}})
}

// appendSplitLocked appends records that need not be one batch.
func (s *Store) appendSplitLocked(records []Record) error {
	for part := range slices.Chunk(records, maxBatchRecords) {
		if err := s.appendLocked(part); err != nil {
			return err
		}
	}
	return nil
}

// fenceAllLocked fences the brokers that the log says are up: none can be.
func (s *Store) fenceAllLocked() error {
	for _, id := range slices.Sorted(maps.Keys(s.next.brokers)) {
		if !s.next.brokers[id].Fenced {
			if err := s.fenceLocked(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// fenceLocked takes a broker's partitions away and fences it.
func (s *Store) fenceLocked(id int32) error {
	records := s.departure(id, false)
	broker := s.next.brokers[id]
	records = append(records, &BrokerRegistrationChangeRecord{BrokerID: id, BrokerEpoch: broker.BrokerEpoch, Fenced: fencedYes})
	return s.appendSplitLocked(records)
}

// departure makes the records for the partitions in whose ISR a broker is that
// goes. After an unclean stop it is not eligible any more either.
func (s *Store) departure(id int32, unclean bool) []Record {
	i := s.next
	e := election{gone: id, unclean: unclean, alive: func(other int32) bool { return other != id && i.alive(other) }}
	return i.electAll(e, s.o.MinISR, func(p *Partition) bool {
		return slices.Contains(p.ISR, id) || unclean && slices.Contains(p.ELR, id)
	})
}

// registerBrokerLocked registers this node, fenced. Its broker epoch is the
// offset of the first record of that.
func (s *Store) registerBrokerLocked() error {
	old, known := s.next.brokers[s.o.NodeID]
	clean := known && s.o.CleanBrokerEpoch >= 0 && old.BrokerEpoch == s.o.CleanBrokerEpoch
	records := s.departure(s.o.NodeID, s.next.elrEnabled() && !clean)
	r := &RegisterBrokerRecord{
		BrokerID: s.o.NodeID, IncarnationID: logstore.NewUUID(), BrokerEpoch: s.log.EndOffset(), Endpoints: s.o.Endpoints(s.next),
		Features: supportedFeatures, Fenced: true,
	}
	if s.o.Rack != "" {
		r.Rack = &s.o.Rack
	}
	if s.next.level() >= levelDirectories {
		r.LogDirs = s.o.DirectoryIDs
	}
	if err := s.appendSplitLocked(append(records, r)); err != nil {
		return err
	}
	if s.next.level() < levelCordonedDirs {
		return nil
	}
	return s.appendLocked([]Record{&BrokerRegistrationChangeRecord{
		BrokerID: s.o.NodeID, BrokerEpoch: r.BrokerEpoch, CordonedLogDirs: []logstore.UUID{},
	}})
}

// unfenceLocked makes this node available and the leader of all partitions
// that have none and may have it.
func (s *Store) unfenceLocked() error {
	i, id := s.next, s.o.NodeID
	e := election{gone: -1, alive: func(other int32) bool { return other == id || i.alive(other) },
		anyReplica: func(topic string) bool { return i.uncleanElection(topic, s.o.UncleanElection) }}
	records := []Record{&BrokerRegistrationChangeRecord{BrokerID: id, BrokerEpoch: i.BrokerEpoch, Fenced: fencedNo}}
	records = append(records, i.electAll(e, s.o.MinISR, func(p *Partition) bool {
		return p.Leader == NoLeader && !(s.o.DirectoriesFailed && i.InOfflineDirectory(p))
	})...)
	return s.appendSplitLocked(records)
}

// stopLocked appends what a clean stop appends: a batch in which this broker
// gives up what it leads, if it leads anything, then that it is fenced.
func (s *Store) stopLocked() error {
	i, id := s.next, s.o.NodeID
	if moved := s.departure(id, false); len(moved) > 0 {
		shutdown := &BrokerRegistrationChangeRecord{BrokerID: id, BrokerEpoch: i.BrokerEpoch, InControlledShutdown: 1}
		if err := s.appendSplitLocked(slices.Insert(moved, 0, Record(shutdown))); err != nil {
			return err
		}
	}
	if err := s.fenceLocked(id); err != nil {
		return err
	}
	return s.log.Flush(s.log.EndOffset())
}
