package metadata

import (
	"encoding/binary"
	"fmt"
)

// RecordKey is the number of a record's type.
type RecordKey uint32

// The types of records. 6, 13 and 16 are not in use.
const (
	KeyRegisterBroker            RecordKey = 0
	KeyUnregisterBroker          RecordKey = 1
	KeyTopic                     RecordKey = 2
	KeyPartition                 RecordKey = 3
	KeyConfig                    RecordKey = 4
	KeyPartitionChange           RecordKey = 5
	KeyFenceBroker               RecordKey = 7
	KeyUnfenceBroker             RecordKey = 8
	KeyRemoveTopic               RecordKey = 9
	KeyDelegationToken           RecordKey = 10
	KeyUserScramCredential       RecordKey = 11
	KeyFeatureLevel              RecordKey = 12
	KeyClientQuota               RecordKey = 14
	KeyProducerIDs               RecordKey = 15
	KeyBrokerRegistrationChange  RecordKey = 17
	KeyAccessControlEntry        RecordKey = 18
	KeyRemoveAccessControlEntry  RecordKey = 19
	KeyNoOp                      RecordKey = 20
	KeyZkMigrationState          RecordKey = 21
	KeyRemoveUserScramCredential RecordKey = 22
	KeyBeginTransaction          RecordKey = 23
	KeyEndTransaction            RecordKey = 24
	KeyAbortTransaction          RecordKey = 25
	KeyRemoveDelegationToken     RecordKey = 26
	KeyRegisterController        RecordKey = 27
	KeyClearElr                  RecordKey = 28
	KeyUnregisterController      RecordKey = 29
)

// Record is one metadata record: a pointer to one of the …Record types. Its
// place in the log is the value of a batch's record, whose key is null:
//
//	uvarint  frame version   1
//	uvarint  RecordKey
//	uvarint  version         of the record's schema
//	…        fields          see coder, and the table above each type
//
// A dot before a field's name means one of the struct above it; "since" is the
// first version that has the field, "tag" its number among the tagged fields.
type Record interface {
	Key() RecordKey
	code(c *coder)
}

// frameVersion is the only form of frame there is.
const frameVersion = 1

// recordType describes one type of record.
type recordType struct {
	name       string // Kafka's
	maxVersion int16
	make       func() Record
}

func recordTypeOf[T any, P interface {
	*T
	Record
}](name string, maxVersion int16) recordType {
	return recordType{name: name, maxVersion: maxVersion, make: func() Record { return P(new(T)) }}
}

