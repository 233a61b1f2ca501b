package metadata

import (
	"slices"

	"minibroker/logstore"
)

// DirectoryOffline notes that a log dir of this node has failed while it was in
// use: what lies there loses its leader, which stays eligible, and then the node's
// registration loses the directory. Measured on Apache Kafka 4.4.0.
func (s *Store) DirectoryOffline(dir logstore.UUID) error {
	for more := true; more; {
		if err := s.update(func(i *Image) (records []Record, err error) {
			own, ok := i.brokers[s.o.NodeID]
			if !ok || !slices.Contains(own.LogDirs, dir) {
				more = false
				return nil, nil
			}
			records = s.leaveDirectory(i, dir)
			if more = len(records) >= maxBatchRecords; more {
				return records[:maxBatchRecords], nil
			}
			left := slices.DeleteFunc(slices.Clone(own.LogDirs), func(have logstore.UUID) bool { return have == dir })
			return append(records, &BrokerRegistrationChangeRecord{BrokerID: s.o.NodeID, BrokerEpoch: i.BrokerEpoch, LogDirs: left}), nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// leaveDirectory makes the records for the partitions that are in sync in a
// directory of this node.
func (s *Store) leaveDirectory(i *Image, dir logstore.UUID) []Record {
	id := s.o.NodeID
	e := election{gone: id, alive: func(other int32) bool { return other != id && i.alive(other) }}
	return i.electAll(e, s.o.MinISR, func(p *Partition) bool {
		return p.directoryOf(id) == dir && (slices.Contains(p.ISR, id) || p.Leader == id)
	})
}

// directoryOf is the log dir in which a broker has the partition; zero when that
// is not known.
func (p *Partition) directoryOf(broker int32) logstore.UUID {
	at := slices.Index(p.Replicas, broker)
	if at < 0 || at >= len(p.Directories) {
		return logstore.UUID{}
	}
	return p.Directories[at]
}

// InOfflineDirectory tells whether this node's replica of a partition lies in a
// log dir that its registration does not name: one that failed. Ids that name no
// directory, the first hundred numbers, do not count.
func (i *Image) InOfflineDirectory(p *Partition) bool {
	dir := p.directoryOf(i.NodeID)
	if ReservedDirectory(dir) {
		return false
	}
	own, ok := i.brokers[i.NodeID]
	return ok && len(own.LogDirs) > 0 && !slices.Contains(own.LogDirs, dir)
}

// ReservedDirectory tells the ids that name no directory (unassigned, lost,
// migrating).
func ReservedDirectory(id logstore.UUID) bool {
	for _, digit := range id[:len(id)-1] {
		if digit != 0 {
			return false
		}
	}
	return id[len(id)-1] < 100
}
