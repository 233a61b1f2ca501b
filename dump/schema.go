package dump

import (
	_ "embed" // for the table
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// schemaText has a line for each kind of record and range of versions, made from the message classes of Apache Kafka 4.4.0:
//
//	family id name versions [flexible] fields
//
// A field is name:type, in the order in which it is printed; name@tag:type=default is a tagged one, which is left out where it has
// its default. A ? behind the type allows null, [type] is an array, (fields) a structure. Flexible versions have compact lengths and
// tagged fields.
//
//go:embed schemas.txt
var schemaText string

// kind is what a field holds.
type kind int8

const (
	kindBool kind = iota
	kindInt8
	kindInt16
	kindUint16
	kindInt32
	kindInt64
	kindFloat64
	kindUUID
	kindString
	kindBytes
	kindArray
	kindStruct
)

// fieldType is a kind with what it is made of.
type fieldType struct {
	kind     kind
	nullable bool
	element  *fieldType // of an array
	fields   []field    // of a structure
}

// field is one field of a message or structure.
type field struct {
	name  string
	typ   fieldType
	tag   int    // -1: not tagged
	unset string // the JSON of a tagged field's default, "" when there is none to compare with
}

// schema is the layout of one message in one range of versions.
type schema struct {
	name        string
	first, last int16
	flexible    bool
	fields      []field
}

// schemaKey names the schemas of all versions of a message.
type schemaKey struct {
	family string
	id     int
}

// schemas is the table, read once, when something is to be decoded.
var schemas = sync.OnceValues(parseSchemas)

// schemaOf finds the layout of a message. ok is false for kinds and versions that Kafka 4.4.0 does not know.
func schemaOf(family string, id int, version int16) (s *schema, known bool, err error) {
	table, err := schemas()
	if err != nil {
		return nil, false, err
	}
	all := table[schemaKey{family, id}]
	for i := range all {
		if version >= all[i].first && version <= all[i].last {
			return &all[i], true, nil
		}
	}
	return nil, len(all) > 0, nil
}

func parseSchemas() (map[schemaKey][]schema, error) {
	table := map[schemaKey][]schema{}
	for line := range strings.Lines(schemaText) {
		key, s, err := parseSchema(strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("schema %q: %w", line, err)
		}
		table[key] = append(table[key], s)
	}
	return table, nil
}

func parseSchema(line string) (key schemaKey, s schema, err error) {
	words := strings.SplitN(line, " ", 5)
	if len(words) < 4 {
		return key, s, fmt.Errorf("%d words", len(words))
	}
	key.family, s.name = words[0], words[2]
	if key.id, err = strconv.Atoi(words[1]); err != nil {
		return key, s, err
	}
	first, last, several := strings.Cut(words[3], "-")
	if !several {
		last = first
	}
	low, lowErr := strconv.ParseInt(first, 10, 16)
	high, highErr := strconv.ParseInt(last, 10, 16)
	if lowErr != nil || highErr != nil {
		return key, s, fmt.Errorf("versions %q", words[3])
	}
	s.first, s.last = int16(low), int16(high)
	rest := strings.Join(words[4:], "")
	if after, ok := strings.CutPrefix(rest, "flexible"); ok {
		s.flexible, rest = true, strings.TrimPrefix(after, " ")
	}
	p := schemaParser{rest: rest}
	s.fields = p.fields()
	if p.rest != "" && p.err == nil {
		p.err = fmt.Errorf("%q is left", p.rest)
	}
	return key, s, p.err
}

// schemaParser reads fields from the front of a text.
type schemaParser struct {
	rest string
	err  error
}

func (p *schemaParser) fields() []field {
	var all []field
	for p.err == nil && p.rest != "" && p.rest[0] != ')' {
		all = append(all, p.field())
		p.rest = strings.TrimPrefix(p.rest, " ")
	}
	return all
}

func (p *schemaParser) field() field {
	f := field{tag: -1}
	name, rest, ok := strings.Cut(p.rest, ":")
	if !ok {
		p.err = fmt.Errorf("no field in %q", p.rest)
		return f
	}
	p.rest = rest
	f.name = name
	if plain, tag, tagged := strings.Cut(name, "@"); tagged {
		f.name = plain
		if f.tag, p.err = strconv.Atoi(tag); p.err != nil {
			return f
		}
	}
	f.typ = p.typ()
	if f.tag >= 0 {
		f.unset = p.unset(f.typ)
	}
	return f
}

func (p *schemaParser) typ() fieldType {
	var t fieldType
	switch {
	case strings.HasPrefix(p.rest, "["):
		p.rest = p.rest[1:]
		element := p.typ()
		t = fieldType{kind: kindArray, element: &element}
		p.expect("]")
	case strings.HasPrefix(p.rest, "("):
		p.rest = p.rest[1:]
		t = fieldType{kind: kindStruct, fields: p.fields()}
		p.expect(")")
	default:
		t.kind = p.kind()
	}
	if after, ok := strings.CutPrefix(p.rest, "?"); ok {
		t.nullable, p.rest = true, after
	}
	return t
}

func (p *schemaParser) kind() kind {
	names := [...]string{"boolean", "int8", "int16", "uint16", "int32", "int64", "float64", "uuid", "string", "bytes"}
	for k, name := range names {
		if after, ok := strings.CutPrefix(p.rest, name); ok {
			p.rest = after
			return kind(k)
		}
	}
	p.err = fmt.Errorf("no type in %q", p.rest)
	return 0
}

func (p *schemaParser) expect(s string) {
	after, ok := strings.CutPrefix(p.rest, s)
	if !ok && p.err == nil {
		p.err = fmt.Errorf("want %s at %q", s, p.rest)
	}
	p.rest = after
}

// unset reads =default and gives the JSON that it is printed as.
func (p *schemaParser) unset(t fieldType) string {
	p.expect("=")
	end := strings.IndexAny(p.rest, " )")
	if end < 0 {
		end = len(p.rest)
	}
	text := p.rest[:end]
	p.rest = p.rest[end:]
	switch {
	case text == "struct":
		return ""
	case text == "zero":
		return `"AAAAAAAAAAAAAAAAAAAAAA"`
	case text == "empty" && t.kind == kindArray:
		return "[]"
	case text == "empty":
		return `""`
	}
	return text
}
