package metadata

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"minibroker/logstore"
)

// coder reads or writes fields in Kafka's flexible encoding. Each message
// lists its fields once, in a method code(*coder) that serves both directions.
//
//	bool, int8      1 byte
//	int16, uint16   2 bytes, big-endian; int32 4, int64 8, float64 8 (IEEE 754)
//	uuid            16 bytes
//	string, bytes   uvarint length+1, then the bytes; 0 is null
//	array           uvarint count+1, then the elements; 0 is null
//	tags            uvarint count, then per field in ascending order:
//	                uvarint tag, uvarint size, the field in the encodings above
//
// Every struct ends with its tags, elements of arrays too. After the first
// error all methods do nothing.
type coder struct {
	version int16
	writing bool
	buf     []byte // writing: what was written; reading: what is left
	err     error
}

// Tag is a tagged field that this program does not know. It is kept so that a
// record can be written as it was read.
type Tag struct {
	Number uint32
	Data   []byte
}

// tagged is a struct with tagged fields that this program knows.
type tagged interface {
	// present has bit n set for each known tag n, below 32, that the version
	// has and that differs from its default, so that it must be written.
	present(version int16) uint32
	// tag codes the field of a number; false if no field has it.
	tag(c *coder, number uint32) bool
}

// bit is the bit of a tag that is present.
func bit(number uint32, present bool) uint32 {
	if !present {
		return 0
	}
	return 1 << number
}

// fail notes the first error.
func (c *coder) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
	}
}

// take cuts n bytes off the input.
func (c *coder) take(n uint64) []byte {
	if c.err == nil && n > uint64(len(c.buf)) {
		c.fail("%d bytes wanted, %d left", n, len(c.buf))
	}
	if c.err != nil {
		return nil
	}
	b := c.buf[:n:n]
	c.buf = c.buf[n:]
	return b
}

func (c *coder) uvarint(v *uint64) {
	switch {
	case c.writing:
		c.buf = binary.AppendUvarint(c.buf, *v)
	case c.err == nil:
		got, n := binary.Uvarint(c.buf)
		if n <= 0 || got > math.MaxUint32 {
			c.fail("no varint of 32 bits")
			return
		}
		*v, c.buf = got, c.buf[n:]
	}
}

func (c *coder) int8(v *int8) {
	if c.writing {
		c.buf = append(c.buf, byte(*v))
	} else if b := c.take(1); b != nil {
		*v = int8(b[0])
	}
}

func (c *coder) boolean(v *bool) {
	if c.writing {
		c.buf = append(c.buf, 0)
		if *v {
			c.buf[len(c.buf)-1] = 1
		}
	} else if b := c.take(1); b != nil {
		*v = b[0] != 0
	}
}

func (c *coder) uint16(v *uint16) {
	if c.writing {
		c.buf = binary.BigEndian.AppendUint16(c.buf, *v)
	} else if b := c.take(2); b != nil {
		*v = binary.BigEndian.Uint16(b)
	}
}

func (c *coder) int16(v *int16) {
	u := uint16(*v)
	c.uint16(&u)
	if !c.writing { // what is written may be shared
		*v = int16(u)
	}
}

func (c *coder) int32(v *int32) {
	if c.writing {
		c.buf = binary.BigEndian.AppendUint32(c.buf, uint32(*v))
	} else if b := c.take(4); b != nil {
		*v = int32(binary.BigEndian.Uint32(b))
	}
}

func (c *coder) int64(v *int64) {
	if c.writing {
		c.buf = binary.BigEndian.AppendUint64(c.buf, uint64(*v))
	} else if b := c.take(8); b != nil {
		*v = int64(binary.BigEndian.Uint64(b))
	}
}

func (c *coder) float64(v *float64) {
	bits := int64(math.Float64bits(*v))
	c.int64(&bits)
	if !c.writing {
		*v = math.Float64frombits(uint64(bits))
	}
}

func (c *coder) uuid(v *logstore.UUID) {
	if c.writing {
		c.buf = append(c.buf, v[:]...)
	} else if b := c.take(16); b != nil {
		*v = logstore.UUID(b)
	}
}

// length codes a compact length: n+1, or 0 for null. Each element takes at
// least minSize bytes, so that a length that the input cannot hold is found
// before memory is taken. It returns -1 for null.
func (c *coder) length(n int, null, nullable bool, minSize int) int {
	v := uint64(n) + 1
	if null {
		v = 0
	}
	c.uvarint(&v)
	if c.writing || c.err != nil {
		return n
	}
	if v == 0 {
		if !nullable {
			c.fail("null where a value must be")
		}
		return -1
	}
	if v-1 > uint64(len(c.buf)/minSize) {
		c.fail("length %d, %d bytes left", v-1, len(c.buf))
		return -1
	}
	return int(v - 1)
}

