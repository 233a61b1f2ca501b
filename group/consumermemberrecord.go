package group

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kbin"
)

// What a member says of itself, type 5:
//
//	nullable string instance id, nullable string rack, string client id, string
//	client host, array of string topics, nullable string regular expression,
//	i32 rebalance timeout, nullable string assignor; tags
//
// Tag 0 is a struct that says more of a member that speaks the classic protocol:
//
//	i8 1, i32 session timeout, array of: string protocol, bytes metadata, tags;
//	tags
//
// For others it is a byte 0 alone, which is written nevertheless.

func (c memberChange) value() []byte {
	m := c.m
	b := kbin.AppendCompactNullableString(value0(), m.instanceID)
	b = kbin.AppendCompactNullableString(b, m.rackID)
	b = kbin.AppendCompactString(b, m.clientID)
	b = kbin.AppendCompactString(b, m.clientHost)
	b = appendStrings(b, m.topics)
	b = kbin.AppendCompactString(b, m.regex)
	b = kbin.AppendInt32(b, m.rebalanceTimeoutMs)
	b = kbin.AppendCompactNullableString(b, m.assignor)
	if m.classic == nil {
		return append(b, 1, 0, 1, 0)
	}
	field := kbin.AppendInt32([]byte{1}, m.classic.sessionTimeoutMs)
	field = kbin.AppendCompactArrayLen(field, len(m.classic.protocols))
	for i := range m.classic.protocols {
		field = kbin.AppendCompactString(field, m.classic.protocols[i].Name)
		field = kbin.AppendCompactBytes(field, m.classic.protocols[i].Metadata)
		field = append(field, 0)
	}
	field = append(field, 0)
	b = kbin.AppendUvarint(append(b, 1, 0), uint32(len(field)))
	return append(b, field...)
}

func readMemberChange(r *kbin.Reader, name string) consumerChange {
	m := &consumerMember{id: name}
	m.instanceID, m.rackID = r.CompactNullableString(), r.CompactNullableString()
	m.clientID, m.clientHost = r.CompactString(), r.CompactString()
	m.topics = readStrings(r)
	slices.Sort(m.topics)
	if regex := r.CompactNullableString(); regex != nil {
		m.regex = *regex
	}
	m.rebalanceTimeoutMs, m.assignor = r.Int32(), r.CompactNullableString()
	readTags(r, func(tag uint32, field *kbin.Reader) {
		if tag == 0 {
			m.classic = readClassicPart(field)
		}
	})
	return memberChange{m}
}

func readClassicPart(r *kbin.Reader) *classicPart {
	if r.Int8() <= 0 {
		return nil
	}
	c := &classicPart{sessionTimeoutMs: r.Int32()}
	for n := r.CompactArrayLen(); n > 0 && r.Ok(); n-- {
		p := Protocol{Name: r.CompactString(), Metadata: slices.Clone(r.CompactBytes())}
		c.protocols = append(c.protocols, p)
		skipTags(r)
	}
	skipTags(r)
	return c
}
