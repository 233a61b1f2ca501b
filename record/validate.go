package record

// Compression is what compression.type asks for.
type Compression struct {
	Producer bool  // keep what the producer used; Codec is not looked at
	Codec    Codec // None is compression.type=uncompressed
	Level    int   // 0 is the codec's default; otherwise as in compression.<codec>.level
}

// ValidateOptions are a topic's rules for what clients may append.
type ValidateOptions struct {
	TopicPartition       string // for messages, as in "orders-0"
	NowMs                int64  // the append time, ms since 1970
	TimestampType        TimestampType
	BeforeMaxMs          int64 // message.timestamp.before.max.ms
	AfterMaxMs           int64 // message.timestamp.after.max.ms
	Compacted            bool  // records must have keys
	MaxDecompressedBytes int   // largest record in a compressed batch; 0 = no limit
	Compression          Compression
	MaxBatchBytes        int // a rebuilt batch may not be larger; 0 = no limit
}

// Validated is a batch that may be appended.
type Validated struct {
	Batch                     Batch // the given one, patched in place, or a rebuilt one
	MaxTimestampMs            int64 // -1 none
	OffsetOfMaxTimestampDelta int32 // the offset that carries it, less the base offset
	LogAppendTimeMs           int64 // NowMs with LogAppendTime, else -1
}

// Validate applies Kafka's rules to one batch of a client.
func Validate(b Batch, o ValidateOptions) (Validated, error) { panic("being written") }

// CheckRequest checks a record set.
func CheckRequest(set []byte) (Batch, error) { panic("being written") }

// CheckRecordSet checks a record set.
func CheckRecordSet(set []byte, maxMessageBytes int) (Batch, error) { panic("being written") }

// ForEach calls fn for each record.
func (b Batch) ForEach(maxDecompressed int, fn func(*Record) error) error { panic("being written") }
