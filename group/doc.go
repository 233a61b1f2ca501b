// Package group coordinates consumer groups: who is a member, which generation
// is in force, and how far each group has read.
//
// All state lives in __consumer_offsets, in Kafka's records. A Coordinator has
// one shard for each partition of that topic; a shard has groups, and a group
// is what one lock guards: nothing that happens to one group waits for another.
// A change of a group is made under its lock in one order: check, append the
// records as one batch, change the memory, answer. At start the records are
// replayed.
//
// What the kinds of groups have in common - offsets, records, timers, expiry,
// deletion - is in Group; what they differ in is behind the interface machine.
// Classic groups, whose members agree on assignments among themselves, are
// classic; consumer groups, whose partitions the group itself divides, are
// consumer. Either turns into the other while it has members: the new machine
// takes the place of the old with the batch that says so. The behaviour follows
// Apache Kafka 4.4.0.
package group
