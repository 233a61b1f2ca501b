// Package record knows record batches of format v2, the only form in which
// records travel and lie in a log: views on the bytes ([Batch], [Header]),
// their records ([Batch.ForEach]), Kafka's validation of what a client sends
// ([CheckRecordSet], [Validate]), building ([Builder]) and the compression
// codecs.
//
// Nothing in here copies a batch that may be stored as it came. Validation of
// an uncompressed batch takes no memory; compressed batches are decompressed
// through a small window.
package record
