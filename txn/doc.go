// Package txn coordinates transactions: it knows every transactional id, which
// producer holds it and what its transaction has touched, and it writes the
// markers that end a transaction.
//
// All state is in the partitions of the topic __transaction_state, in Kafka's
// records, and in memory. A decision to commit or abort is a record there; the
// markers follow it, again after a crash, until each partition has its own.
//
// Lock order: Txn.mu, then whatever the Log and the Markers lock;
// Coordinator.mu is a leaf.
package txn
