// Package cleaner compacts logs: of each key it keeps the newest record and
// rewrites the older segments without the others, byte for byte as Apache Kafka
// 4.4.0 does. Appends and reads go on meanwhile.
//
// A pass over one log has two parts. The first reads the dirty part, what came
// since the last pass, and notes in an [OffsetMap] where each key stands last.
// The second copies all segments up to there, in groups that fit one segment
// each, without the records that the map outdates, and puts each new segment in
// the place of its group.
//
//	0          first dirty         bound        high watermark
//	|--- clean ---|---- dirty -----|-- not yet --|-- active --|
//	              |<- offset map ->|
//	|<------- copied, in groups -->|
//
// What stays beyond its key's newest record: tombstones until their delete
// horizon, transaction markers as long as their transaction's data and then as
// long as tombstones, and the last batch of each live producer, if need be
// without records. Data of aborted transactions goes.
package cleaner
