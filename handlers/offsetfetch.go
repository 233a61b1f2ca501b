package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/group"
	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/protocol"
)

// OffsetFetch, versions 1 to 10.
//
// Up to version 7 there is one group; from version 8 on many. From version 2 on
// no list of topics means all that the group has; from version 10 on topics are
// given by id. A partition without an offset, a group that is not there and, up
// to version 9, a topic that is not there have offset -1 and no error. Stable
// offsets are honoured from version 7 on, member epochs from version 9 on.

func (a *API) offsetFetch(_ context.Context, _ *protocol.Request, body *kmsg.OffsetFetchRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrOffsetFetchResponse()
	answer.Version = body.Version
	if body.Version < 8 {
		a.answerOneGroup(answer, body)
		return answer, nil
	}
	image := a.meta.Image()
	for i := range body.Groups {
		answer.Groups = append(answer.Groups, a.fetchGroup(image, body, &body.Groups[i]))
	}
	return answer, nil
}

// answerOneGroup fills in the answer of versions 1 to 7. Version 1 has no place
// for an error of the group but beside each partition.
func (a *API) answerOneGroup(answer *kmsg.OffsetFetchResponse, body *kmsg.OffsetFetchRequest) {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberEpoch = body.Group, -1
	if body.Topics != nil {
		g.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	}
	for i := range body.Topics {
		t := kmsg.NewOffsetFetchRequestGroupTopic()
		t.Topic, t.Partitions = body.Topics[i].Topic, body.Topics[i].Partitions
		g.Topics = append(g.Topics, t)
	}
	fetched := a.fetchGroup(a.meta.Image(), body, &g)
	if fetched.ErrorCode != codeNone && body.Version < 2 {
		fetched.Topics = failedTopics(g.Topics, fetched.ErrorCode)
	}
	if body.Version >= 2 {
		answer.ErrorCode = fetched.ErrorCode
	}
	for i := range fetched.Topics {
		from := &fetched.Topics[i]
		t := kmsg.NewOffsetFetchResponseTopic()
		t.Topic = from.Topic
		for j := range from.Partitions {
			p := kmsg.NewOffsetFetchResponseTopicPartition()
			f := &from.Partitions[j]
			p.Partition, p.Offset, p.LeaderEpoch, p.Metadata, p.ErrorCode = f.Partition, f.Offset, f.LeaderEpoch, f.Metadata, f.ErrorCode
			t.Partitions = append(t.Partitions, p)
		}
		answer.Topics = append(answer.Topics, t)
	}
}

func failedTopics(topics []kmsg.OffsetFetchRequestGroupTopic, code int16) []kmsg.OffsetFetchResponseGroupTopic {
	var failed []kmsg.OffsetFetchResponseGroupTopic
	for i := range topics {
		failed = append(failed, failedTopic(&topics[i], code))
	}
	return failed
}

func failedTopic(from *kmsg.OffsetFetchRequestGroupTopic, code int16) kmsg.OffsetFetchResponseGroupTopic {
	t := kmsg.NewOffsetFetchResponseGroupTopic()
	t.Topic, t.TopicID = from.Topic, from.TopicID
	for _, partition := range from.Partitions {
		p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.ErrorCode, p.Metadata = partition, -1, -1, code, new(string)
		t.Partitions = append(t.Partitions, p)
	}
	return t
}

// fetchGroup answers for one group.
func (a *API) fetchGroup(image *metadata.Image, body *kmsg.OffsetFetchRequest, g *kmsg.OffsetFetchRequestGroup) kmsg.OffsetFetchResponseGroup {
	answer := kmsg.NewOffsetFetchResponseGroup()
	answer.Group = g.Group
	r := group.FetchRequest{GroupID: g.Group, MemberID: g.MemberID, MemberEpoch: g.MemberEpoch, RequireStable: body.RequireStable}
	byID := body.Version >= 10
	if g.Topics == nil {
		fetched, err := a.groups.FetchAll(&r)
		answer.ErrorCode = errorCode(err)
		answer.Topics = allTopics(image, byID, fetched)
		return answer
	}
	var wanted []group.FetchPartition
	var known []*kmsg.OffsetFetchRequestGroupTopic
	for i := range g.Topics {
		t := &g.Topics[i]
		name := t.Topic
		if byID {
			topic, ok := image.TopicByID(logstore.UUID(t.TopicID))
			if !ok {
				answer.Topics = append(answer.Topics, failedTopic(t, codeUnknownTopicID))
				continue
			}
			name = topic.Name
		}
		known = append(known, t)
		for _, p := range t.Partitions {
			wanted = append(wanted, group.FetchPartition{PartitionName: group.PartitionName{Topic: name, Partition: p}, TopicID: t.TopicID})
		}
	}
	fetched, err := a.groups.Fetch(&r, wanted)
	if err != nil {
		answer.ErrorCode, answer.Topics = errorCode(err), nil
		return answer
	}
	for _, t := range known {
		topic := kmsg.NewOffsetFetchResponseGroupTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		for range t.Partitions {
			topic.Partitions = append(topic.Partitions, fetchedPartition(&fetched[0]))
			fetched = fetched[1:]
		}
		answer.Topics = append(answer.Topics, topic)
	}
	return answer
}

// allTopics answers with all that a group has. By id, topics that are not there
// any more are left out.
func allTopics(image *metadata.Image, byID bool, fetched []group.Fetched) []kmsg.OffsetFetchResponseGroupTopic {
	var topics []kmsg.OffsetFetchResponseGroupTopic
	for i := range fetched {
		f := &fetched[i]
		if i == 0 || fetched[i-1].Topic != f.Topic {
			t := kmsg.NewOffsetFetchResponseGroupTopic()
			t.Topic = f.Topic
			if topic, ok := image.Topic(f.Topic); ok {
				t.TopicID = topic.ID
			}
			topics = append(topics, t)
		}
		last := &topics[len(topics)-1]
		last.Partitions = append(last.Partitions, fetchedPartition(f))
	}
	if !byID {
		return topics
	}
	kept := topics[:0]
	for i := range topics {
		if topics[i].TopicID != [16]byte{} {
			kept = append(kept, topics[i])
		}
	}
	return kept
}

func fetchedPartition(f *group.Fetched) kmsg.OffsetFetchResponseGroupTopicPartition {
	p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
	p.Partition, p.Offset, p.LeaderEpoch = f.Partition, f.Offset.Offset, f.LeaderEpoch
	p.Metadata, p.ErrorCode = &f.Metadata, errorCode(f.Err)
	return p
}
