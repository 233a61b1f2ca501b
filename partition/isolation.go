package partition

// Isolation says how far a reader may see. The values are those of the wire.
type Isolation int8

const (
	// ReadUncommitted reads up to the high watermark.
	ReadUncommitted Isolation = 0
	// ReadCommitted reads up to the last stable offset and is told which
	// transactions of what it reads were aborted.
	ReadCommitted Isolation = 1
)

// Valid reports whether i is one of the two levels.
func (i Isolation) Valid() bool { return i == ReadUncommitted || i == ReadCommitted }
