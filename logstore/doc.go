// Package logstore keeps partitions in Kafka's directory layout, byte for
// byte: segments of record batches, their indexes, producer snapshots, and the
// small text files beside them.
//
// A data directory holds one directory per partition and a few files about all
// of them:
//
//	meta.properties                    MetaProperties: which cluster, node and directory
//	.lock                              held while a process uses the directory
//	.kafka_cleanshutdown               CleanShutdown: present after a clean stop
//	recovery-point-offset-checkpoint   OffsetCheckpoint: everything below is on disk
//	log-start-offset-checkpoint        OffsetCheckpoint: starts inside a first segment
//	replication-offset-checkpoint      OffsetCheckpoint: high watermarks
//	cleaner-offset-checkpoint          OffsetCheckpoint: first offset not yet compacted
//	<topic>-<partition>/               one Log
//	    <base>.log                     batches of one segment
//	    <base>.index                   OffsetIndex: offset -> position
//	    <base>.timeindex               TimeIndex: timestamp -> offset
//	    <base>.txnindex                TxnIndex: aborted transactions
//	    <offset>.snapshot              ProducerState before offset
//	    leader-epoch-checkpoint        LeaderEpochs: epoch -> first offset
//	    partition.metadata             PartitionMetadata: the topic's id
//
// All integers in binary files are big-endian. Formats are those of Apache
// Kafka 4.4.0, and each is drawn above its codec.
package logstore
