package dump

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// errShort says that bytes end before what they hold does.
var errShort = errors.New("the bytes end too early")

// decoder turns bytes of a message into JSON.
type decoder struct {
	b        []byte
	flexible bool
	err      error

	// consumers is set for a classic group's metadata: the members of a group of consumers speak the consumer protocol.
	consumers bool
	// states is set for a transaction: Kafka prints the name of its state, not the number.
	states bool
}

// message appends the JSON object of a message and tells how many bytes it took.
func (s *schema) message(out, b []byte) ([]byte, int, error) {
	d := decoder{b: b, flexible: s.flexible}
	out = d.structure(out, s.fields)
	return out, len(b) - len(d.b), d.err
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.b = nil
}

// take cuts n bytes off the front.
func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.b) {
		d.fail(errShort)
		return nil
	}
	taken := d.b[:n]
	d.b = d.b[n:]
	return taken
}

func (d *decoder) unsigned(size int) uint64 {
	b := d.take(size)
	if b == nil {
		return 0
	}
	var wide [8]byte
	copy(wide[8-size:], b)
	return binary.BigEndian.Uint64(wide[:])
}

// uvarint reads an unsigned number of seven bits a byte, the lowest first, of 32 bits at most.
func (d *decoder) uvarint() uint32 {
	u, n := binary.Uvarint(d.b)
	if n <= 0 || u > math.MaxUint32 {
		d.fail(errShort)
		return 0
	}
	d.b = d.b[n:]
	return uint32(u)
}

// structure appends an object. Tagged fields stand behind the others in the bytes and are printed where the table has them.
func (d *decoder) structure(out []byte, fields []field) []byte {
	var plain [64][]byte
	values := plain[:0]
	for _, f := range fields {
		if f.tag >= 0 {
			values = append(values, nil)
			continue
		}
		values = append(values, d.member(d.value(nil, f.typ), f))
	}
	if d.flexible {
		d.tagged(fields, values)
	}
	out = append(out, '{')
	comma := false
	for i, f := range fields {
		if values[i] == nil || f.tag >= 0 && string(values[i]) == f.unset {
			continue
		}
		if comma {
			out = append(out, ',')
		}
		comma = true
		out = append(out, '"')
		out = append(out, f.name...)
		out = append(out, '"', ':')
		out = append(out, values[i]...)
	}
	return append(out, '}')
}

// tag reads the value of a tagged field. Before a structure that may be null stands a byte, 0 for null.
func (d *decoder) tag(t fieldType) []byte {
	if t.kind != kindStruct || !t.nullable {
		return d.value(nil, t)
	}
	if d.uvarint() == 0 {
		return []byte("null")
	}
	return d.structure(nil, t.fields)
}

// member puts the consumer protocol's fields in the place of bytes, where members of a group of consumers say something in it.
func (d *decoder) member(value []byte, f field) []byte {
	switch {
	case !d.consumers && !d.states:
	case d.states && f.name == "transactionStatus":
		return stateName(value)
	case f.name == "protocolType" && string(value) != `"consumer"`:
		d.consumers = false
	case f.typ.kind == kindBytes && len(value) > 2 && value[0] == '"':
		raw, err := base64.StdEncoding.DecodeString(string(value[1 : len(value)-1]))
		if decoded, ok := consumerProtocol(f.name, raw); err == nil && ok {
			return decoded
		}
	}
	return value
}

// stateName is the name of a transaction's state as Kafka prints it.
func stateName(number []byte) []byte {
	names := [...]string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}
	n, err := strconv.Atoi(string(number))
	if err != nil || n < 0 || n >= len(names) {
		return number
	}
	return appendQuoted(nil, names[n])
}

// tagged reads the tagged fields into values; unknown ones are passed over, as Kafka's printing does.
func (d *decoder) tagged(fields []field, values [][]byte) {
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		tag, size := d.uvarint(), d.uvarint()
		inner := decoder{b: d.take(int(size)), flexible: true}
		for i, f := range fields {
			if f.tag == int(tag) && d.err == nil {
				values[i] = inner.tag(f.typ)
			}
		}
		if inner.err != nil {
			d.fail(inner.err)
		}
	}
}

// length reads the length of a string, bytes or an array; -1 for null.
func (d *decoder) length(k kind) int {
	switch {
	case d.flexible:
		return int(int64(d.uvarint()) - 1)
	case k == kindString:
		return int(int16(d.unsigned(2)))
	}
	return int(int32(d.unsigned(4)))
}

func (d *decoder) value(out []byte, t fieldType) []byte {
	switch t.kind {
	case kindBool:
		return strconv.AppendBool(out, d.unsigned(1) != 0)
	case kindInt8:
		return strconv.AppendInt(out, int64(int8(d.unsigned(1))), 10)
	case kindInt16:
		return strconv.AppendInt(out, int64(int16(d.unsigned(2))), 10)
	case kindUint16:
		return strconv.AppendInt(out, int64(d.unsigned(2)), 10)
	case kindInt32:
		return strconv.AppendInt(out, int64(int32(d.unsigned(4))), 10)
	case kindInt64:
		return strconv.AppendInt(out, int64(d.unsigned(8)), 10)
	case kindFloat64:
		return append(out, javaDouble(math.Float64frombits(d.unsigned(8)))...)
	case kindUUID:
		return appendQuoted(out, base64.RawURLEncoding.EncodeToString(d.take(16)))
	case kindStruct:
		if t.nullable && int8(d.unsigned(1)) < 0 {
			return append(out, "null"...)
		}
		return d.structure(out, t.fields)
	}
	n := d.length(t.kind)
	if n < 0 {
		if !t.nullable {
			d.fail(fmt.Errorf("null where none may be"))
		}
		return append(out, "null"...)
	}
	if n > len(d.b) {
		d.fail(errShort)
		return out
	}
	switch t.kind {
	case kindString:
		return appendQuoted(out, javaString(d.take(n)))
	case kindBytes:
		return appendBase64(out, d.take(n))
	}
	return d.array(out, n, *t.element)
}

func (d *decoder) array(out []byte, n int, element fieldType) []byte {
	out = append(out, '[')
	for i := 0; i < n && d.err == nil; i++ {
		if i > 0 {
			out = append(out, ',')
		}
		out = d.value(out, element)
	}
	return append(out, ']')
}
