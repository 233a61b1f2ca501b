package logstore

import (
	"log/slog"
	"math"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// Config holds the effective settings of one log, named as Kafka's topic
// settings. Sizes are bytes, times milliseconds. It is a plain value:
// Log.SetConfig swaps it as a whole while the log is in use.
type Config struct {
	SegmentBytes       int   // segment.bytes, or internal.segment.bytes where that is set
	SegmentMs          int64 // segment.ms
	SegmentJitterMs    int64 // segment.jitter.ms
	IndexBytes         int   // segment.index.bytes
	IndexIntervalBytes int   // index.interval.bytes
	Preallocate        bool  // preallocate

	FlushMessages int64 // flush.messages
	FlushMs       int64 // flush.ms

	RetentionBytes    int64 // retention.bytes; negative keeps everything
	RetentionMs       int64 // retention.ms; negative keeps everything
	FileDeleteDelayMs int64 // file.delete.delay.ms

	Compact            bool    // cleanup.policy contains compact
	Delete             bool    // cleanup.policy contains delete
	DeleteRetentionMs  int64   // delete.retention.ms
	MinCompactionLagMs int64   // min.compaction.lag.ms
	MaxCompactionLagMs int64   // max.compaction.lag.ms
	MinCleanableRatio  float64 // min.cleanable.dirty.ratio

	MaxMessageBytes      int                  // max.message.bytes
	MaxDecompressedBytes int                  // max.decompressed.message.bytes
	TimestampType        record.TimestampType // message.timestamp.type
	TimestampBeforeMaxMs int64                // message.timestamp.before.max.ms
	TimestampAfterMaxMs  int64                // message.timestamp.after.max.ms
	Compression          record.Compression   // compression.type and its level

	ProducerIDExpirationMs int64 // producer.id.expiration.ms
}

// DefaultConfig returns the settings of a topic without overrides on a broker
// without overrides, as Apache Kafka 4.4.0 ships them.
func DefaultConfig() Config {
	return Config{
		SegmentBytes:           1 << 30,
		SegmentMs:              7 * 24 * 3600 * 1000,
		IndexBytes:             10 << 20,
		IndexIntervalBytes:     4096,
		FlushMessages:          math.MaxInt64,
		FlushMs:                math.MaxInt64,
		RetentionBytes:         -1,
		RetentionMs:            7 * 24 * 3600 * 1000,
		FileDeleteDelayMs:      60_000,
		Delete:                 true,
		DeleteRetentionMs:      24 * 3600 * 1000,
		MaxCompactionLagMs:     math.MaxInt64,
		MinCleanableRatio:      0.5,
		MaxMessageBytes:        1_048_588,
		MaxDecompressedBytes:   math.MaxInt32 - 8,
		TimestampType:          record.CreateTime,
		TimestampBeforeMaxMs:   math.MaxInt64,
		TimestampAfterMaxMs:    3_600_000,
		Compression:            record.Compression{Producer: true},
		ProducerIDExpirationMs: 24 * 3600 * 1000,
	}
}

// Options says where a Store keeps its logs and how.
type Options struct {
	FS     vfs.FS       // nil: the operating system's files
	Logger *slog.Logger // nil: nothing is logged

	Dirs      []string // data directories (log.dirs); at least one
	NodeID    int32    // node.id
	ClusterID string   // "" takes what the directories say, or makes one

	// RecoveryThreads is the number of logs of one directory that are loaded
	// or closed at the same time (num.recovery.threads.per.data.dir); 0 is 2.
	RecoveryThreads int

	// Configs is asked once by a load; what it returns gives the settings of
	// topics found on disk, from several goroutines. nil uses Default.
	Configs func() func(topic string) Config
	// Default is used where Configs is nil; its zero value is DefaultConfig.
	Default Config

	// InitialTaskDelayMs is the pause before removed partitions are first
	// looked at after a start (log.initial.task.delay.ms); 0 means no pause.
	InitialTaskDelayMs int64
	// DeleteDelayMs is the age at which a removed partition's files go
	// (the broker's log.segment.delete.delay.ms).
	DeleteDelayMs int64

	// OnSuspect is told that a data directory may have failed, and by what error,
	// while its logs are in use. It must not wait for anything. TakeOffline is
	// what may follow.
	OnSuspect func(dir *Dir, cause error)

	// Cordoned tells of a data directory that takes no new partitions, as it is
	// now (cordoned.log.dirs); nil: there is none.
	Cordoned func(dir string) bool

	// OpenFiles bounds the segment files that are kept open while nothing
	// uses them; 0 is 1024.
	OpenFiles int
}

// LogOptions opens one log directory by itself.
type LogOptions struct {
	FS     vfs.FS
	Logger *slog.Logger
	Dir    string // the partition's directory, e.g. ".../topic-0"
	Config Config

	// Clean says that the last stop was a clean one: nothing is recovered.
	Clean bool
	// RecoveryPoint and LogStartOffset are the checkpointed values, 0 if none.
	RecoveryPoint  int64
	LogStartOffset int64
	// KeepIndexes leaves the active segment's indexes at their full size when
	// the log is closed, as the metadata log does.
	KeepIndexes bool
	// TopicID, when not zero, is written to a new directory's
	// partition.metadata.
	TopicID UUID
}
