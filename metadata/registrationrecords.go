package metadata

import "minibroker/logstore"

// Endpoint is where a listener can be reached.
//
//	field             type    since
//	Name              string  0
//	Host              string  0
//	Port              uint16  0
//	SecurityProtocol  int16   0
type Endpoint struct {
	Name     string // of the listener
	Host     string
	Port     uint16
	Protocol int16 // 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL
	Unknown  []Tag
}

func (e *Endpoint) code(c *coder) {
	c.string(&e.Name)
	c.string(&e.Host)
	c.uint16(&e.Port)
	c.int16(&e.Protocol)
	c.tags(&e.Unknown)
}

// FeatureRange is the levels of a feature that a node can work with.
//
//	field                type    since
//	Name                 string  0
//	MinSupportedVersion  int16   0
//	MaxSupportedVersion  int16   0
type FeatureRange struct {
	Name     string
	Min, Max int16
	Unknown  []Tag
}

func (f *FeatureRange) code(c *coder) {
	c.string(&f.Name)
	c.int16(&f.Min)
	c.int16(&f.Max)
	c.tags(&f.Unknown)
}

// Least bytes of one element of an array.
const (
	minEndpointSize     = 7
	minFeatureRangeSize = 6
)

func (c *coder) endpoints(v *[]Endpoint) {
	array(c, v, false, minEndpointSize, func(c *coder, e *Endpoint) { e.code(c) })
}

func (c *coder) features(v *[]FeatureRange) {
	array(c, v, false, minFeatureRangeSize, func(c *coder, f *FeatureRange) { f.code(c) })
}

// RegisterBrokerRecord registers a broker; an earlier registration is replaced.
//
//	field                 type            since  tag  default
//	BrokerId              int32           0
//	IsMigratingZkBroker   bool            2
//	IncarnationId         uuid            0           new at each start
//	BrokerEpoch           int64           0
//	EndPoints             []Endpoint      0
//	Features              []FeatureRange  0
//	Rack                  string          0           may be null
//	Fenced                bool            0
//	InControlledShutdown  bool            1
//	LogDirs               []uuid          3      0    empty
//	CordonedLogDirs       []uuid          4      1    null: not known yet
type RegisterBrokerRecord struct {
	BrokerID             int32
	IsMigratingZkBroker  bool
	IncarnationID        logstore.UUID
	BrokerEpoch          int64
	Endpoints            []Endpoint
	Features             []FeatureRange
	Rack                 *string
	Fenced               bool
	InControlledShutdown bool
	LogDirs              []logstore.UUID
	CordonedLogDirs      []logstore.UUID
	Unknown              []Tag
}

// Key is KeyRegisterBroker.
func (*RegisterBrokerRecord) Key() RecordKey { return KeyRegisterBroker }

func (r *RegisterBrokerRecord) code(c *coder) {
	c.int32(&r.BrokerID)
	if c.version >= 2 {
		c.boolean(&r.IsMigratingZkBroker)
	}
	c.uuid(&r.IncarnationID)
	c.int64(&r.BrokerEpoch)
	c.endpoints(&r.Endpoints)
	c.features(&r.Features)
	c.nullableString(&r.Rack)
	c.boolean(&r.Fenced)
	if c.version >= 1 {
		c.boolean(&r.InControlledShutdown)
	}
	c.tagged(&r.Unknown, r)
}

func (r *RegisterBrokerRecord) present(version int16) uint32 {
	return bit(0, version >= 3 && len(r.LogDirs) > 0) | bit(1, version >= 4 && r.CordonedLogDirs != nil)
}

func (r *RegisterBrokerRecord) tag(c *coder, number uint32) bool {
	switch {
	case number == 0 && c.version >= 3:
		c.uuids(&r.LogDirs)
	case number == 1 && c.version >= 4:
		c.nullableUUIDs(&r.CordonedLogDirs)
	default:
		return false
	}
	return true
}

// UnregisterBrokerRecord forgets a broker.
//
//	field        type   since
//	BrokerId     int32  0
//	BrokerEpoch  int64  0
type UnregisterBrokerRecord struct {
	BrokerID    int32
	BrokerEpoch int64
	Unknown     []Tag
}

// Key is KeyUnregisterBroker.
func (*UnregisterBrokerRecord) Key() RecordKey { return KeyUnregisterBroker }

func (r *UnregisterBrokerRecord) code(c *coder) {
	c.int32(&r.BrokerID)
	c.int64(&r.BrokerEpoch)
	c.tags(&r.Unknown)
}

