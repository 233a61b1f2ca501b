package record

// Record is one record of a batch. Key and Value are nil for null.
type Record struct {
	Offset      int64
	Timestamp   int64 // ms; -1 none
	OffsetDelta int32 // Offset less the batch's base offset
	Key, Value  []byte
	Headers     []RecordHeader
}

// RecordHeader is one of a record's headers.
type RecordHeader struct {
	Key   []byte // UTF-8, never null
	Value []byte // nil for null
}
