package config

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"unicode/utf16"
)

// Property is one setting as it was given, with the place where it stands.
type Property struct {
	Key    string
	Value  string
	Source string // "server.properties:12", "--override"
}

// maxFileBytes bounds a properties file; a real one has a few KiB.
const maxFileBytes = 4 << 20

// ReadFile reads a Java properties file. Like Kafka it takes the bytes for ISO 8859-1, expands nothing, and gives a key that
// stands twice its last value.
func ReadFile(path string) ([]Property, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the properties file: %w", err)
	}
	if info.Size() > maxFileBytes {
		return nil, fmt.Errorf("read the properties file: %s has %d bytes, more than %d: this cannot be one", path, info.Size(), maxFileBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the properties file: %w", err)
	}
	return parseProperties(path, data)
}

// parseProperties reads what java.util.Properties does, and remembers the lines. It is our own because the library for it brings
// a whole HTTP client into the binary and does not tell on which line a key stands; in tests it is the judge.
//
//	logical line  = natural lines, each but the last ending in an odd number of backslashes; white space at their beginnings
//	                does not count; a line that begins with # or ! is a comment, also one that ends in a backslash
//	key           = up to the first =, : or white space that no backslash stands before
//	value         = the rest, after white space with at most one = or : in it
//	escapes       = \t \n \r \f, \uxxxx for a UTF-16 unit; before any other character the backslash is dropped
func parseProperties(file string, data []byte) ([]Property, error) {
	var props []Property
	at := map[string]int{}
	for _, line := range logicalLines(data) {
		prop, err := line.property(file + ":" + strconv.Itoa(line.number))
		if err != nil {
			return nil, err
		}
		if i, twice := at[prop.Key]; twice {
			props[i] = prop
			continue
		}
		at[prop.Key] = len(props)
		props = append(props, prop)
	}
	return props, nil
}

// logicalLine is a key with its value, continuation lines included, and the number of its first line, from 1.
type logicalLine struct {
	number int
	text   []byte
}

const blanks = " \t\f"

// malformedEscape is Java's text.
const malformedEscape = `Malformed \uxxxx encoding.`

// property takes a line apart.
func (l *logicalLine) property(source string) (Property, error) {
	end := keyEnd(l.text)
	rest := bytes.TrimLeft(l.text[end:], blanks)
	if len(rest) > 0 && (rest[0] == '=' || rest[0] == ':') {
		rest = bytes.TrimLeft(rest[1:], blanks)
	}
	key, keyOK := unescape(l.text[:end])
	value, valueOK := unescape(rest)
	if !keyOK || !valueOK {
		return Property{}, &Error{Source: source, Text: malformedEscape, Kind: ErrInvalidConfig}
	}
	return Property{Key: key, Value: value, Source: source}, nil
}

// keyEnd finds where the key ends.
func keyEnd(line []byte) int {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++ // whatever follows belongs to the key
		case '=', ':', ' ', '\t', '\f':
			return i
		}
	}
	return len(line)
}

// unescape takes the bytes for ISO 8859-1; false when a \u has not four hexadecimal digits.
func unescape(b []byte) (string, bool) {
	units := make([]uint16, 0, len(b))
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c != '\\' || i+1 == len(b) {
			units = append(units, uint16(c))
			continue
		}
		i++
		switch b[i] {
		case 't':
			c = '\t'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 'f':
			c = '\f'
		case 'u':
			if i+4 >= len(b) {
				return "", false
			}
			n, err := strconv.ParseUint(string(b[i+1:i+5]), 16, 16)
			if err != nil {
				return "", false
			}
			units = append(units, uint16(n))
			i += 4
			continue
		default:
			c = b[i]
		}
		units = append(units, uint16(c))
	}
	return string(utf16.Decode(units)), true
}

// logicalLines leaves out comments and blank lines.
func logicalLines(data []byte) []logicalLine {
	var lines []logicalLine
	number := 0
	for len(data) > 0 {
		var line []byte
		line, data = cutLine(data)
		number++
		first := bytes.TrimLeft(line, blanks)
		if len(first) == 0 || first[0] == '#' || first[0] == '!' {
			continue
		}
		l := logicalLine{number: number, text: first}
		for continues(l.text) {
			l.text = l.text[: len(l.text)-1 : len(l.text)-1]
			if len(data) == 0 {
				lines = append(lines, l) // Java makes even nothing before the end a key
				return lines
			}
			if len(l.text) == 0 {
				break // nothing has come yet, so the next line begins anew
			}
			line, data = cutLine(data)
			number++
			l.text = append(l.text, bytes.TrimLeft(line, blanks)...)
		}
		if len(l.text) > 0 {
			lines = append(lines, l)
		}
	}
	return lines
}

// cutLine takes the first natural line off: \n, \r\n and \r alone end one.
func cutLine(data []byte) (line, rest []byte) {
	i := bytes.IndexAny(data, "\r\n")
	if i < 0 {
		return data, nil
	}
	line, rest = data[:i], data[i+1:]
	if data[i] == '\r' && len(rest) > 0 && rest[0] == '\n' {
		rest = rest[1:]
	}
	return line, rest
}

func continues(line []byte) bool {
	backslashes := len(line) - len(bytes.TrimRight(line, `\`))
	return backslashes%2 == 1
}
