package group

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/record"
)

// A committed offset, type 1:
//
//	key    i16 1, string group, string topic, i32 partition
//	value  i16 version 4, i64 offset, i32 leader epoch, compact string metadata,
//	       i64 commit time, tag 0: topic id (16 bytes), left out when there is none
//
// A commit with an expiry time of its own is written as version 1, which alone
// has a place for it.
const (
	offsetVersion         int16 = 4
	offsetExpiringVersion int16 = 1
	offsetHighestVersion  int16 = 4
)

// Offset is how far a group has read a partition.
type Offset struct {
	Offset      int64
	LeaderEpoch int32 // -1 none
	Metadata    string
	TopicID     [16]byte // zero when it is not known
	CommitMs    int64    // when it was committed
	ExpireMs    int64    // when it expires by the client's will; -1 by the broker's settings

	recordOffset int64 // of its record
}

// PartitionName is a partition of a topic.
type PartitionName struct {
	Topic     string
	Partition int32
}

func offsetKey(groupID string, p PartitionName) []byte {
	key := make([]byte, 0, 2+2+len(groupID)+2+len(p.Topic)+4)
	key = binary.BigEndian.AppendUint16(key, uint16(typeOffsetCommit))
	key = appendKeyString(key, groupID)
	key = appendKeyString(key, p.Topic)
	return binary.BigEndian.AppendUint32(key, uint32(p.Partition))
}

// offsetRecord is the record of a committed offset.
func offsetRecord(groupID string, p PartitionName, o *Offset) record.Record {
	v := kmsg.OffsetCommitValue{
		Version: offsetVersion, Offset: o.Offset, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata,
		CommitTimestamp: o.CommitMs, ExpireTimestamp: o.ExpireMs, TopicID: o.TopicID,
	}
	if o.ExpireMs >= 0 {
		v.Version = offsetExpiringVersion
	}
	return record.Record{Key: offsetKey(groupID, p), Value: v.AppendTo(nil)}
}

func offsetTombstone(groupID string, p PartitionName) record.Record {
	return tombstone(offsetKey(groupID, p))
}

// decodeOffsetKey reads a key of type 0 or 1.
func decodeOffsetKey(key []byte) (groupID string, p PartitionName, err error) {
	var k kmsg.OffsetCommitKey
	if err := k.ReadFrom(key); err != nil {
		return "", p, fmt.Errorf("%w: key of an offset: %w", ErrCorruptRecord, err)
	}
	return k.Group, PartitionName{k.Topic, k.Partition}, nil
}

// decodeOffset reads a value, which is not null.
func decodeOffset(value []byte) (Offset, error) {
	if _, err := checkVersion(value, "offset", offsetHighestVersion); err != nil {
		return Offset{}, err
	}
	v := kmsg.NewOffsetCommitValue()
	v.LeaderEpoch, v.ExpireTimestamp = -1, -1
	if err := v.ReadFrom(value); err != nil {
		return Offset{}, fmt.Errorf("%w: offset: %w", ErrCorruptRecord, err)
	}
	o := Offset{Offset: v.Offset, LeaderEpoch: v.LeaderEpoch, Metadata: v.Metadata, TopicID: v.TopicID,
		CommitMs: v.CommitTimestamp, ExpireMs: v.ExpireTimestamp}
	if v.Version < 3 {
		o.LeaderEpoch = -1
	}
	if v.Version != offsetExpiringVersion {
		o.ExpireMs = -1
	}
	return o, nil
}
