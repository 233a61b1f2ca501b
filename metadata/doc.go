// Package metadata keeps what a node knows about its cluster: topics, settings,
// features, registrations, quotas, access rules, credentials, producer ids.
//
// All of it is one immutable Image, made by replaying a log that is a genuine
// KRaft metadata log as Apache Kafka 4.4.0 writes it on a node that is broker
// and controller in one. Kafka can be started on it, and the other way round.
// A change is appended to the log, synced, applied to a new Image, and only
// then answered.
//
//	__cluster_metadata-0/
//	    <base>.log, .index, …            a logstore.Log of records, see Record
//	    <end>-<epoch>.checkpoint         a snapshot of the state before offset end
//	    00…0-0000000000.checkpoint       what formatting wrote: features to begin with
//	    quorum-state                     the last known election, JSON
//	    leader-epoch-checkpoint, partition.metadata   as in any partition
package metadata
