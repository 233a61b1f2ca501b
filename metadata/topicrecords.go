package metadata

import "minibroker/logstore"

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
	known := []tagged{
		{0, r.LeaderRecoveryState != 0, func(c *coder) { c.int8(&r.LeaderRecoveryState) }},
	}
	if c.version >= 2 {
		known = append(known,
			tagged{1, r.EligibleLeaderReplicas != nil, func(c *coder) { c.nullableInt32s(&r.EligibleLeaderReplicas) }},
			tagged{2, r.LastKnownELR != nil, func(c *coder) { c.nullableInt32s(&r.LastKnownELR) }})
	}
	c.tags(&r.Unknown, known...)
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
	known := []tagged{
		{0, r.ISR != nil, func(c *coder) { c.nullableInt32s(&r.ISR) }},
		{1, r.Leader != NoLeaderChange, func(c *coder) { c.int32(&r.Leader) }},
		{2, r.Replicas != nil, func(c *coder) { c.nullableInt32s(&r.Replicas) }},
		{3, r.RemovingReplicas != nil, func(c *coder) { c.nullableInt32s(&r.RemovingReplicas) }},
		{4, r.AddingReplicas != nil, func(c *coder) { c.nullableInt32s(&r.AddingReplicas) }},
		{5, r.LeaderRecoveryState != noRecoveryChange, func(c *coder) { c.int8(&r.LeaderRecoveryState) }},
	}
	if c.version >= 2 {
		known = append(known,
			tagged{6, r.EligibleLeaderReplicas != nil, func(c *coder) { c.nullableInt32s(&r.EligibleLeaderReplicas) }},
			tagged{7, r.LastKnownELR != nil, func(c *coder) { c.nullableInt32s(&r.LastKnownELR) }})
	}
	if c.version >= 1 {
		known = append(known, tagged{8, r.Directories != nil, func(c *coder) { c.nullableUUIDs(&r.Directories) }})
	}
	c.tags(&r.Unknown, known...)
}

// empty reports whether the record changes nothing.
func (r *PartitionChangeRecord) empty() bool {
	return r.ISR == nil && r.Leader == NoLeaderChange && r.Replicas == nil && r.RemovingReplicas == nil && r.AddingReplicas == nil &&
		r.LeaderRecoveryState == noRecoveryChange && r.EligibleLeaderReplicas == nil && r.LastKnownELR == nil && r.Directories == nil
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
