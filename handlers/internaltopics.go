package handlers

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// implicitTopic is the request that creates a topic which comes into being by
// its first use. The topics of the coordinators have their own counts, factors
// and settings, all others the broker's defaults.
func (a *API) implicitTopic(name string) kmsg.CreateTopicsRequestTopic {
	settings := a.layers()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic = name
	count, factor := "num.partitions", "default.replication.factor"
	var configs [][2]string
	number := func(name string) string { return strconv.Itoa(settings.Int(name)) }
	switch name {
	case offsetsTopic:
		count, factor = "offsets.topic.num.partitions", "offsets.topic.replication.factor"
		configs = [][2]string{
			{"cleanup.policy", "compact"},
			{"compression.type", "producer"},
			{"segment.bytes", number("offsets.topic.segment.bytes")},
		}
	case transactionTopic:
		count, factor = "transaction.state.log.num.partitions", "transaction.state.log.replication.factor"
		configs = [][2]string{
			{"cleanup.policy", "compact"},
			{"compression.type", "uncompressed"},
			{"min.insync.replicas", number("transaction.state.log.min.isr")},
			{"segment.bytes", number("transaction.state.log.segment.bytes")},
			{"unclean.leader.election.enable", "false"},
		}
	case shareStateTopic:
		count, factor = "share.coordinator.state.topic.num.partitions", "share.coordinator.state.topic.replication.factor"
		configs = [][2]string{
			{"cleanup.policy", "delete"},
			{"compression.type", "producer"},
			{"min.insync.replicas", number("share.coordinator.state.topic.min.isr")},
			{"retention.ms", "-1"},
			{"segment.bytes", number("share.coordinator.state.topic.segment.bytes")},
		}
	}
	t.NumPartitions = int32(settings.Int(count))
	t.ReplicationFactor = int16(settings.Int(factor))
	for _, pair := range configs {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = pair[0], &pair[1]
		t.Configs = append(t.Configs, c)
	}
	return t
}
