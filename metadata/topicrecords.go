package metadata

import (
	"math"

	"minibroker/logstore"
)

// TopicRecord creates a topic.
//
//	field    type    since
//	Name     string  0
//	TopicId  uuid    0
type TopicRecord struct {
	Name    string
	TopicID logstore.UUID
	Unknown []Tag
}

// Key is KeyTopic.
func (*TopicRecord) Key() RecordKey { return KeyTopic }

func (r *TopicRecord) code(c *coder) {
	c.string(&r.Name)
	c.uuid(&r.TopicID)
	c.tags(&r.Unknown)
}

// RemoveTopicRecord deletes a topic, its partitions and its settings.
//
//	field    type  since
//	TopicId  uuid  0
type RemoveTopicRecord struct {
	TopicID logstore.UUID
	Unknown []Tag
}

// Key is KeyRemoveTopic.
func (*RemoveTopicRecord) Key() RecordKey { return KeyRemoveTopic }

func (r *RemoveTopicRecord) code(c *coder) {
	c.uuid(&r.TopicID)
	c.tags(&r.Unknown)
}

// PartitionRecord creates a partition, or in a snapshot says what it is like.
//
//	field                   type     since  tag  default
//	PartitionId             int32    0
//	TopicId                 uuid     0
//	Replicas                []int32  0
//	Isr                     []int32  0
//	RemovingReplicas        []int32  0
//	AddingReplicas          []int32  0
//	Leader                  int32    0           -1: none
//	LeaderRecoveryState     int8     0      0    0: recovered; 1: recovering
//	LeaderEpoch             int32    0
//	PartitionEpoch          int32    0
//	Directories             []uuid   1           one for each replica
//	EligibleLeaderReplicas  []int32  2      1    null
//	LastKnownElr            []int32  2      2    null
type PartitionRecord struct {
	PartitionID            int32
	TopicID                logstore.UUID
	Replicas               []int32
	ISR                    []int32
	RemovingReplicas       []int32
	AddingReplicas         []int32
	Leader                 int32
	LeaderRecoveryState    int8
	LeaderEpoch            int32
	PartitionEpoch         int32
	Directories            []logstore.UUID
	EligibleLeaderReplicas []int32 // nil: not said
	LastKnownELR           []int32 // nil: not said
	Unknown                []Tag
}

// Key is KeyPartition.
func (*PartitionRecord) Key() RecordKey { return KeyPartition }

func (r *PartitionRecord) code(c *coder) {
	c.int32(&r.PartitionID)
	c.uuid(&r.TopicID)
	c.int32s(&r.Replicas)
	c.int32s(&r.ISR)
	c.int32s(&r.RemovingReplicas)
	c.int32s(&r.AddingReplicas)
	c.int32(&r.Leader)
	c.int32(&r.LeaderEpoch)
	c.int32(&r.PartitionEpoch)
	if c.version >= 1 {
		c.uuids(&r.Directories)
	}
	c.tagged(&r.Unknown, r)
}

func (r *PartitionRecord) present(version int16) uint32 {
	return bit(0, r.LeaderRecoveryState != 0) | bit(1, version >= 2 && r.EligibleLeaderReplicas != nil) |
		bit(2, version >= 2 && r.LastKnownELR != nil)
}

func (r *PartitionRecord) tag(c *coder, number uint32) bool {
	switch {
	case number == 0:
		c.int8(&r.LeaderRecoveryState)
	case number == 1 && c.version >= 2:
		c.nullableInt32s(&r.EligibleLeaderReplicas)
	case number == 2 && c.version >= 2:
		c.nullableInt32s(&r.LastKnownELR)
	default:
		return false
	}
	return true
}

// Leader values of a PartitionChangeRecord.
const (
	NoLeader       int32 = -1 // the partition has no leader
	NoLeaderChange int32 = -2 // the record says nothing about the leader
)

// noRecoveryChange says that a PartitionChangeRecord keeps the recovery state.
const noRecoveryChange int8 = -1

