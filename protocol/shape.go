package protocol

import "fmt"

// A shape says how the body of a request lies on the wire, so that a frame can
// be measured before anything is decoded. Fields stand in wire order:
//
//	b h i l u  fixed size: 1 (bool, int8), 2, 4, 8 (int64, float64), 16 (uuid) bytes
//	s S        string, nullable string
//	y Y        bytes, nullable bytes
//	[x]        array of x, which is b h i l u s S or a struct; *[x] may be null
//	{...}      struct: its fields, then its tags when the version is flexible
//	?{...}     struct behind an int8: -1 is null
//	x@2        in versions from 2 on; x@2-5 in 2 to 5; x@-5 up to 5
//	x#0        inside the tags of its struct, under tag 0
//
// In flexible versions the lengths of strings, bytes and arrays are compact.
type shape struct {
	fields []shapeField
	// cells is at least the number of 8-byte words of the struct in memory.
	cells int
}

type shapeField struct {
	kind     byte // one of b h i l u s S y Y [ { ?
	nullable bool // of an array
	elem     byte // kind of an array's elements
	tag      int16
	min, max int16
	of       *shape // of a struct, or of an array's structs
}

const noTag = -1

// newShape reads the text of a shape. An error is a mistake in apiTable.
func newShape(text string) (*shape, error) {
	p := shapeParser{text: text}
	s := p.fields()
	if p.err == nil && p.pos != len(text) {
		p.fail("something behind the end")
	}
	return s, p.err
}

type shapeParser struct {
	text string
	pos  int
	err  error
}

func (p *shapeParser) fail(what string) {
	if p.err == nil {
		p.err = fmt.Errorf("shape %q, column %d: %s", p.text, p.pos, what)
	}
}

// next consumes c when it is the next character.
func (p *shapeParser) next(c byte) bool {
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *shapeParser) fields() *shape {
	s := &shape{cells: 1} // the map of unknown tags
	for p.err == nil && p.pos < len(p.text) && p.text[p.pos] != '}' {
		f := p.field()
		s.fields = append(s.fields, f)
		s.cells += f.cells()
		if !p.next(' ') {
			break
		}
	}
	return s
}

func (p *shapeParser) field() shapeField {
	f := shapeField{tag: noTag, max: never}
	f.nullable = p.next('*')
	if p.pos >= len(p.text) {
		p.fail("a field is missing")
		return f
	}
	f.kind = p.text[p.pos]
	p.pos++
	switch f.kind {
	case 'b', 'h', 'i', 'l', 'u', 's', 'S', 'y', 'Y':
	case '{':
		f.of = p.rest()
	case '?':
		if !p.next('{') {
			p.fail("a struct is missing after ?")
		}
		f.of = p.rest()
	case '[':
		p.element(&f)
	default:
		p.fail("unknown kind")
	}
	if p.next('@') {
		p.versions(&f)
	}
	if p.next('#') {
		f.tag = p.number()
	}
	return f
}

// rest reads a struct behind its opening brace.
func (p *shapeParser) rest() *shape {
	s := p.fields()
	if !p.next('}') {
		p.fail("} is missing")
	}
	return s
}

func (p *shapeParser) element(f *shapeField) {
	if p.pos >= len(p.text) {
		p.fail("an element is missing")
		return
	}
	f.elem = p.text[p.pos]
	p.pos++
	switch f.elem {
	case '{':
		f.of = p.rest()
	case 'b', 'h', 'i', 'l', 'u', 's', 'S':
	default:
		p.fail("unknown kind of element")
	}
	if !p.next(']') {
		p.fail("] is missing")
	}
}

func (p *shapeParser) versions(f *shapeField) {
	if p.next('-') {
		f.max = p.number()
		return
	}
	f.min = p.number()
	if p.next('-') {
		f.max = p.number()
	}
}

func (p *shapeParser) number() int16 {
	start, n := p.pos, int16(0)
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		n = n*10 + int16(p.text[p.pos]-'0')
		p.pos++
	}
	if p.pos == start {
		p.fail("a number is missing")
	}
	return n
}

// cells is at least the number of 8-byte words that the field takes in the
// struct that kmsg decodes into, without what it points to.
func (f *shapeField) cells() int {
	switch f.kind {
	case 'u', 's':
		return 2
	case 'y', 'Y', '[':
		return 3
	case '{':
		return f.of.cells
	}
	return 1 // numbers, and pointers to strings and structs
}

// fixedBytes is the wire size of a kind, or 0 when it varies.
func fixedBytes(kind byte) int {
	switch kind {
	case 'b':
		return 1
	case 'h':
		return 2
	case 'i':
		return 4
	case 'l':
		return 8
	case 'u':
		return 16
	}
	return 0
}
