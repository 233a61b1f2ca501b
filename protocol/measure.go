package protocol

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
)

// MaxDecodedBytes bounds what the strings, arrays and structs of one request
// may take in memory beside its frame; bulk bytes such as record batches stay in
// the frame and do not count. It is enough for some 500,000 partitions in one
// Fetch or OffsetCommit. kmsg by itself can be made to take more than fifty
// times the frame, so that an unbounded 100 MiB frame would take gigabytes.
const MaxDecodedBytes = 64 << 20

// The reasons why a body is refused.
var (
	// ErrTruncated: a field or an array claims more bytes than there are.
	ErrTruncated = errors.New("the body is cut short")
	// ErrNull: null where the protocol does not allow it.
	ErrNull = errors.New("null in a field that cannot be null")
	// ErrLongString: a string is longer than maxString.
	ErrLongString = fmt.Errorf("a string of more than %d bytes", maxString)
	// ErrTooManyElements: the decoded request would exceed MaxDecodedBytes.
	ErrTooManyElements = fmt.Errorf("the decoded request would take more than %d MiB", MaxDecodedBytes>>20)
)

// What decoding costs beside the cells of a struct; upper bounds, measured.
const (
	cellBytes      = 8
	stringOverhead = 16  // rounding up to a size class
	tagSetBytes    = 400 // a map of unknown tags
	tagBytes       = 160 // each entry, with the growth of the map
)

// meter walks over a body by its shape and adds up what decoding it will cost,
// without allocating. It reads lengths as kmsg does, and refuses what Kafka
// refuses although kmsg would take it: null arrays and bytes where null is not
// allowed. Bytes behind the end are ignored.
type meter struct {
	kbin.Reader
	version  int16
	flexible bool
	cost     int
	err      error
}

// measure returns the upper bound of what decoding body costs, or why it must
// not be decoded. With a flexible version, body begins behind the header's tags.
func measure(body []byte, s *shape, version int16, flexible bool) (int, error) {
	m := meter{Reader: kbin.Reader{Src: body}, version: version, flexible: flexible}
	m.fields(s)
	if m.err == nil && !m.Ok() {
		m.err = ErrTruncated
	}
	return m.cost, m.err
}

// fail keeps the first reason; running out of bytes explains all that comes
// after it.
func (m *meter) fail(err error) {
	if !m.Ok() {
		err = ErrTruncated
	}
	if m.err == nil {
		m.err = err
	}
}

// pay adds to the cost; false means that walking on is pointless.
func (m *meter) pay(n int) bool {
	m.cost += n
	if m.cost > MaxDecodedBytes {
		m.fail(ErrTooManyElements)
	}
	if !m.Ok() {
		m.fail(ErrTruncated)
	}
	return m.err == nil
}

func (m *meter) fields(s *shape) {
	for i := range s.fields {
		f := &s.fields[i]
		if f.tag == noTag && f.in(m.version) {
			m.field(f)
		}
		if m.err != nil {
			return
		}
	}
	if m.flexible {
		m.tags(s)
	}
}

func (f *shapeField) in(version int16) bool { return f.min <= version && version <= f.max }

func (m *meter) field(f *shapeField) {
	switch f.kind {
	case '[':
		m.array(f)
	case '{':
		m.fields(f.of)
	case '?':
		if m.Int8() != -1 && m.pay(f.of.cells*cellBytes) {
			m.fields(f.of)
		}
	default:
		m.scalar(f.kind)
	}
}

func (m *meter) scalar(kind byte) {
	switch kind {
	case 's', 'S':
		n := m.stringLength()
		if n < 0 && kind == 's' {
			m.fail(ErrNull)
		}
		if n < 0 {
			return
		}
		m.Span(n)
		m.pay(n + stringOverhead)
		if kind == 'S' {
			m.pay(2 * cellBytes) // what the pointer points to
		}
	case 'y', 'Y':
		n := m.length()
		if n < 0 && kind == 'y' {
			m.fail(ErrNull)
		}
		if n >= 0 {
			m.Span(n)
		}
	default:
		m.Span(fixedBytes(kind))
	}
}

// maxString is the longest string that Kafka reads, in bytes. The lengths of
// flexible versions could hold more.
const maxString = 1<<15 - 1

// stringLength is a string's length; below 0 is null.
func (m *meter) stringLength() int {
	if !m.flexible {
		return int(m.Int16())
	}
	n := m.length()
	if n > maxString {
		m.fail(ErrLongString)
	}
	return n
}

// length is that of bytes or of an array; below 0 is null.
func (m *meter) length() int {
	if m.flexible {
		return int(int32(m.Uvarint()) - 1)
	}
	return int(m.Int32())
}

func (m *meter) array(f *shapeField) {
	n := m.length()
	if n < 0 && !f.nullable {
		m.fail(ErrNull)
	}
	if n <= 0 {
		return
	}
	// No element is shorter than a byte; what follows finds out the rest.
	if n > len(m.Src) {
		m.fail(ErrTruncated)
		return
	}
	if size := fixedBytes(f.elem); size > 0 {
		m.Span(n * size)
		m.pay(n * size)
		return
	}
	cells := 2 // a string, or more than a pointer to one
	if f.of != nil {
		cells = f.of.cells
	}
	if !m.pay(n * cells * cellBytes) {
		return
	}
	for range n {
		if f.of != nil {
			m.fields(f.of)
		} else {
			m.scalar(f.elem)
		}
		if m.err != nil || !m.Ok() {
			return
		}
	}
}

// tags walks over the tags of a struct: known ones by their shape, within the
// bytes that the tag claims; unknown ones become entries of a map.
func (m *meter) tags(s *shape) {
	unknown := 0
	for n := m.Uvarint(); n > 0 && m.Ok(); n-- {
		tag := m.Uvarint()
		value := m.Span(int(m.Uvarint()))
		if f := s.tagged(tag, m.version); f != nil {
			m.within(value, f)
		} else if unknown++; unknown == 1 {
			m.pay(tagSetBytes)
		} else {
			m.pay(tagBytes)
		}
		if m.err != nil {
			return
		}
	}
}

// tagged finds the field of a known tag.
func (s *shape) tagged(tag uint32, version int16) *shapeField {
	for i := range s.fields {
		f := &s.fields[i]
		if f.tag != noTag && uint32(f.tag) == tag && f.in(version) {
			return f
		}
	}
	return nil
}

func (m *meter) within(value []byte, f *shapeField) {
	rest := m.Reader
	m.Reader = kbin.Reader{Src: value}
	m.field(f)
	if !m.Ok() {
		m.fail(ErrTruncated)
	}
	m.Reader = rest
}