// FenceBrokerRecord fences a broker. Only logs from before metadata.version 6
// have it.
//
//	field  type   since
//	Id     int32  0
//	Epoch  int64  0
type FenceBrokerRecord struct {
	ID      int32
	Epoch   int64
	Unknown []Tag
}

// Key is KeyFenceBroker.
func (*FenceBrokerRecord) Key() RecordKey { return KeyFenceBroker }

func (r *FenceBrokerRecord) code(c *coder) {
	c.int32(&r.ID)
	c.int64(&r.Epoch)
	c.tags(&r.Unknown)
}

// UnfenceBrokerRecord is the opposite of FenceBrokerRecord.
//
//	field  type   since
//	Id     int32  0
//	Epoch  int64  0
type UnfenceBrokerRecord struct {
	ID      int32
	Epoch   int64
	Unknown []Tag
}

// Key is KeyUnfenceBroker.
func (*UnfenceBrokerRecord) Key() RecordKey { return KeyUnfenceBroker }

func (r *UnfenceBrokerRecord) code(c *coder) {
	c.int32(&r.ID)
	c.int64(&r.Epoch)
	c.tags(&r.Unknown)
}

// Values of BrokerRegistrationChangeRecord.Fenced.
const (
	fencedYes int8 = 1
	fencedNo  int8 = -1
)

// BrokerRegistrationChangeRecord changes a registration. It is written in the
// lowest version that holds the change.
//
//	field                 type    since  tag  default
//	BrokerId              int32   0
//	BrokerEpoch           int64   0
//	Fenced                int8    0      0    0: no change; 1: fenced; -1: not
//	InControlledShutdown  int8    1      1    0: no change; 1: yes
//	LogDirs               []uuid  2      2    empty: no change
//	CordonedLogDirs       []uuid  3      3    null: no change
type BrokerRegistrationChangeRecord struct {
	BrokerID             int32
	BrokerEpoch          int64
	Fenced               int8
	InControlledShutdown int8
	LogDirs              []logstore.UUID
	CordonedLogDirs      []logstore.UUID
	Unknown              []Tag
}

// Key is KeyBrokerRegistrationChange.
func (*BrokerRegistrationChangeRecord) Key() RecordKey { return KeyBrokerRegistrationChange }

func (r *BrokerRegistrationChangeRecord) code(c *coder) {
	c.int32(&r.BrokerID)
	c.int64(&r.BrokerEpoch)
	c.tagged(&r.Unknown, r)
}

func (r *BrokerRegistrationChangeRecord) present(version int16) uint32 {
	return bit(0, r.Fenced != 0) | bit(1, version >= 1 && r.InControlledShutdown != 0) |
		bit(2, version >= 2 && len(r.LogDirs) > 0) | bit(3, version >= 3 && r.CordonedLogDirs != nil)
}

func (r *BrokerRegistrationChangeRecord) tag(c *coder, number uint32) bool {
	switch {
	case number == 0:
		c.int8(&r.Fenced)
	case number == 1 && c.version >= 1:
		c.int8(&r.InControlledShutdown)
	case number == 2 && c.version >= 2:
		c.uuids(&r.LogDirs)
	case number == 3 && c.version >= 3:
		c.nullableUUIDs(&r.CordonedLogDirs)
	default:
		return false
	}
	return true
}

// RegisterControllerRecord registers a controller.
//
//	field             type            since
//	ControllerId      int32           0
//	IncarnationId     uuid            0      new at each start
//	ZkMigrationReady  bool            0
//	EndPoints         []Endpoint      0
//	Features          []FeatureRange  0
type RegisterControllerRecord struct {
	ControllerID     int32
	IncarnationID    logstore.UUID
	ZkMigrationReady bool
	Endpoints        []Endpoint
	Features         []FeatureRange
	Unknown          []Tag
}

// Key is KeyRegisterController.
func (*RegisterControllerRecord) Key() RecordKey { return KeyRegisterController }

func (r *RegisterControllerRecord) code(c *coder) {
	c.int32(&r.ControllerID)
	c.uuid(&r.IncarnationID)
	c.boolean(&r.ZkMigrationReady)
	c.endpoints(&r.Endpoints)
	c.features(&r.Features)
	c.tags(&r.Unknown)
}

// UnregisterControllerRecord forgets a controller.
//
//	field         type   since
//	ControllerId  int32  0
type UnregisterControllerRecord struct {
	ControllerID int32
	Unknown      []Tag
}

// Key is KeyUnregisterController.
func (*UnregisterControllerRecord) Key() RecordKey { return KeyUnregisterController }

func (r *UnregisterControllerRecord) code(c *coder) {
	c.int32(&r.ControllerID)
	c.tags(&r.Unknown)
}
