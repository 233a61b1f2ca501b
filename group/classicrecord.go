package group

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/record"
)

// A classic group, type 2:
//
//	key    i16 2, string group
//	value  i16 version 3, string protocol type, i32 generation, nullable string
//	       protocol, nullable string leader, i64 time of the state, members:
//	       string id, nullable string instance id, string client id, string
//	       client host, i32 rebalance timeout, i32 session timeout, bytes
//	       subscription, bytes assignment
const (
	classicVersion        int16 = 3
	classicHighestVersion int16 = 4
)

func classicKey(groupID string) []byte {
	key := make([]byte, 0, 4+len(groupID))
	key = binary.BigEndian.AppendUint16(key, uint16(typeGroupMetadata))
	return appendKeyString(key, groupID)
}

// newGroupRecord is the record that a group begins with.
func newGroupRecord(groupID string, sinceMs int64) record.Record {
	v := kmsg.GroupMetadataValue{Version: classicVersion, CurrentStateTimestamp: sinceMs}
	return record.Record{Key: classicKey(groupID), Value: v.AppendTo(nil)}
}

// recordLocked is the group as it is, with the given assignments by member.
func (c *classic) recordLocked(assignments map[string][]byte) record.Record {
	v := kmsg.GroupMetadataValue{
		Version: classicVersion, ProtocolType: c.protocolType, Generation: c.generation,
		Protocol: c.protocol, CurrentStateTimestamp: c.since,
	}
	if c.leader != "" {
		v.Leader = &c.leader
	}
	for _, m := range c.orderedLocked() {
		v.Members = append(v.Members, kmsg.GroupMetadataValueMember{
			MemberID: m.id, InstanceID: m.instanceID, ClientID: m.clientID, ClientHost: m.clientHost,
			RebalanceTimeoutMillis: m.rebalanceTimeoutMs, SessionTimeoutMillis: m.sessionTimeoutMs,
			Subscription: m.metadataFor(c.protocol), Assignment: assignments[m.id],
		})
	}
	return record.Record{Key: classicKey(c.g.id), Value: v.AppendTo(nil)}
}

func decodeClassicKey(key []byte) (string, error) {
	var k kmsg.GroupMetadataKey
	if err := k.ReadFrom(key); err != nil {
		return "", fmt.Errorf("%w: key of a group: %w", ErrCorruptRecord, err)
	}
	return k.Group, nil
}

// decodeClassic reads a value, which is not null.
func decodeClassic(value []byte) (*kmsg.GroupMetadataValue, error) {
	version, err := checkVersion(value, "group", classicHighestVersion)
	if err != nil {
		return nil, err
	}
	v := kmsg.NewGroupMetadataValue()
	if err := v.ReadFrom(value); err != nil {
		return nil, fmt.Errorf("%w: group: %w", ErrCorruptRecord, err)
	}
	if version < 2 {
		v.CurrentStateTimestamp = -1
	}
	for i := range v.Members {
		if m := &v.Members[i]; version < 1 || m.RebalanceTimeoutMillis < 0 {
			m.RebalanceTimeoutMillis = m.SessionTimeoutMillis // the old layout has one timeout for both
		}
	}
	return &v, nil
}

// restoreClassic makes the group that a record describes.
func restoreClassic(g *Group, v *kmsg.GroupMetadataValue) *classic {
	c := newClassic(g)
	c.since = v.CurrentStateTimestamp
	c.protocolType, c.protocol, c.generation = v.ProtocolType, v.Protocol, v.Generation
	if len(v.Members) > 0 {
		c.state = Stable
	}
	for i := range v.Members {
		r := &v.Members[i]
		m := &member{
			id: r.MemberID, instanceID: r.InstanceID, clientID: r.ClientID, clientHost: r.ClientHost,
			rebalanceTimeoutMs: r.RebalanceTimeoutMillis, sessionTimeoutMs: r.SessionTimeoutMillis,
			assignment: r.Assignment,
		}
		if v.Protocol != nil {
			m.protocols = []Protocol{{Name: *v.Protocol, Metadata: r.Subscription}}
		}
		c.addLocked(m, nil)
	}
	c.leader = ""
	if v.Leader != nil {
		c.leader = *v.Leader
	}
	c.findSubscriptionsLocked()
	return c
}
