package metadata

// ConfigRecord sets or removes one setting of a resource.
//
//	field         type    since
//	ResourceType  int8    0      see ResourceKind
//	ResourceName  string  0
//	Name          string  0
//	Value         string  0      null removes it
type ConfigRecord struct {
	ResourceType ResourceKind
	ResourceName string
	Name         string
	Value        *string
	Unknown      []Tag
}

// Key is KeyConfig.
func (*ConfigRecord) Key() RecordKey { return KeyConfig }

func (r *ConfigRecord) code(c *coder) {
	kind := int8(r.ResourceType)
	c.int8(&kind)
	if !c.writing {
		r.ResourceType = ResourceKind(kind)
	}
	c.string(&r.ResourceName)
	c.string(&r.Name)
	c.nullableString(&r.Value)
	c.tags(&r.Unknown)
}

// FeatureLevelRecord sets the level of a feature of the cluster; 0 switches it
// off.
//
//	field         type    since
//	Name          string  0
//	FeatureLevel  int16   0
type FeatureLevelRecord struct {
	Name    string
	Level   int16
	Unknown []Tag
}

// Key is KeyFeatureLevel.
func (*FeatureLevelRecord) Key() RecordKey { return KeyFeatureLevel }

func (r *FeatureLevelRecord) code(c *coder) {
	c.string(&r.Name)
	c.int16(&r.Level)
	c.tags(&r.Unknown)
}

// QuotaEntity is one part of what a quota applies to.
//
//	field       type    since
//	EntityType  string  0      "user", "client-id", "ip"
//	EntityName  string  0      null: all without a quota of their own
type QuotaEntity struct {
	Type    string
	Name    *string
	Unknown []Tag
}

const minQuotaEntitySize = 3

// ClientQuotaRecord sets or removes one limit of an entity.
//
//	field   type           since
//	Entity  []QuotaEntity  0
//	Key     string         0      for example "producer_byte_rate"
//	Value   float64        0      0 when removing
//	Remove  bool           0
type ClientQuotaRecord struct {
	Entity  []QuotaEntity
	Name    string // of the limit
	Value   float64
	Remove  bool
	Unknown []Tag
}

// Key is KeyClientQuota.
func (*ClientQuotaRecord) Key() RecordKey { return KeyClientQuota }

func (r *ClientQuotaRecord) code(c *coder) {
	array(c, &r.Entity, false, minQuotaEntitySize, func(c *coder, e *QuotaEntity) {
		c.string(&e.Type)
		c.nullableString(&e.Name)
		c.tags(&e.Unknown)
	})
	c.string(&r.Name)
	c.float64(&r.Value)
	c.boolean(&r.Remove)
	c.tags(&r.Unknown)
}

// ProducerIDsRecord gives out a block of producer ids.
//
//	field           type   since
//	BrokerId        int32  0      -1 in snapshots
//	BrokerEpoch     int64  0      -1 in snapshots
//	NextProducerId  int64  0      first id after the block
type ProducerIDsRecord struct {
	BrokerID       int32
	BrokerEpoch    int64
	NextProducerID int64
	Unknown        []Tag
}

// Key is KeyProducerIDs.
func (*ProducerIDsRecord) Key() RecordKey { return KeyProducerIDs }

func (r *ProducerIDsRecord) code(c *coder) {
	c.int32(&r.BrokerID)
	c.int64(&r.BrokerEpoch)
	c.int64(&r.NextProducerID)
	c.tags(&r.Unknown)
}

// NoOpRecord says nothing. Kafka's controller writes one when it was idle; this
// program does so in the place of a level of kraft.version only.
//
//	(no fields)
type NoOpRecord struct{ Unknown []Tag }

// Key is KeyNoOp.
func (*NoOpRecord) Key() RecordKey { return KeyNoOp }

func (r *NoOpRecord) code(c *coder) { c.tags(&r.Unknown) }

// ZkMigrationStateRecord tells of a migration from ZooKeeper, long over.
//
//	field             type  since
//	ZkMigrationState  int8  0
type ZkMigrationStateRecord struct {
	State   int8
	Unknown []Tag
}

// Key is KeyZkMigrationState.
func (*ZkMigrationStateRecord) Key() RecordKey { return KeyZkMigrationState }

func (r *ZkMigrationStateRecord) code(c *coder) {
	c.int8(&r.State)
	c.tags(&r.Unknown)
}

// BeginTransactionRecord starts a metadata transaction: what follows takes
// effect at its EndTransactionRecord.
//
//	field  type    since  tag  default
//	Name   string  0      0    null
type BeginTransactionRecord struct {
	Name    *string
	Unknown []Tag
}

// Key is KeyBeginTransaction.
func (*BeginTransactionRecord) Key() RecordKey { return KeyBeginTransaction }

func (r *BeginTransactionRecord) code(c *coder) { c.tagged(&r.Unknown, r) }

func (r *BeginTransactionRecord) present(int16) uint32 { return bit(0, r.Name != nil) }

func (r *BeginTransactionRecord) tag(c *coder, number uint32) bool {
	if number != 0 {
		return false
	}
	c.nullableString(&r.Name)
	return true
}

// EndTransactionRecord ends a metadata transaction.
//
//	(no fields)
type EndTransactionRecord struct{ Unknown []Tag }

// Key is KeyEndTransaction.
func (*EndTransactionRecord) Key() RecordKey { return KeyEndTransaction }

func (r *EndTransactionRecord) code(c *coder) { c.tags(&r.Unknown) }

// AbortTransactionRecord drops what a metadata transaction wrote so far.
//
//	field   type    since  tag  default
//	Reason  string  0      0    null
type AbortTransactionRecord struct {
	Reason  *string
	Unknown []Tag
}

// Key is KeyAbortTransaction.
func (*AbortTransactionRecord) Key() RecordKey { return KeyAbortTransaction }

func (r *AbortTransactionRecord) code(c *coder) { c.tagged(&r.Unknown, r) }

func (r *AbortTransactionRecord) present(int16) uint32 { return bit(0, r.Reason != nil) }

func (r *AbortTransactionRecord) tag(c *coder, number uint32) bool {
	if number != 0 {
		return false
	}
	c.nullableString(&r.Reason)
	return true
}
