package metadata

import (
	"fmt"
	"time"
)

// UpdateFeatures sets levels of features, all or none. Raising kraft.version
// makes this node the one voter that the log names; that is a batch before the
// others. Measured on Apache Kafka 4.4.0: a NoOp stands where its level would,
// and where eligible.leader.replicas.version is switched on min.insync.replicas
// becomes a setting of the cluster alone.
//
// The levels must be ones that this program can work with.
func (s *Store) UpdateFeatures(levels []FeatureLevelRecord) error {
	for _, l := range levels {
		if l.Name == featureKRaftVersion && l.Level > 0 {
			if err := s.upgradeQuorum(); err != nil {
				return err
			}
		}
	}
	return s.update(func(i *Image) ([]Record, error) {
		var records, safety []Record
		for _, l := range levels {
			switch {
			case l.Name == featureKRaftVersion:
				records = append(records, &NoOpRecord{})
				continue
			case l.Name == featureELR && l.Level > 0 && i.Features[featureELR] == 0:
				safety = s.elrSafety(i)
			}
			records = append(records, &FeatureLevelRecord{Name: l.Name, Level: l.Level})
		}
		return append(records, safety...), nil
	})
}

// elrSafety makes the records with which min.insync.replicas is the same on
// all brokers: the cluster's, which is this node's own if there is none.
func (s *Store) elrSafety(i *Image) []Record {
	var records []Record
	if _, set := i.Config(ResourceBroker, "")[minISRKey]; !set {
		records = append(records, &ConfigRecord{ResourceType: ResourceBroker, Name: minISRKey, Value: &s.o.MinISR})
	}
	for r, settings := range i.Configs() {
		if _, set := settings[minISRKey]; set && r.Kind == ResourceBroker && r.Name != "" {
			records = append(records, &ConfigRecord{ResourceType: ResourceBroker, ResourceName: r.Name, Name: minISRKey})
		}
	}
	return records
}

// upgradeQuorum raises kraft.version to 1, unless it is that already.
func (s *Store) upgradeQuorum() error {
	s.mu.Lock()
	c, err := s.upgradeQuorumLocked()
	s.mu.Unlock()
	if err != nil || c == nil {
		return err
	}
	return s.commit(c)
}

func (s *Store) upgradeQuorumLocked() (*change, error) {
	switch {
	case s.closed:
		return nil, ErrClosed
	case s.failed != nil:
		return nil, s.failed
	case s.next.kraftVersion > 0:
		return nil, nil
	case s.o.DirectoryID.IsZero():
		return nil, fmt.Errorf("%w: the directory of the metadata log has no id", ErrInvalidChange)
	}
	var endpoints []VoterEndpoint
	for _, e := range s.o.ControllerEndpoints {
		endpoints = append(endpoints, VoterEndpoint{Name: e.Name, Host: e.Host, Port: e.Port})
	}
	control := []ControlRecord{&KRaftVersion{Level: 1}, &KRaftVoters{Voters: []Voter{NewVoter(s.o.NodeID, s.o.DirectoryID, endpoints)}}}
	now := time.Now().UnixMilli()
	batch, err := buildControl(control, now)
	if err != nil {
		return nil, err
	}
	first := s.log.EndOffset()
	if err := s.storeLocked(batch, first); err != nil {
		return nil, err
	}
	e := s.next.edit(s.transaction)
	for _, c := range control {
		e.control(c)
	}
	e.at(first+int64(len(control))-1, s.epoch, now)
	image, err := e.done()
	if err != nil {
		return nil, err
	}
	s.next = image
	c := &change{end: s.log.EndOffset(), image: image}
	s.pending = append(s.pending, c)
	s.changes.Add(1)
	return c, nil
}

// Voters lists the voters that the metadata names: none while kraft.version is
// 0.
func (i *Image) Voters() []Voter {
	if i.voters == nil {
		return nil
	}
	return i.voters.Voters
}