func (c *coder) string(v *string) {
	n := c.length(len(*v), false, false, 1)
	if c.writing {
		c.buf = append(c.buf, *v...)
	} else if n >= 0 {
		*v = string(c.take(uint64(n)))
	}
}

func (c *coder) nullableString(v **string) {
	s := ""
	if *v != nil {
		s = **v
	}
	n := c.length(len(s), *v == nil, true, 1)
	switch {
	case c.writing:
		c.buf = append(c.buf, s...)
	case n < 0:
		*v = nil
	default:
		s = string(c.take(uint64(n)))
		*v = &s
	}
}

func (c *coder) bytes(v *[]byte) {
	n := c.length(len(*v), false, false, 1)
	if c.writing {
		c.buf = append(c.buf, *v...)
	} else if n >= 0 {
		*v = slices.Clone(c.take(uint64(n)))
	}
}

// array codes a list. A list that was not null is not nil after reading, even
// if it is empty.
func array[T any](c *coder, list *[]T, nullable bool, minSize int, element func(*coder, *T)) {
	n := c.length(len(*list), nullable && *list == nil, nullable, minSize)
	if !c.writing {
		*list = nil
		if c.err != nil || n < 0 {
			return
		}
		*list = make([]T, n)
	}
	for i := range *list {
		element(c, &(*list)[i])
		if c.err != nil {
			return
		}
	}
}

func (c *coder) int32s(v *[]int32)         { array(c, v, false, 4, (*coder).int32) }
func (c *coder) nullableInt32s(v *[]int32) { array(c, v, true, 4, (*coder).int32) }
func (c *coder) strings(v *[]string)       { array(c, v, false, 1, (*coder).string) }

func (c *coder) uuids(v *[]logstore.UUID)         { array(c, v, false, 16, (*coder).uuid) }
func (c *coder) nullableUUIDs(v *[]logstore.UUID) { array(c, v, true, 16, (*coder).uuid) }

// tags codes the end of a struct without known tagged fields.
func (c *coder) tags(unknown *[]Tag) { c.tagged(unknown, nil) }

// tagged codes the end of a struct.
func (c *coder) tagged(unknown *[]Tag, t tagged) {
	if c.writing {
		c.writeTags(*unknown, t)
	} else {
		c.readTags(unknown, t)
	}
}

func (c *coder) readTags(unknown *[]Tag, t tagged) {
	var count uint64
	c.uvarint(&count)
	last := int64(-1)
	for ; count > 0 && c.err == nil; count-- {
		var number, size uint64
		c.uvarint(&number)
		c.uvarint(&size)
		data := c.take(size)
		if c.err != nil {
			return
		}
		if int64(number) <= last {
			c.fail("tag %d after tag %d", number, last)
			return
		}
		last = int64(number)
		rest := c.buf
		c.buf = data
		if t == nil || !t.tag(c, uint32(number)) {
			*unknown = append(*unknown, Tag{Number: uint32(number), Data: slices.Clone(data)})
			c.buf = nil
		}
		if c.err == nil && len(c.buf) > 0 {
			c.fail("tag %d has %d bytes too many", number, len(c.buf))
		}
		c.buf = rest
	}
}

// writeTags writes the known fields that are present and the unknown ones in
// one ascending order.
func (c *coder) writeTags(unknown []Tag, t tagged) {
	known := uint32(0)
	if t != nil {
		known = t.present(c.version)
	}
	c.buf = binary.AppendUvarint(c.buf, uint64(bits.OnesCount32(known)+len(unknown)))
	for known != 0 || len(unknown) > 0 {
		number := uint32(bits.TrailingZeros32(known)) // 32 when none is left
		if len(unknown) > 0 && (known == 0 || unknown[0].Number < number) {
			c.buf = binary.AppendUvarint(c.buf, uint64(unknown[0].Number))
			c.buf = binary.AppendUvarint(c.buf, uint64(len(unknown[0].Data)))
			c.buf = append(c.buf, unknown[0].Data...)
			unknown = unknown[1:]
			continue
		}
		known &^= 1 << number
		c.buf = binary.AppendUvarint(c.buf, uint64(number))
		c.sized(func() { t.tag(c, number) })
	}
}

// sized writes something behind its size.
func (c *coder) sized(write func()) {
	start := len(c.buf)
	write()
	var size [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(size[:], uint64(len(c.buf)-start))
	c.buf = slices.Insert(c.buf, start, size[:n]...)
}

// end fails if input is left.
func (c *coder) end() {
	if c.err == nil && !c.writing && len(c.buf) > 0 {
		c.fail("%d bytes too many", len(c.buf))
	}
}
