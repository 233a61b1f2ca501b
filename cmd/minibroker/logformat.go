package main

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"
)

// kafkaHandler writes log records as lines of Kafka's layout:
//
//	[2026-01-01 12:00:00,000] INFO text (logger)
//
// The attribute "logger" names the logger; other attributes follow the text as key=value. Control characters are escaped,
// so that nothing a client sends can end a line or begin another.
type kafkaHandler struct {
	levels *loggers
	logger string // from WithAttrs
	prefix string // groups, each with a dot behind it
	attrs  string // from WithAttrs, as they are written
	out    *lineWriter
}

// lineWriter writes whole lines, one at a time.
type lineWriter struct {
	buffers sync.Pool              // of *[]byte: a start with many partitions writes thousands of lines
	second  atomic.Pointer[second] // of the newest line

	mu sync.Mutex
	w  io.Writer
}

// largestBuffer is the capacity up to which a line's buffer is used again.
const largestBuffer = 4 << 10

const (
	loggerKey     = "logger"
	defaultLogger = "minibroker"
	secondLayout  = "2006-01-02 15:04:05"
)

func newKafkaHandler(w io.Writer, levels *loggers) *kafkaHandler {
	return &kafkaHandler{levels: levels, logger: defaultLogger, out: &lineWriter{w: w}}
}

// Enabled implements slog.Handler.
func (h *kafkaHandler) Enabled(_ context.Context, level slog.Level) bool {
	return h.levels.enabled(level)
}

// Handle implements slog.Handler.
func (h *kafkaHandler) Handle(_ context.Context, r slog.Record) error {
	when := r.Time
	if when.IsZero() {
		when = time.Now()
	}
	buf, _ := h.out.buffers.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	line := append((*buf)[:0], '[')
	line = h.out.appendTime(line, when)
	line = append(line, "] "...)
	line = append(line, levelName(r.Level)...)
	line = append(line, ' ')
	line = appendEscaped(line, r.Message)
	line = append(line, h.attrs...)
	logger := h.logger
	r.Attrs(func(a slog.Attr) bool {
		line, logger = appendAttr(line, h.prefix, a, logger)
		return true
	})
	var err error
	if h.levels.lets(logger, r.Level) {
		line = append(line, " ("...)
		line = appendEscaped(line, logger)
		line = append(line, ")\n"...)
		err = h.out.write(line)
	}
	if cap(line) <= largestBuffer {
		*buf = line
		h.out.buffers.Put(buf)
	}
	return err
}

// second is how the time of lines begins that come within one second.
type second struct {
	unix int64
	zone *time.Location
	text string // as secondLayout
}

// appendTime writes a time to the millisecond. What stands before those is worked out once a second.
func (o *lineWriter) appendTime(line []byte, when time.Time) []byte {
	s := o.second.Load()
	if s == nil || s.unix != when.Unix() || s.zone != when.Location() {
		s = &second{when.Unix(), when.Location(), when.Format(secondLayout)}
		o.second.Store(s)
	}
	ms := when.Nanosecond() / int(time.Millisecond)
	line = append(line, s.text...)
	return append(line, ',', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
}

func (o *lineWriter) write(line []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := o.w.Write(line)
	return err
}

// WithAttrs implements slog.Handler.
func (h *kafkaHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	text := []byte(h.attrs)
	for _, a := range attrs {
		text, next.logger = appendAttr(text, h.prefix, a, next.logger)
	}
	next.attrs = string(text)
	return &next
}

// WithGroup implements slog.Handler.
func (h *kafkaHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := *h
	next.prefix += name + "."
	return &next
}

// appendAttr adds " key=value", or takes the logger's name if that is what the attribute is.
func appendAttr(line []byte, prefix string, a slog.Attr, logger string) ([]byte, string) {
	a.Value = a.Value.Resolve()
	switch {
	case a.Equal(slog.Attr{}):
		return line, logger
	case a.Value.Kind() == slog.KindGroup:
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range a.Value.Group() {
			line, logger = appendAttr(line, prefix, inner, logger)
		}
		return line, logger
	case a.Key == loggerKey && prefix == "":
		return line, a.Value.String()
	}
	line = append(line, ' ')
	line = appendEscaped(line, prefix)
	line = appendEscaped(line, a.Key)
	line = append(line, '=')
	return appendEscaped(line, a.Value.String()), logger
}

func levelName(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "ERROR"
	case l >= slog.LevelWarn:
		return "WARN"
	case l >= slog.LevelInfo:
		return "INFO"
	case l >= slog.LevelDebug:
		return "DEBUG"
	}
	return "TRACE"
}

// escape writes control characters as Go does in strings.
func escape(s string) string { return string(appendEscaped(nil, s)) }

// appendEscaped adds text with its control characters written as Go does in strings.
func appendEscaped(line []byte, s string) []byte {
	if plain(s) || strings.IndexFunc(s, unicode.IsControl) < 0 {
		return append(line, s...)
	}
	for _, r := range s {
		if !unicode.IsControl(r) {
			line = utf8.AppendRune(line, r)
			continue
		}
		switch r {
		case '\n':
			line = append(line, `\n`...)
		case '\r':
			line = append(line, `\r`...)
		case '\t':
			line = append(line, `\t`...)
		default:
			const hex = "0123456789abcdef"
			line = append(line, '\\', 'x', hex[r>>4&15], hex[r&15])
		}
	}
	return line
}

// plain reports whether text is printable ASCII alone, as nearly all is.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
