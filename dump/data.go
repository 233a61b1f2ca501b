package dump

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"minibroker/record"
)

// data shows key and value of a record that is not a control record.
func (s *segment) data(r *record.Record) {
	switch s.decoder {
	case Groups:
		s.coordinatorData(r, "group")
	case Transactions:
		s.coordinatorData(r, "transaction")
	case ShareState:
		s.coordinatorData(r, "share")
	case Metadata:
		value, err := metadataValue(r.Value)
		if err != nil {
			s.note("payload", fmt.Sprintf("Error at %d, skipping. %v", r.Offset, err))
			return
		}
		s.field("payload", "value", value)
	default:
		s.plain("key", "key", r.Key)
		s.plain("payload", "value", r.Value)
	}
}

// field shows JSON, under one name in text and another in JSON.
func (s *segment) field(inText, inJSON string, value []byte) {
	if s.o.JSON {
		s.line.raw(inJSON, value)
		return
	}
	s.line.raw(inText, value)
}

// note shows a text in the place of what cannot be shown.
func (s *segment) note(inText, text string) {
	if s.o.JSON {
		s.line.text("error", text)
		return
	}
	s.line.text(inText, text)
}

// plain shows bytes as text; in text null is left out.
func (s *segment) plain(inText, inJSON string, b []byte) {
	switch {
	case s.o.JSON:
		s.line.raw(inJSON, appendData(nil, b))
	case b != nil:
		s.line.text(inText, javaString(b))
	}
}

// appendData appends bytes as JSON: null, a string, or {"base64":"..."} for what is not UTF-8.
func appendData(out, b []byte) []byte {
	switch {
	case b == nil:
		return append(out, "null"...)
	case utf8.Valid(b):
		return appendQuoted(out, string(b))
	}
	out = append(out, `{"base64":"`...)
	out = base64.StdEncoding.AppendEncode(out, b)
	return append(out, `"}`...)
}

// metadataValue is the JSON of a record of the metadata log:
//
//	uvarint 1 | uvarint kind | uvarint version | message
func metadataValue(b []byte) ([]byte, error) {
	var head [3]uint64
	for i := range head {
		n := 0
		if head[i], n = binary.Uvarint(b); n <= 0 {
			return nil, errShort
		}
		b = b[n:]
	}
	if head[0] != 1 {
		return nil, fmt.Errorf("frame version %d", head[0])
	}
	if head[2] > 0x7fff {
		return nil, fmt.Errorf("version %d", head[2])
	}
	schema, _, err := schemaOf("metadata", int(head[1]&0xffff), int16(head[2]))
	if err != nil {
		return nil, err
	}
	if schema == nil {
		return nil, fmt.Errorf("unknown metadata record type %d in version %d", head[1], head[2])
	}
	out := fmt.Appendf(nil, `{"type":"%s","version":%d,"data":`, schema.name, head[2])
	if out, _, err = schema.message(out, b); err != nil {
		return nil, err
	}
	return append(out, '}'), nil
}

// coordinatorData shows a record of a coordinator: int16 kind and the fields of the key; int16 version and the fields of the value.
func (s *segment) coordinatorData(r *record.Record, family string) {
	key, value, err := coordinatorRecord(r, family)
	var unknown unknownKindError
	switch {
	case errors.As(err, &unknown):
		s.note("key", fmt.Sprintf("Unknown record type %d at offset %d, skipping.", unknown.kind, r.Offset))
	case err != nil:
		s.note("key", fmt.Sprintf("Error at offset %d, skipping. %v", r.Offset, err))
	case value == nil && s.o.JSON:
		s.line.raw("key", key)
		s.line.raw("value", []byte("null"))
	case value == nil:
		s.line.raw("key", key)
		s.line.text("payload", "<DELETE>")
	default:
		s.line.raw("key", key)
		s.field("payload", "value", value)
	}
}

// unknownKindError is a kind of record that Kafka 4.4.0 does not know.
type unknownKindError struct{ kind int16 }

// Error names the kind.
func (e unknownKindError) Error() string { return fmt.Sprintf("unknown record type %d", e.kind) }

