package minibroker

import (
	"slices"
	"strconv"
	"strings"

	"minibroker/group"
	"minibroker/logstore"
	"minibroker/metadata"
)

// consumerSettings are the settings in force of one consumer group: its own where it has some, held to the broker's bounds,
// and else the broker's.
func (b *Broker) consumerSettings(groupID string) group.ConsumerSettings {
	layers := b.layers()
	own := b.meta.Image().Config(metadata.ResourceGroup, groupID)
	value := func(name string) int32 {
		n := layers.Long("group.consumer." + name)
		if text, ok := own["consumer."+name]; ok {
			if v, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32); err == nil {
				n = min(max(v, layers.Long("group.consumer.min."+name)), layers.Long("group.consumer.max."+name))
			}
		}
		return int32(n)
	}
	return group.ConsumerSettings{
		SessionTimeoutMs: value("session.timeout.ms"), HeartbeatIntervalMs: value("heartbeat.interval.ms"),
		AssignmentIntervalMs: value("assignment.interval.ms"),
	}
}

// consumerAssignors are the assignors that consumer groups may ask for. Classes that a cluster has of its own cannot run here.
func (b *Broker) consumerAssignors() []string {
	var known []string
	for _, name := range b.config.List("group.consumer.assignors") {
		if name == group.UniformAssignor || name == group.RangeAssignor {
			known = append(known, name)
		}
	}
	if len(known) == 0 {
		known = []string{group.UniformAssignor}
	}
	return known
}

func (b *Broker) migrationPolicy() group.MigrationPolicy {
	switch strings.ToLower(b.config.String("group.consumer.migration.policy")) {
	case "bidirectional":
		return group.MigrationPolicy{Upgrade: true, Downgrade: true}
	case "upgrade":
		return group.MigrationPolicy{Upgrade: true}
	case "downgrade":
		return group.MigrationPolicy{Downgrade: true}
	}
	return group.MigrationPolicy{}
}

// noteTopic lets regular expressions of groups match a topic that was created: in the image that there is, or in the next.
func (b *Broker) noteTopic(topic *metadata.Topic) {
	image := b.meta.Image()
	version := image.LastOffset
	if _, ok := image.TopicByID(topic.ID); !ok {
		version++
	}
	b.groups.TopicCreated(version)
}

// groupTopics is the topics of an image as groups see them.
type groupTopics struct{ image *metadata.Image }

func (t groupTopics) Version() int64 { return t.image.LastOffset }

func (t groupTopics) ByName(name string) (group.Topic, bool) {
	topic, ok := t.image.Topic(name)
	if !ok {
		return group.Topic{}, false
	}
	return t.topic(topic), true
}

func (t groupTopics) ByID(id [16]byte) (group.Topic, bool) {
	topic, ok := t.image.TopicByID(logstore.UUID(id))
	if !ok {
		return group.Topic{}, false
	}
	return t.topic(topic), true
}

func (t groupTopics) Each(f func(name string)) {
	for _, topic := range t.image.Topics() {
		f(topic.Name)
	}
}

func (t groupTopics) topic(from *metadata.Topic) group.Topic {
	topic := group.Topic{ID: from.ID, Name: from.Name, Partitions: int32(len(from.Partitions))}
	racks := map[int32]string{}
	for id, broker := range t.image.Brokers() {
		if broker.Rack != nil {
			racks[id] = *broker.Rack
		}
	}
	if len(racks) == 0 {
		return topic
	}
	topic.Racks = make([][]string, len(from.Partitions))
	for i := range from.Partitions {
		for _, id := range from.Partitions[i].Replicas {
			if rack, ok := racks[id]; ok {
				topic.Racks[i] = append(topic.Racks[i], rack)
			}
		}
		slices.Sort(topic.Racks[i])
		topic.Racks[i] = slices.Compact(topic.Racks[i])
	}
	return topic
}
