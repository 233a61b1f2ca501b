package config

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/magiconair/properties"
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

// parseProperties cuts the file into logical lines itself, because the library does not tell on which line a key stands,
// and leaves what a line means to the library.
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

// property takes a line apart. Java lets a key be empty, the library does not, so it is given one for the moment.
func (l *logicalLine) property(source string) (Property, error) {
	prop := Property{Source: source}
	text := l.text
	emptyKey := len(text) == 0 || text[0] == '=' || text[0] == ':'
	if emptyKey {
		text = append([]byte("x"), text...)
	}
	loader := properties.Loader{Encoding: properties.ISO_8859_1, DisableExpansion: true}
	p, err := loader.LoadBytes(text)
	if err != nil {
		return prop, &Error{Source: source, Text: "not a line of a Java properties file: " + err.Error(), Kind: ErrInvalidConfig}
	}
	for _, key := range p.Keys() { // one
		prop.Key = key
		prop.Value, _ = p.Get(key)
	}
	if emptyKey {
		prop.Key = ""
	}
	return prop, nil
}

// logicalLines leaves out comments and blank lines. A line that ends in an odd number of backslashes goes on in the next one.
func logicalLines(data []byte) []logicalLine {
	var lines []logicalLine
	number := 0
	for len(data) > 0 {
		var line []byte
		line, data = cutLine(data)
		number++
		first := bytes.TrimLeft(line, " \t\f")
		if len(first) == 0 || first[0] == '#' || first[0] == '!' {
			continue
		}
		l := logicalLine{number: number, text: first}
		for continues(l.text) {
			l.text = l.text[: len(l.text)-1 : len(l.text)-1]
			if len(data) == 0 {
				break
			}
			line, data = cutLine(data)
			number++
			l.text = append(l.text, bytes.TrimLeft(line, " \t\f")...)
		}
		lines = append(lines, l)
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
