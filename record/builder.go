package record

// Producer are the fields of an idempotent or transactional producer.
type Producer struct {
	ID           int64
	Epoch        int16
	BaseSequence int32 // NoSequence in control batches
}

// BuilderOptions describe a batch before its records.
type BuilderOptions struct {
	BaseOffset      int64
	LeaderEpoch     int32
	Codec           Codec
	Level           int // 0 is the codec's default
	TimestampType   TimestampType
	LogAppendTimeMs int64     // with LogAppendTime: the batch's largest timestamp
	Producer        *Producer // nil: none
	Transactional   bool
	Control         bool
	DeleteHorizonMs *int64 // not nil: stored as base timestamp, and marked so
	LastOffsetDelta int32  // the batch covers at least this many offsets less one; the cleaner's batches keep theirs
	MaxBytes        int    // a larger batch fails with ErrMessageTooLarge; 0 = no limit
}

// Builder builds one batch.
type Builder struct{}

// NewBuilder starts a batch.
func NewBuilder(o BuilderOptions) *Builder { panic("being written") }

// Append adds a record with the next offset.
func (b *Builder) Append(r Record) error { panic("being written") }

// AppendAt adds a record at r.OffsetDelta.
func (b *Builder) AppendAt(r Record) error { panic("being written") }

// Build ends the batch.
func (b *Builder) Build() (Batch, error) { panic("being written") }

// Marker is the end of a transaction.
type Marker struct {
	Commit           bool
	CoordinatorEpoch int32
}

// MarkerOptions describe a control batch.
type MarkerOptions struct {
	Offset        int64
	LeaderEpoch   int32
	TimestampMs   int64
	ProducerID    int64
	ProducerEpoch int16
	Marker
}

// BuildMarker builds a control batch.
func BuildMarker(o MarkerOptions) Batch { panic("being written") }

// Marker reads a control batch.
func (b Batch) Marker() (m Marker, ok bool, err error) { panic("being written") }