// coordinatorRecord gives key and value as JSON; value is nil for a tombstone.
func coordinatorRecord(r *record.Record, family string) (key, value []byte, err error) {
	if len(r.Key) < 2 {
		return nil, nil, errors.New("the record has no key that says what it is")
	}
	id := int16(binary.BigEndian.Uint16(r.Key))
	keySchema, known, err := schemaOf(family+"-key", int(id), 0)
	if err != nil {
		return nil, nil, err
	}
	if !known || keySchema == nil {
		return nil, nil, unknownKindError{id}
	}
	key = fmt.Appendf(nil, `{"type":"%d","data":`, id)
	if key, _, err = keySchema.message(key, r.Key[2:]); err != nil {
		return nil, nil, fmt.Errorf("key: %w", err)
	}
	key = append(key, '}')
	if r.Value == nil {
		return key, nil, nil
	}
	if len(r.Value) < 2 {
		return nil, nil, fmt.Errorf("value: %w", errShort)
	}
	version := int16(binary.BigEndian.Uint16(r.Value))
	valueSchema, _, err := schemaOf(family+"-value", int(id), version)
	if err != nil {
		return nil, nil, err
	}
	if valueSchema == nil {
		return nil, nil, fmt.Errorf("unknown version %d of record type %d", version, id)
	}
	value = fmt.Appendf(nil, `{"version":"%d","data":`, version)
	if value, err = valueSchema.coordinatorValue(value, r.Value[2:]); err != nil {
		return nil, nil, fmt.Errorf("value: %w", err)
	}
	return key, append(value, '}'), nil
}

// coordinatorValue is message, but a classic group of consumers has what its members said as the consumer protocol's fields, and
// the state of a transaction has a name.
func (s *schema) coordinatorValue(out, b []byte) ([]byte, error) {
	d := decoder{b: b, flexible: s.flexible, consumers: s.name == "GROUP_METADATA", states: s.name == "TRANSACTION_LOG"}
	out = d.structure(out, s.fields)
	return out, d.err
}

// consumerProtocol gives the JSON of a member's subscription or assignment; ok is false when the bytes are something else.
func consumerProtocol(field string, b []byte) (out []byte, ok bool) {
	id := map[string]int{"subscription": 0, "assignment": 1}
	n, there := id[field]
	if !there || len(b) < 2 {
		return nil, false
	}
	schema, _, err := schemaOf("consumer", n, int16(binary.BigEndian.Uint16(b)))
	if err != nil || schema == nil {
		return nil, false
	}
	out, _, err = schema.message(nil, b[2:])
	return out, err == nil
}

// control shows what a control record says.
func (s *segment) control(r *record.Record) {
	if len(r.Key) < 4 {
		s.note("controlType", "none")
		return
	}
	kind := int16(binary.BigEndian.Uint16(r.Key[2:]))
	if kind == 0 || kind == 1 {
		s.marker(kind == 1, r.Value)
		return
	}
	names := [...]string{2: "LeaderChange", 3: "SnapshotHeader", 4: "SnapshotFooter", 5: "KRaftVersion", 6: "KRaftVoters"}
	var value []byte
	err := fmt.Errorf("unknown control record type %d", kind)
	if int(kind) > 1 && int(kind) < len(names) {
		value, err = controlValue(int(kind), r.Value)
	}
	switch {
	case err != nil:
		s.note("controlType", fmt.Sprintf("%d, skipping. %v", kind, err))
	case s.o.JSON:
		s.line.raw(names[kind], value)
	case kind == 2:
		s.line.raw("LeaderChange", value)
	default: // without a colon, as Kafka has it
		s.line.b = append(s.line.b, ' ')
		s.line.b = append(s.line.b, names[kind]...)
		s.line.b = append(s.line.b, ' ')
		s.line.b = append(s.line.b, value...)
	}
}

// controlValue is the JSON of a control record of the metadata log, whose first field is its version.
func controlValue(kind int, b []byte) ([]byte, error) {
	if len(b) < 2 {
		return nil, errShort
	}
	version := int16(binary.BigEndian.Uint16(b))
	schema, _, err := schemaOf("control", kind, version)
	if err != nil {
		return nil, err
	}
	if schema == nil {
		return nil, fmt.Errorf("unknown version %d", version)
	}
	out, _, err := schema.message(nil, b)
	return out, err
}

// marker shows the end of a transaction: int16 version, int32 epoch of the coordinator.
func (s *segment) marker(commit bool, value []byte) {
	end := "ABORT"
	if commit {
		end = "COMMIT"
	}
	s.line.text("endTxnMarker", end)
	if len(value) >= 6 {
		s.line.num("coordinatorEpoch", int64(int32(binary.BigEndian.Uint32(value[2:]))))
	}
}
