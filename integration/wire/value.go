package wire

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Request bodies are written in a relaxed JSON: names and plain words need no
// quotes, commas are optional, and a single value may stand for a list of one.

type pair struct {
	name  string
	value any
}

type object []pair

func (o object) get(name string) (any, bool) {
	for _, p := range o {
		if p.name == name {
			return p.value, true
		}
	}
	return nil, false
}

type valueParser struct {
	text string
	pos  int
	err  error // the first; the text counts as read then
}

func (p *valueParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format+" in %q", append(args, p.text)...)
	}
	p.pos = len(p.text)
}

// parseValue reads one value: nil, string, []any or object.
func parseValue(text string) (any, error) {
	p := &valueParser{text: text}
	v := p.value()
	if p.space(); p.pos < len(p.text) {
		p.fail("text left at %d", p.pos)
	}
	return v, p.err
}

func (p *valueParser) space() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\n,", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

func (p *valueParser) peek() byte {
	p.space()
	if p.pos == len(p.text) {
		p.fail("value ends too early")
		return 0
	}
	return p.text[p.pos]
}

func (p *valueParser) value() any {
	switch p.peek() {
	case '{':
		p.pos++
		o := object{}
		for p.peek() != '}' && p.err == nil {
			name := p.word()
			if p.peek() != ':' {
				p.fail("no colon after %s", name)
			}
			p.pos = min(p.pos+1, len(p.text))
			o = append(o, pair{name, p.value()})
		}
		p.pos++
		return o
	case '[':
		p.pos++
		list := []any{}
		for p.peek() != ']' && p.err == nil {
			list = append(list, p.value())
		}
		p.pos++
		return list
	case '"':
		return p.quoted()
	}
	word := p.word()
	if word == "null" {
		return nil
	}
	if m := repeated.FindStringSubmatch(word); m != nil {
		n, _ := strconv.Atoi(m[2])
		return strings.Repeat(m[1], n)
	}
	return word
}

func (p *valueParser) quoted() string {
	end := p.pos + 1
	for end < len(p.text) && p.text[end] != '"' {
		if p.text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(p.text) {
		p.fail("open string")
		return ""
	}
	s, err := strconv.Unquote(p.text[p.pos : end+1])
	if err != nil {
		p.fail("%v", err)
		return ""
	}
	p.pos = end + 1
	return s
}

var repeated = regexp.MustCompile(`^(.)\^(\d+)$`)

func (p *valueParser) word() string {
	start := p.pos
	for p.pos < len(p.text) && strings.IndexByte(" \t\n,{}[]\"", p.text[p.pos]) < 0 {
		if p.text[p.pos] == ':' && !strings.HasSuffix(p.text[start:p.pos], "hex") {
			break
		}
		p.pos++
	}
	if p.pos == start {
		p.fail("no word at %d", start)
		return ""
	}
	return p.text[start:p.pos]
}

// fill sets a kmsg value from a parsed one.
func fill(dst reflect.Value, v any) error {
	switch dst.Kind() {
	case reflect.Pointer:
		if v == nil {
			dst.SetZero()
			return nil
		}
		dst.Set(reflect.New(dst.Type().Elem()))
		setDefaults(dst.Elem())
		return fill(dst.Elem(), v)
	case reflect.Struct:
		return fillStruct(dst, v)
	case reflect.Slice:
		return fillSlice(dst, v)
	}
	return fillPlain(dst, v)
}

func fillStruct(dst reflect.Value, v any) error {
	o, ok := v.(object)
	if !ok {
		return fmt.Errorf("want {...} for %s, have %v", dst.Type(), v)
	}
	for _, p := range o {
		field := dst.FieldByNameFunc(func(n string) bool { return strings.EqualFold(n, p.name) })
		if !field.IsValid() {
			return fmt.Errorf("%s has no field %s (has %s)", dst.Type(), p.name, fieldNames(dst.Type()))
		}
		if err := fill(field, p.value); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func fillSlice(dst reflect.Value, v any) error {
	if v == nil {
		dst.SetZero()
		return nil
	}
	if dst.Type().Elem().Kind() == reflect.Uint8 {
		b, err := toBytes(v)
		dst.SetBytes(b)
		return err
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	dst.Set(reflect.MakeSlice(dst.Type(), len(list), len(list)))
	for i, e := range list {
		setDefaults(dst.Index(i))
		if err := fill(dst.Index(i), e); err != nil {
			return err
		}
	}
	return nil
}

func fillPlain(dst reflect.Value, v any) error {
	s, ok := v.(string)
	if !ok {
		return fmt.Errorf("want a plain value, have %v", v)
	}
	switch dst.Kind() {
	case reflect.String:
		dst.SetString(s)
	case reflect.Bool:
		b, err := strconv.ParseBool(s)
		dst.SetBool(b)
		return err
	case reflect.Array:
		id, err := parseID(s)
		dst.Set(reflect.ValueOf(id))
		return err
	case reflect.Float64:
		f, err := strconv.ParseFloat(s, 64)
		dst.SetFloat(f)
		return err
	case reflect.Uint16:
		n, err := strconv.ParseUint(s, 10, 16)
		dst.SetUint(n)
		return err
	default:
		n, err := parseInt(s)
		dst.SetInt(n)
		return err
	}
	return nil
}

// parseInt reads a number; "now", "now+N" and "now-N" are the clock in milliseconds.
func parseInt(s string) (int64, error) {
	if rest, ok := strings.CutPrefix(s, "now"); ok {
		if rest == "" {
			rest = "0"
		}
		n, err := strconv.ParseInt(rest, 10, 64)
		return time.Now().UnixMilli() + n, err
	}
	return strconv.ParseInt(s, 10, 64)
}

// parseID reads a topic id in hex or in Kafka's base64 form.
func parseID(s string) (id [16]byte, err error) {
	var b []byte
	if len(s) == 32 {
		b, err = hex.DecodeString(s)
	} else {
		b, err = base64.RawURLEncoding.DecodeString(s)
	}
	if err == nil && len(b) != 16 {
		err = fmt.Errorf("id %q has not 16 bytes", s)
	}
	copy(id[:], b)
	return id, err
}

// toBytes builds a bytes field: text, hex:..., a record batch, a subscription, or several of these.
func toBytes(v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		if digits, ok := strings.CutPrefix(v, "hex:"); ok {
			return hex.DecodeString(digits)
		}
		return []byte(v), nil
	case []any:
		var all []byte
		for _, e := range v {
			b, err := toBytes(e)
			if err != nil {
				return nil, err
			}
			all = append(all, b...)
		}
		return all, nil
	case object:
		if topics, ok := v.get("subscribe"); ok {
			meta := kmsg.NewConsumerMemberMetadata()
			err := fill(reflect.ValueOf(&meta.Topics).Elem(), topics)
			return meta.AppendTo(nil), err
		}
		return buildBatch(v)
	}
	return nil, fmt.Errorf("cannot make bytes from %v", v)
}

func setDefaults(v reflect.Value) {
	if d, ok := v.Addr().Interface().(interface{ Default() }); ok {
		d.Default()
	}
}

func fieldNames(t reflect.Type) string {
	var names []string
	for i := range t.NumField() {
		names = append(names, t.Field(i).Name)
	}
	return strings.Join(names, " ")
}
