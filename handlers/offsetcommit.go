package handlers

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/group"
	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/protocol"
)

// OffsetCommit, versions 2 to 10.
//
// Topics are named up to version 9, from version 10 on they are given by id. An
// unknown topic or partition is refused before the group is asked; when nothing
// else is left, it is not asked at all. The retention time of versions 2 to 4 is
// honoured.

func (a *API) offsetCommit(_ context.Context, _ *protocol.Request, body *kmsg.OffsetCommitRequest) (kmsg.Response, error) {
	c := offsetCommit{api: a, body: body, answer: kmsg.NewPtrOffsetCommitResponse()}
	c.answer.Version = body.Version
	c.sortOut(a.meta.Image())
	if len(c.topics) > 0 {
		c.commit()
	}
	return c.answer, nil
}

// offsetCommit is the work of one request.
type offsetCommit struct {
	api    *API
	body   *kmsg.OffsetCommitRequest
	answer *kmsg.OffsetCommitResponse

	topics     []commitTopic // those with partitions to commit
	partitions []group.CommitPartition
}

type commitTopic struct {
	answer int // its place in the answer; -1 while it has none
	topic  *metadata.Topic
	count  int // of partitions
}

// sortOut answers what is not there and collects the rest.
func (c *offsetCommit) sortOut(image *metadata.Image) {
	for i := range c.body.Topics {
		t := &c.body.Topics[i]
		topic, ok := image.Topic(t.Topic)
		code := codeUnknownTopicOrPartition
		if c.body.Version >= 10 {
			topic, ok = image.TopicByID(logstore.UUID(t.TopicID))
			code = codeUnknownTopicID
		}
		if !ok {
			for j := range t.Partitions {
				c.refuse(t, t.Partitions[j].Partition, code)
			}
			continue
		}
		kept := commitTopic{answer: -1, topic: topic}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			if p.Partition < 0 || int(p.Partition) >= len(topic.Partitions) {
				kept.answer = c.refuse(t, p.Partition, codeUnknownTopicOrPartition)
				continue
			}
			kept.count++
			c.partitions = append(c.partitions, group.CommitPartition{
				PartitionName: group.PartitionName{Topic: topic.Name, Partition: p.Partition},
				TopicID:       topic.ID, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: deref(p.Metadata),
			})
		}
		if kept.count > 0 {
			c.topics = append(c.topics, kept)
		}
	}
}

// refuse answers one partition and returns its topic's place in the answer.
func (c *offsetCommit) refuse(t *kmsg.OffsetCommitRequestTopic, partition int32, code int16) int {
	place := len(c.answer.Topics) - 1
	if place < 0 || c.answer.Topics[place].Topic != t.Topic || c.answer.Topics[place].TopicID != t.TopicID {
		place = c.addTopic(t.Topic, t.TopicID)
	}
	c.add(place, partition, code)
	return place
}

func (c *offsetCommit) addTopic(name string, id [16]byte) int {
	t := kmsg.NewOffsetCommitResponseTopic()
	t.Topic, t.TopicID = name, id
	c.answer.Topics = append(c.answer.Topics, t)
	return len(c.answer.Topics) - 1
}

func (c *offsetCommit) add(place int, partition int32, code int16) {
	p := kmsg.NewOffsetCommitResponseTopicPartition()
	p.Partition, p.ErrorCode = partition, code
	c.answer.Topics[place].Partitions = append(c.answer.Topics[place].Partitions, p)
}

// commit asks the group and answers the partitions that were collected.
func (c *offsetCommit) commit() {
	r := group.CommitRequest{
		GroupID: c.body.Group,
		Committer: group.Committer{
			MemberID: c.body.MemberID, InstanceID: c.body.InstanceID,
			Generation: c.body.Generation, KnowsEpochs: c.body.Version >= 9,
		},
		RetentionMs: -1,
		Partitions:  c.partitions,
	}
	if c.body.Version <= 4 {
		r.RetentionMs = c.body.RetentionTimeMillis
	}
	errs, err := c.api.groups.Commit(&r)
	all := errorCode(err)
	next := 0
	for _, t := range c.topics {
		if t.answer < 0 {
			t.answer = c.addTopic(t.topic.Name, t.topic.ID)
		}
		for range t.count {
			code := all
			if err == nil && errs != nil {
				code = errorCode(errs[next])
			}
			c.add(t.answer, c.partitions[next].Partition, code)
			next++
		}
	}
}
