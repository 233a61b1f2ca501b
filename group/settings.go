package group

import "minibroker/record"

// Settings are the broker's settings that concern groups, as they are in force
// when asked for.
type Settings struct {
	MinSessionTimeoutMs     int32
	MaxSessionTimeoutMs     int32
	MaxSize                 int   // members of a classic group
	InitialRebalanceDelayMs int32 // how long a new classic group waits for more members

	OffsetMetadataMaxChars int   // UTF-16 units of a commit's metadata
	OffsetsRetentionMs     int64 // how long offsets outlive their use

	ConsumerMaxSize int      // members of a consumer group
	Assignors       []string // names of those that a consumer group may ask for; the first is the default
	RegexRefreshMs  int32    // how often regular expressions are resolved at least
	Migration       MigrationPolicy

	Codec record.Codec // of the batches
}