// PartitionChangeRecord changes what it names. The partition epoch goes up by
// one with each such record, the leader epoch with each one that has a leader,
// even -1 or the same.
//
//	field                   type     since  tag  default
//	PartitionId             int32    0
//	TopicId                 uuid     0
//	Isr                     []int32  0      0    null: no change, as below
//	Leader                  int32    0      1    -2: no change
//	Replicas                []int32  0      2    null
//	RemovingReplicas        []int32  0      3    null
//	AddingReplicas          []int32  0      4    null
//	LeaderRecoveryState     int8     0      5    -1: no change
//	EligibleLeaderReplicas  []int32  2      6    null
//	LastKnownElr            []int32  2      7    null
//	Directories             []uuid   1      8    null
type PartitionChangeRecord struct {
	PartitionID            int32
	TopicID                logstore.UUID
	ISR                    []int32
	Leader                 int32
	Replicas               []int32
	RemovingReplicas       []int32
	AddingReplicas         []int32
	LeaderRecoveryState    int8
	EligibleLeaderReplicas []int32
	LastKnownELR           []int32
	Directories            []logstore.UUID
	Unknown                []Tag
}

// newPartitionChange is a record that changes nothing yet.
func newPartitionChange(topic logstore.UUID, partition int32) *PartitionChangeRecord {
	return &PartitionChangeRecord{PartitionID: partition, TopicID: topic, Leader: NoLeaderChange, LeaderRecoveryState: noRecoveryChange}
}

// Key is KeyPartitionChange.
func (*PartitionChangeRecord) Key() RecordKey { return KeyPartitionChange }

func (r *PartitionChangeRecord) code(c *coder) {
	if !c.writing {
		r.Leader, r.LeaderRecoveryState = NoLeaderChange, noRecoveryChange
	}
	c.int32(&r.PartitionID)
	c.uuid(&r.TopicID)
	c.tagged(&r.Unknown, r)
}

func (r *PartitionChangeRecord) present(version int16) uint32 {
	return bit(0, r.ISR != nil) | bit(1, r.Leader != NoLeaderChange) | bit(2, r.Replicas != nil) | bit(3, r.RemovingReplicas != nil) |
		bit(4, r.AddingReplicas != nil) | bit(5, r.LeaderRecoveryState != noRecoveryChange) | bit(6, version >= 2 && r.EligibleLeaderReplicas != nil) |
		bit(7, version >= 2 && r.LastKnownELR != nil) | bit(8, version >= 1 && r.Directories != nil)
}

func (r *PartitionChangeRecord) tag(c *coder, number uint32) bool {
	switch {
	case number == 0:
		c.nullableInt32s(&r.ISR)
	case number == 1:
		c.int32(&r.Leader)
	case number == 2:
		c.nullableInt32s(&r.Replicas)
	case number == 3:
		c.nullableInt32s(&r.RemovingReplicas)
	case number == 4:
		c.nullableInt32s(&r.AddingReplicas)
	case number == 5:
		c.int8(&r.LeaderRecoveryState)
	case number == 6 && c.version >= 2:
		c.nullableInt32s(&r.EligibleLeaderReplicas)
	case number == 7 && c.version >= 2:
		c.nullableInt32s(&r.LastKnownELR)
	case number == 8 && c.version >= 1:
		c.nullableUUIDs(&r.Directories)
	default:
		return false
	}
	return true
}

// empty reports whether the record changes nothing.
func (r *PartitionChangeRecord) empty() bool {
	return r.present(math.MaxInt16) == 0
}

// ClearElrRecord empties the eligible leader replicas of a topic's partitions.
//
//	field      type    since
//	TopicName  string  0      "": of all topics
type ClearElrRecord struct {
	TopicName string
	Unknown   []Tag
}

// Key is KeyClearElr.
func (*ClearElrRecord) Key() RecordKey { return KeyClearElr }

func (r *ClearElrRecord) code(c *coder) {
	c.string(&r.TopicName)
	c.tags(&r.Unknown)
}