// recordTypes is indexed by RecordKey; make is nil for numbers not in use.
var recordTypes = [...]recordType{
	KeyRegisterBroker:            recordTypeOf[RegisterBrokerRecord]("RegisterBroker", 4),
	KeyUnregisterBroker:          recordTypeOf[UnregisterBrokerRecord]("UnregisterBroker", 0),
	KeyTopic:                     recordTypeOf[TopicRecord]("Topic", 0),
	KeyPartition:                 recordTypeOf[PartitionRecord]("Partition", 2),
	KeyConfig:                    recordTypeOf[ConfigRecord]("Config", 0),
	KeyPartitionChange:           recordTypeOf[PartitionChangeRecord]("PartitionChange", 2),
	KeyFenceBroker:               recordTypeOf[FenceBrokerRecord]("FenceBroker", 0),
	KeyUnfenceBroker:             recordTypeOf[UnfenceBrokerRecord]("UnfenceBroker", 0),
	KeyRemoveTopic:               recordTypeOf[RemoveTopicRecord]("RemoveTopic", 0),
	KeyDelegationToken:           recordTypeOf[DelegationTokenRecord]("DelegationToken", 0),
	KeyUserScramCredential:       recordTypeOf[UserScramCredentialRecord]("UserScramCredential", 0),
	KeyFeatureLevel:              recordTypeOf[FeatureLevelRecord]("FeatureLevel", 0),
	KeyClientQuota:               recordTypeOf[ClientQuotaRecord]("ClientQuota", 0),
	KeyProducerIDs:               recordTypeOf[ProducerIDsRecord]("ProducerIds", 0),
	KeyBrokerRegistrationChange:  recordTypeOf[BrokerRegistrationChangeRecord]("BrokerRegistrationChange", 3),
	KeyAccessControlEntry:        recordTypeOf[AccessControlEntryRecord]("AccessControlEntry", 0),
	KeyRemoveAccessControlEntry:  recordTypeOf[RemoveAccessControlEntryRecord]("RemoveAccessControlEntry", 0),
	KeyNoOp:                      recordTypeOf[NoOpRecord]("NoOp", 0),
	KeyZkMigrationState:          recordTypeOf[ZkMigrationStateRecord]("ZkMigrationState", 0),
	KeyRemoveUserScramCredential: recordTypeOf[RemoveUserScramCredentialRecord]("RemoveUserScramCredential", 0),
	KeyBeginTransaction:          recordTypeOf[BeginTransactionRecord]("BeginTransaction", 0),
	KeyEndTransaction:            recordTypeOf[EndTransactionRecord]("EndTransaction", 0),
	KeyAbortTransaction:          recordTypeOf[AbortTransactionRecord]("AbortTransaction", 0),
	KeyRemoveDelegationToken:     recordTypeOf[RemoveDelegationTokenRecord]("RemoveDelegationToken", 0),
	KeyRegisterController:        recordTypeOf[RegisterControllerRecord]("RegisterController", 0),
	KeyClearElr:                  recordTypeOf[ClearElrRecord]("ClearElr", 0),
	KeyUnregisterController:      recordTypeOf[UnregisterControllerRecord]("UnregisterController", 0),
}

// String is Kafka's name of the record type, without "Record".
func (k RecordKey) String() string {
	if int(k) < len(recordTypes) && recordTypes[k].make != nil {
		return recordTypes[k].name
	}
	return fmt.Sprintf("record type %d", uint32(k))
}

// DecodeRecord reads a framed record and tells the version that it is written
// in. A type or version that this program does not know is ErrUnsupported:
// leaving such a record out would lose a part of the cluster's state.
func DecodeRecord(value []byte) (r Record, version int16, err error) {
	return new(decoder).decode(value)
}

func (d *decoder) decode(value []byte) (r Record, version int16, err error) {
	c := &d.coder
	*c = coder{buf: value}
	var frame, key, v uint64
	c.uvarint(&frame)
	c.uvarint(&key)
	c.uvarint(&v)
	if c.err != nil {
		return nil, 0, fmt.Errorf("record frame: %w", c.err)
	}
	if frame != frameVersion {
		return nil, 0, fmt.Errorf("%w: record frame version %d, only %d is known", ErrUnsupported, frame, frameVersion)
	}
	if key >= uint64(len(recordTypes)) || recordTypes[key].make == nil {
		return nil, 0, fmt.Errorf("%w: record type %d is unknown; a newer Kafka wrote this metadata", ErrUnsupported, key)
	}
	t := recordTypes[key]
	if v > uint64(t.maxVersion) {
		return nil, 0, fmt.Errorf("%w: %s record in version %d, known up to %d; a newer Kafka wrote this metadata", ErrUnsupported, t.name, v, t.maxVersion)
	}
	c.version = int16(v)
	if r = d.again(RecordKey(key)); r == nil {
		r = t.make()
	}
	r.code(c)
	c.end()
	if c.err != nil {
		return nil, 0, fmt.Errorf("%s record: %w", t.name, c.err)
	}
	d.share(r)
	return r, c.version, nil
}

// AppendRecord appends the framed record to dst, in this version of its
// schema.
func AppendRecord(dst []byte, r Record, version int16) []byte {
	dst = binary.AppendUvarint(dst, frameVersion)
	dst = binary.AppendUvarint(dst, uint64(r.Key()))
	dst = binary.AppendUvarint(dst, uint64(version))
	c := coder{version: version, writing: true, buf: dst}
	r.code(&c)
	return c.buf
}
