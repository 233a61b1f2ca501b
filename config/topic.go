package config

import (
	"maps"
	"slices"
	"strings"
)

// TopicSettings are the settings of one topic as they take effect. Sizes are bytes, times milliseconds; limits of -1 are none.
type TopicSettings struct {
	SegmentBytes          int // internal.segment.bytes where that is set
	SegmentMs             int64
	SegmentJitterMs       int64
	IndexBytes            int
	IndexIntervalBytes    int
	Preallocate           bool
	FlushMessages         int64
	FlushMs               int64
	RetentionBytes        int64
	RetentionMs           int64
	FileDeleteDelayMs     int64
	Compact               bool
	Delete                bool
	DeleteRetentionMs     int64
	MinCompactionLagMs    int64
	MaxCompactionLagMs    int64
	MinCleanableRatio     float64
	MaxMessageBytes       int
	MaxDecompressedBytes  int
	TimestampType         string // CreateTime or LogAppendTime
	TimestampBeforeMaxMs  int64
	TimestampAfterMaxMs   int64
	CompressionType       string // producer, uncompressed, gzip, snappy, lz4, zstd
	CompressionLevel      int    // for CompressionType; 0 where that has none
	UncleanLeaderElection bool
	MinInsyncReplicas     int
}

// topicValue is a topic's setting as it takes effect: its own, or what the broker has for it, or Kafka's default. An own value
// that is not valid does not count; such a value can only come from a newer or older metadata log.
func (l Layers) topicValue(s *setting, overrides map[string]string) value {
	if has(overrides, s.name) {
		if v, err := s.parse(overrides); err == nil {
			return v
		}
	}
	if s.brokerName == "" {
		v, _ := s.parse(nil) // defaults are valid
		return v
	}
	switch s.name {
	case "retention.ms":
		_, ms := millis(s.brokerName, l.value)
		return max(ms, -1)
	case "segment.ms", "segment.jitter.ms", "flush.ms":
		_, ms := millis(s.brokerName, l.value)
		return ms
	}
	return l.value(s.brokerName)
}

// Topic gives the settings of a topic that has these settings of its own.
func (l Layers) Topic(overrides map[string]string) TopicSettings {
	v := func(name string) value { return l.topicValue(findTopic(name), overrides) }
	long := func(name string) int64 { n, _ := v(name).(int64); return n }
	text := func(name string) string { s, _ := v(name).(string); return s }
	yes := func(name string) bool { b, _ := v(name).(bool); return b }
	ratio, _ := v("min.cleanable.dirty.ratio").(float64)
	policy := asList(v("cleanup.policy"))
	t := TopicSettings{
		SegmentBytes:          int(long("segment.bytes")),
		SegmentMs:             long("segment.ms"),
		SegmentJitterMs:       long("segment.jitter.ms"),
		IndexBytes:            int(long("segment.index.bytes")),
		IndexIntervalBytes:    int(long("index.interval.bytes")),
		Preallocate:           yes("preallocate"),
		FlushMessages:         long("flush.messages"),
		FlushMs:               long("flush.ms"),
		RetentionBytes:        long("retention.bytes"),
		RetentionMs:           long("retention.ms"),
		FileDeleteDelayMs:     long("file.delete.delay.ms"),
		Compact:               slices.Contains(policy, "compact"),
		Delete:                slices.Contains(policy, "delete"),
		DeleteRetentionMs:     long("delete.retention.ms"),
		MinCompactionLagMs:    long("min.compaction.lag.ms"),
		MaxCompactionLagMs:    long("max.compaction.lag.ms"),
		MinCleanableRatio:     ratio,
		MaxMessageBytes:       int(long("max.message.bytes")),
		MaxDecompressedBytes:  int(long("max.decompressed.message.bytes")),
		TimestampType:         text("message.timestamp.type"),
		TimestampBeforeMaxMs:  long("message.timestamp.before.max.ms"),
		TimestampAfterMaxMs:   long("message.timestamp.after.max.ms"),
		CompressionType:       text("compression.type"),
		UncleanLeaderElection: yes("unclean.leader.election.enable"),
		MinInsyncReplicas:     int(long("min.insync.replicas")),
	}
	if n, ok := v("internal.segment.bytes").(int64); ok {
		t.SegmentBytes = int(n)
	}
	switch t.CompressionType {
	case "gzip", "lz4", "zstd":
		t.CompressionLevel = int(long("compression." + t.CompressionType + ".level"))
	}
	return t
}

// ValidateTopic checks one setting of a topic by itself. The error is an *Error with Kafka's text.
func ValidateTopic(name, text string) error {
	s := findTopic(name)
	if s == nil {
		return unknownTopicSetting(name)
	}
	if _, err := s.parse(map[string]string{name: text}); err != nil {
		return err
	}
	return nil
}

func unknownTopicSetting(name string) *Error {
	return refuse(name, "Unknown topic config name: %s", name)
}

// CheckTopic checks all settings that a topic would have, alone and together. The error is an *Error with Kafka's text.
func (l Layers) CheckTopic(overrides map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if findTopic(name) == nil {
			return unknownTopicSetting(name)
		}
	}
	if err := firstWrong(topicSettings[:], overrides); err != nil {
		return err
	}
	long := func(name string) int64 { n, _ := l.topicValue(findTopic(name), overrides).(int64); return n }
	if least, most := long("min.compaction.lag.ms"), long("max.compaction.lag.ms"); least > most {
		return refuse("min.compaction.lag.ms", "conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)", least, most)
	}
	if on := overrides["remote.storage.enable"]; strings.EqualFold(trim(on), "true") {
		return refuse("remote.storage.enable", "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.")
	}
	return nil
}

// firstWrong checks each value that is set against its row of the table and reports the first wrong one in Kafka's order.
func firstWrong(table []setting, set map[string]string) error {
	var worst *Error
	worstOrder := 0
	for i := range table {
		s := &table[i]
		if !has(set, s.name) {
			continue
		}
		if _, err := s.parse(set); err != nil && (worst == nil || s.order < worstOrder) {
			worst, worstOrder = err, s.order
		}
	}
	if worst == nil {
		return nil // not worst itself: a nil *Error in an error is not nil
	}
	return worst
}
