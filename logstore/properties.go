package logstore

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// property is one entry of Java properties text.
type property struct {
	key, value string
	line       int // counted from 1
}

// parseProperties reads Java properties text: comments after # or !, keys cut
// off at =, : or white space, backslashes that escape or continue a line. A key
// given twice counts with its last value, which is the caller's to heed. An
// error is a *CorruptError with the line.
func parseProperties(path, text string) ([]property, error) {
	if !utf8.ValidString(text) {
		return nil, &CorruptError{File: path, Offset: -1, Err: fmt.Errorf("%w: not UTF-8", ErrMalformed)}
	}
	var props []property
	for line := 1; text != ""; line++ {
		first := line
		var s string
		s, text = cutLine(text)
		s = strings.TrimLeft(s, " \t\f")
		if s == "" || s[0] == '#' || s[0] == '!' {
			continue
		}
		for continues(s) && text != "" {
			var more string
			more, text = cutLine(text)
			s = s[:len(s)-1] + strings.TrimLeft(more, " \t\f")
			line++
		}
		key, value := cutProperty(s)
		p := property{line: first}
		var err error
		if p.key, err = unescapeProperty(key); err == nil {
			p.value, err = unescapeProperty(value)
		}
		if err != nil {
			return nil, &CorruptError{File: path, Offset: -1, Line: first, Err: err}
		}
		props = append(props, p)
	}
	return props, nil
}

// continues reports whether a line ends with an odd number of backslashes.
func continues(s string) bool {
	return (len(s)-len(strings.TrimRight(s, `\`)))%2 == 1
}

// cutProperty splits at the first separator that no backslash escapes.
func cutProperty(s string) (key, value string) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '=', ':':
			return s[:i], strings.TrimLeft(s[i+1:], " \t\f")
		case ' ', '\t', '\f':
			value = strings.TrimLeft(s[i:], " \t\f")
			if value != "" && (value[0] == '=' || value[0] == ':') {
				value = strings.TrimLeft(value[1:], " \t\f")
			}
			return s[:i], value
		}
	}
	return s, ""
}

func unescapeProperty(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			break
		}
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			if i+4 >= len(s) {
				return "", fmt.Errorf(`%w: \u without four digits`, ErrMalformed)
			}
			r, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return "", fmt.Errorf(`%w: \u%s`, ErrMalformed, s[i+1:i+5])
			}
			b.WriteRune(rune(r))
			i += 4
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}
