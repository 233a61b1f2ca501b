package handlers

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// implicitTopic is the request that creates a topic which comes into being by
// its first use. The topics of the coordinators have their own counts and
// settings, all others the broker's defaults.
//
// The replication factors that are configured for the topics of the
// coordinators are not looked at: Kafka's code defaults to 3, with which a
// single Kafka node never creates them and no group ever gets a coordinator.
// One node holds one replica.
func (a *API) implicitTopic(name string) *kmsg.CreateTopicsRequestTopic {
	settings := a.layers()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic = name
	number := func(name string) string { return strconv.Itoa(settings.Int(name)) }
	count := ""
	var configs [][2]string
	switch name {
	case offsetsTopic:
		count = "offsets.topic.num.partitions"
		configs = [][2]string{
			{"cleanup.policy", "compact"},
			{"compression.type", "producer"},
			{"segment.bytes", number("offsets.topic.segment.bytes")},
		}
	case transactionTopic:
		count = "transaction.state.log.num.partitions"
		configs = [][2]string{
			{"cleanup.policy", "compact"},
			{"compression.type", "uncompressed"},
			{"min.insync.replicas", number("transaction.state.log.min.isr")},
			{"segment.bytes", number("transaction.state.log.segment.bytes")},
			{"unclean.leader.election.enable", "false"},
		}
	case shareStateTopic:
		count = "share.coordinator.state.topic.num.partitions"
		configs = [][2]string{
			{"cleanup.policy", "delete"},
			{"compression.type", "producer"},
			{"min.insync.replicas", number("share.coordinator.state.topic.min.isr")},
			{"retention.ms", "-1"},
			{"segment.bytes", number("share.coordinator.state.topic.segment.bytes")},
		}
	default: // -1: the defaults
		t.NumPartitions, t.ReplicationFactor = -1, -1
		return &t
	}
	t.NumPartitions, t.ReplicationFactor = int32(settings.Int(count)), 1
	for i := range configs {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = configs[i][0], &configs[i][1]
		t.Configs = append(t.Configs, c)
	}
	return &t
}
