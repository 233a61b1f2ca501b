package config

import (
	"errors"
	"testing"
)

// TestCheckTopic holds topics' settings against what Kafka answered to CreateTopics.
func TestCheckTopic(t *testing.T) {
	l := recordedLayers(t)
	for _, c := range []struct {
		set  map[string]string
		want string
	}{
		{nil, ""},
		{map[string]string{"retention.ms": "-1", "cleanup.policy": "", "internal.segment.bytes": "2000"}, ""},
		{map[string]string{"retention.ms": "abc"}, "Invalid value abc for configuration retention.ms: Not a number of type LONG"},
		{map[string]string{"no.such.thing": "1"}, "Unknown topic config name: no.such.thing"},
		{map[string]string{"message.format.version": "3.0"}, "Unknown topic config name: message.format.version"},
		{map[string]string{"retention.ms": "-2"}, "Invalid value -2 for configuration retention.ms: Value must be at least -1"},
		{map[string]string{"cleanup.policy": "shred"}, "Invalid value shred for configuration cleanup.policy: String must be one of: compact, delete"},
		{map[string]string{"compression.type": "rar"}, "Invalid value rar for configuration compression.type: String must be one of: uncompressed, zstd, lz4, " +
			"snappy, gzip, producer"},
		{map[string]string{"segment.bytes": "1000"}, "Invalid value 1000 for configuration segment.bytes: Value must be at least 1048576"},
		{map[string]string{"segment.ms": "0"}, "Invalid value 0 for configuration segment.ms: Value must be at least 1"},
		{map[string]string{"min.insync.replicas": "0"}, "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1"},
		{map[string]string{"message.timestamp.type": "Never"}, "Invalid value Never for configuration message.timestamp.type: String must be one of: CreateTime, LogAppendTime"},
		{map[string]string{"unclean.leader.election.enable": "maybe"}, "Invalid value maybe for configuration unclean.leader.election.enable: Expected value to be " +
			"either true or false"},
		{map[string]string{"min.cleanable.dirty.ratio": "1.5"}, "Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
		{map[string]string{"min.compaction.lag.ms": "100", "max.compaction.lag.ms": "50"}, "conflict topic config setting min.compaction.lag.ms (100) > " +
			"max.compaction.lag.ms (50)"},
		{map[string]string{"remote.storage.enable": "true"}, "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."},
		{map[string]string{"compression.gzip.level": "77"}, "Invalid value 77 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"},
	} {
		err := l.CheckTopic(c.set)
		if got := errorText(err); got != c.want {
			t.Errorf("%v:\n got %q\nwant %q", c.set, got, c.want)
		}
		if err != nil && !errors.Is(err, ErrInvalidConfig) {
			t.Errorf("%v is no invalid config", c.set)
		}
	}
	if err := ValidateTopic("retention.ms", "abc"); errorText(err) != "Invalid value abc for configuration retention.ms: Not a number of type LONG" {
		t.Error(err)
	}
	if err := ValidateTopic("retention.ms", "5"); err != nil {
		t.Error(err)
	}
}

func TestTopicTypesAndDefaults(t *testing.T) {
	if typ, ok := TopicType("cleanup.policy"); !ok || typ != TypeList {
		t.Error(typ, ok)
	}
	if _, ok := TopicType("nope"); ok {
		t.Error("an unknown setting has a type")
	}
	if typ, ok := BrokerType("listener.name.x.plain.sasl.jaas.config"); !ok || typ != TypePassword {
		t.Error(typ, ok)
	}
	if def, ok := TopicDefault("cleanup.policy"); !ok || def != "delete" {
		t.Error(def, ok)
	}
	if _, ok := BrokerDefault("log.retention.ms"); ok {
		t.Error("a null default is a value")
	}
}

func TestTopicSettingsByDefault(t *testing.T) {
	got := recordedLayers(t).Topic(nil)
	want := TopicSettings{SegmentBytes: 1 << 30, SegmentMs: 604800000, IndexBytes: 10 << 20, IndexIntervalBytes: 4096, FlushMessages: 1<<63 - 1,
		FlushMs: 1<<63 - 1, RetentionBytes: -1, RetentionMs: 604800000, FileDeleteDelayMs: 60000, Delete: true, DeleteRetentionMs: 86400000,
		MaxCompactionLagMs: 1<<63 - 1, MinCleanableRatio: 0.5, MaxMessageBytes: 1048588, MaxDecompressedBytes: 2147483639, TimestampType: "CreateTime",
		TimestampBeforeMaxMs: 1<<63 - 1, TimestampAfterMaxMs: 3600000, CompressionType: "producer", MinInsyncReplicas: 1}
	if got != want {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	own := recordedLayers(t).Topic(map[string]string{"internal.segment.bytes": "2000", "cleanup.policy": "compact,delete", "compression.type": "lz4"})
	if own.SegmentBytes != 2000 || !own.Compact || !own.Delete || own.CompressionLevel != 9 {
		t.Errorf("%+v", own)
	}
}
