package protocol

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fill sets every field of a kmsg message to something that is not its default,
// with up to elements entries in each array.
func fill(rnd *rand.Rand, v reflect.Value, elements int) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		fill(rnd, v.Elem(), elements)
	case reflect.Struct:
		if d := v.Addr().MethodByName("Default"); d.IsValid() {
			d.Call(nil)
		}
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; name != "Version" && name != "UnknownTags" {
				fill(rnd, v.Field(i), elements)
			}
		}
	case reflect.Slice:
		n := rnd.IntN(elements + 1)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(rnd, v.Index(i), elements)
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(rnd, v.Index(i), elements)
		}
	case reflect.String:
		v.SetString("abcdefghij"[:rnd.IntN(11)])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1 + rnd.Int64N(100))
	case reflect.Uint8, reflect.Uint16:
		v.SetUint(1 + rnd.Uint64N(100))
	case reflect.Float64:
		v.SetFloat(0.5)
	}
}

// filled is a request of random content.
func filled(rnd *rand.Rand, key, version int16, elements int) kmsg.Request {
	req := kmsg.RequestForKey(key)
	fill(rnd, reflect.ValueOf(req).Elem(), elements)
	req.SetVersion(version)
	return req
}

// frameOf is a whole request without its size.
func frameOf(req kmsg.Request, correlationID int32, clientID string) []byte {
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID))
	return format.AppendRequest(nil, req, correlationID)[sizeBytes:]
}

// headerOf is a request header with empty tags where flexible.
func headerOf(key, version int16, flexible bool) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = append(b, 0, 0, 0, 7, 0, 1, 'x')
	if flexible {
		b = append(b, 0)
	}
	return b
}

// least writes the shortest encodings that a shape allows: empty strings and
// arrays, null where possible, zero numbers.
type least struct {
	version  int16
	flexible bool
	tags     []byte // what each struct's tag section is
}

func (l least) length(dst []byte, n int) []byte {
	if l.flexible {
		return kbin.AppendUvarint(dst, uint32(n+1))
	}
	return kbin.AppendInt32(dst, int32(n))
}

func (l least) fields(dst []byte, fields []shapeField) []byte {
	for i := range fields {
		if f := &fields[i]; f.tag == noTag && f.in(l.version) {
			dst = l.field(dst, f)
		}
	}
	return dst
}

func (l least) field(dst []byte, f *shapeField) []byte {
	switch f.kind {
	case '{':
		return l.structure(dst, f.of)
	case '?':
		return l.structure(append(dst, 1), f.of)
	}
	return l.scalar(dst, f.kind)
}

func (l least) scalar(dst []byte, kind byte) []byte {
	switch kind {
	case 's', 'S':
		if !l.flexible {
			return append(dst, 0, 0)
		}
		return append(dst, 1)
	case 'y', 'Y', '[':
		return l.length(dst, 0)
	}
	return append(dst, make([]byte, fixedBytes(kind))...)
}

func (l least) structure(dst []byte, s *shape) []byte {
	dst = l.fields(dst, s.fields)
	if l.flexible {
		dst = append(dst, l.tags...)
	}
	return dst
}

// bombs are bodies of about size bytes, one per array that can be reached: the
// array is filled with the shortest elements there are.
func (l least) bombs(s *shape, size int) [][]byte {
	var all [][]byte
	for i := range s.fields {
		f := &s.fields[i]
		if f.tag != noTag || !f.in(l.version) {
			continue
		}
		before := l.fields(nil, s.fields[:i])
		after := l.fields(nil, s.fields[i+1:])
		if l.flexible {
			after = append(after, l.tags...)
		}
		for _, inner := range l.bombField(f, size) {
			all = append(all, append(append(append([]byte(nil), before...), inner...), after...))
		}
	}
	return all
}

func (l least) bombField(f *shapeField, size int) [][]byte {
	switch f.kind {
	case '{', '?':
		var all [][]byte
		for _, b := range l.bombs(f.of, size) {
			if f.kind == '?' {
				b = append([]byte{1}, b...)
			}
			all = append(all, b)
		}
		return all
	case '[':
		return l.bombArray(f, size)
	}
	return nil
}

func (l least) bombArray(f *shapeField, size int) [][]byte {
	var one []byte
	if f.of != nil {
		one = l.structure(nil, f.of)
	} else {
		one = l.scalar(nil, f.elem)
	}
	n := size / max(1, len(one))
	bomb := l.length(nil, n)
	for range n {
		bomb = append(bomb, one...)
	}
	all := [][]byte{bomb}
	if f.of != nil {
		for _, inner := range l.bombs(f.of, size) {
			all = append(all, append(l.length(nil, 1), inner...))
		}
	}
	return all
}
