package handlers

import (
	"maps"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
)

func TestFindCoordinatorCreatesItsTopic(t *testing.T) {
	for _, c := range []struct {
		kind    int8
		key     string
		topic   string
		configs map[string]string
	}{
		{0, "g", offsetsTopic, map[string]string{"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"}},
		{1, "t", transactionTopic, map[string]string{"cleanup.policy": "compact", "compression.type": "uncompressed",
			"min.insync.replicas": "1", "segment.bytes": "104857600", "unclean.leader.election.enable": "false"}},
		{2, "g:AAAAAAAAAAAAAAAAAAAAAQ:0", shareStateTopic, map[string]string{"cleanup.policy": "delete", "compression.type": "producer",
			"min.insync.replicas": "1", "retention.ms": "-1", "segment.bytes": "104857600"}},
	} {
		a := newAdminAPI(t, "offsets.topic.replication.factor", "3")
		request := kmsg.NewPtrFindCoordinatorRequest()
		request.CoordinatorType, request.CoordinatorKeys = c.kind, []string{c.key}
		for range 2 { // the second time it is there
			got := ask[*kmsg.FindCoordinatorResponse](a, 6, request).Coordinators[0]
			if got.ErrorCode != 0 || got.NodeID != 1 || got.Host != "broker.example" || got.Port != 9092 || got.ErrorMessage == nil || *got.ErrorMessage != "" {
				t.Errorf("%s: %+v", c.topic, got)
			}
		}
		topic, ok := a.meta.Image().Topic(c.topic)
		if !ok || len(topic.Partitions) != 50 {
			t.Fatalf("%s: %+v", c.topic, topic)
		}
		if got := a.meta.Image().Config(metadata.ResourceTopic, c.topic); !maps.Equal(got, c.configs) {
			t.Errorf("%s: configs %v, want %v", c.topic, got, c.configs)
		}
	}
}

func TestFindCoordinatorOldVersions(t *testing.T) {
	a := newAdminAPI(t)
	request := kmsg.NewPtrFindCoordinatorRequest()
	for version := int16(0); version <= 3; version++ {
		got := ask[*kmsg.FindCoordinatorResponse](a, version, request)
		if got.ErrorCode != 0 || got.NodeID != 1 || version >= 1 && *got.ErrorMessage != "NONE" {
			t.Errorf("v%d: %+v", version, got)
		}
	}
	for _, kind := range []int8{2, 7, -1} {
		request.CoordinatorType = kind
		got := ask[*kmsg.FindCoordinatorResponse](a, 2, request)
		if said(got.ErrorCode, got.ErrorMessage) != "42 "+usualMessage(codeInvalidRequest) || got.NodeID != -1 || got.Port != -1 {
			t.Errorf("kind %d: %+v", kind, got)
		}
	}
}

func TestSharePartitionKey(t *testing.T) {
	for key, want := range map[string]bool{
		"g:AAAAAAAAAAAAAAAAAAAAAQ:0": true, "a:b:AAAAAAAAAAAAAAAAAAAAAQ:-1": true,
		"": false, "a:b": false, ":AAAAAAAAAAAAAAAAAAAAAQ:0": false, "g:notanid:0": false,
		"g:AAAAAAAAAAAAAAAAAAAAAQ:x": false, "g:AAAAAAAAAAAAAAAAAAAAAQAA:0": false,
	} {
		if sharePartitionKey(key) != want {
			t.Errorf("%q: %v", key, !want)
		}
	}
}
