// Package partition stands between the requests and the logs: it knows which
// partitions this broker leads, what a reader may see of each (high watermark,
// last stable offset), and it holds the one wait of the data path, that of a
// fetch for more bytes.
//
// A single replica is the whole set of in-sync replicas, so the high watermark
// is the log end offset as soon as an append returns. It is kept apart all the
// same: readers are bounded by it, it is what the checkpoint file stores, and
// it only grows.
//
// Locks: Partition.mu may be held while the log's own lock is taken.
// Manager.mu and Partition.waitMu are leaves.
package partition
