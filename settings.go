package minibroker

import (
	"minibroker/config"
	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/record"
)

// layersOf puts the dynamic broker settings of an image over the static ones.
func layersOf(static *config.Broker, image *metadata.Image) config.Layers {
	return config.Layers{
		Static:         static,
		ClusterDefault: image.Config(metadata.ResourceBroker, ""),
		Node:           image.Config(metadata.ResourceBroker, nodeName(static.NodeID())),
	}
}

// logConfig translates a topic's effective settings into those of its logs.
func logConfig(layers config.Layers, overrides map[string]string) logstore.Config {
	s := layers.Topic(overrides)
	return logstore.Config{
		SegmentBytes: s.SegmentBytes, SegmentMs: s.SegmentMs, SegmentJitterMs: s.SegmentJitterMs,
		IndexBytes: s.IndexBytes, IndexIntervalBytes: s.IndexIntervalBytes, Preallocate: s.Preallocate,
		FlushMessages: s.FlushMessages, FlushMs: s.FlushMs,
		RetentionBytes: s.RetentionBytes, RetentionMs: s.RetentionMs, FileDeleteDelayMs: s.FileDeleteDelayMs,
		Compact: s.Compact, Delete: s.Delete, DeleteRetentionMs: s.DeleteRetentionMs,
		MinCompactionLagMs: s.MinCompactionLagMs, MaxCompactionLagMs: s.MaxCompactionLagMs,
		MinCleanableRatio: s.MinCleanableRatio,
		MaxMessageBytes:   s.MaxMessageBytes, MaxDecompressedBytes: s.MaxDecompressedBytes,
		TimestampType:        timestampType(s.TimestampType),
		TimestampBeforeMaxMs: s.TimestampBeforeMaxMs, TimestampAfterMaxMs: s.TimestampAfterMaxMs,
		Compression:            compression(s.CompressionType, s.CompressionLevel),
		ProducerIDExpirationMs: layers.Long("producer.id.expiration.ms"),
	}
}

func timestampType(name string) record.TimestampType {
	if name == "LogAppendTime" {
		return record.LogAppendTime
	}
	return record.CreateTime
}

// compression translates compression.type; config has validated the name.
func compression(name string, level int) record.Compression {
	switch name {
	case "gzip":
		return record.Compression{Codec: record.Gzip, Level: level}
	case "snappy":
		return record.Compression{Codec: record.Snappy}
	case "lz4":
		return record.Compression{Codec: record.Lz4, Level: level}
	case "zstd":
		return record.Compression{Codec: record.Zstd, Level: level}
	case "uncompressed":
		return record.Compression{Codec: record.None}
	default:
		return record.Compression{Producer: true}
	}
}
