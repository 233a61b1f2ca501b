package group

import "minibroker/record"

// Log is one partition of __consumer_offsets.
type Log interface {
	// Append stores one batch, whose base offset and leader epoch it sets, and
	// returns the base offset. It must not keep batch.
	Append(batch record.Batch, o AppendOptions) (baseOffset int64, err error)
	// StartOffset is the first offset that can be read, EndOffset the one that
	// the next record gets. They wait for no lock that an append holds.
	StartOffset() int64
	EndOffset() int64
	// Read fills buf with whole batches from the one that holds offset on, and
	// returns them. When the first does not fit it returns a larger buffer.
	// Nothing is returned at the end offset.
	Read(offset int64, buf []byte) ([]byte, error)
	// MaxBatchBytes is the largest batch that Append takes.
	MaxBatchBytes() int
}

// AppendOptions accompany a batch.
type AppendOptions struct {
	// TransactionVersion is 2 when the producer of a transactional batch raises
	// its epoch with each transaction; else 0.
	TransactionVersion int16
}
