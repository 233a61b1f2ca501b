package dump

import "strconv"

// line is one line of output: in text "name: value name: value", in JSON an object.
type line struct {
	json bool
	b    []byte
	bare bool // nothing has been written since the beginning
}

// begin starts a line. In JSON it says what the line is about.
func (l *line) begin(file, kind string) {
	l.b, l.bare = l.b[:0], true
	if l.json {
		l.b = append(l.b, `{"file":`...)
		l.b = appendQuoted(l.b, file)
		l.b = append(l.b, `,"type":"`...)
		l.b = append(l.b, kind...)
		l.b = append(l.b, '"')
		l.bare = false
	}
}

// mark puts text in front of a line of text.
func (l *line) mark(s string) {
	if !l.json {
		l.b = append(l.b, s...)
	}
}

// name begins a field.
func (l *line) name(s string) {
	if l.json {
		l.b = append(l.b, ',')
		l.b = appendQuoted(l.b, s)
		l.b = append(l.b, ':')
		return
	}
	if !l.bare {
		l.b = append(l.b, ' ')
	}
	l.bare = false
	l.b = append(l.b, s...)
	l.b = append(l.b, ':', ' ')
}

func (l *line) num(name string, n int64) {
	l.name(name)
	l.b = strconv.AppendInt(l.b, n, 10)
}

func (l *line) truth(name string, v bool) {
	l.name(name)
	l.b = strconv.AppendBool(l.b, v)
}

// text adds a string, quoted in JSON only.
func (l *line) text(name, s string) {
	l.name(name)
	if l.json {
		l.b = appendQuoted(l.b, s)
		return
	}
	l.b = append(l.b, s...)
}

// raw adds JSON as it is.
func (l *line) raw(name string, value []byte) {
	l.name(name)
	l.b = append(l.b, value...)
}

// optional adds a number that may be missing, as Java prints an OptionalLong.
func (l *line) optional(name string, n int64, there bool) {
	l.name(name)
	switch {
	case l.json && there:
		l.b = strconv.AppendInt(l.b, n, 10)
	case l.json:
		l.b = append(l.b, "null"...)
	case there:
		l.b = append(l.b, "OptionalLong["...)
		l.b = strconv.AppendInt(l.b, n, 10)
		l.b = append(l.b, ']')
	default:
		l.b = append(l.b, "OptionalLong.empty"...)
	}
}

// end closes the line.
func (l *line) end() []byte {
	if l.json {
		l.b = append(l.b, '}')
	}
	l.b = append(l.b, '\n')
	return l.b
}
