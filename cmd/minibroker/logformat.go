package main

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode"
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
	mu sync.Mutex
	w  io.Writer
}

const (
	loggerKey     = "logger"
	defaultLogger = "minibroker"
	timeLayout    = "2006-01-02 15:04:05,000"
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
	var line strings.Builder
	line.WriteByte('[')
	line.WriteString(when.Format(timeLayout))
	line.WriteString("] ")
	line.WriteString(levelName(r.Level))
	line.WriteByte(' ')
	line.WriteString(escape(r.Message))
	line.WriteString(h.attrs)
	logger := h.logger
	r.Attrs(func(a slog.Attr) bool {
		logger = appendAttr(&line, h.prefix, a, logger)
		return true
	})
	if !h.levels.lets(logger, r.Level) {
		return nil
	}
	line.WriteString(" (")
	line.WriteString(escape(logger))
	line.WriteString(")\n")
	h.out.mu.Lock()
	defer h.out.mu.Unlock()
	_, err := io.WriteString(h.out.w, line.String())
	return err
}

// WithAttrs implements slog.Handler.
func (h *kafkaHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	var text strings.Builder
	text.WriteString(h.attrs)
	for _, a := range attrs {
		next.logger = appendAttr(&text, h.prefix, a, next.logger)
	}
	next.attrs = text.String()
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

// appendAttr writes " key=value", or takes the logger's name if that is what the attribute is.
func appendAttr(line *strings.Builder, prefix string, a slog.Attr, logger string) string {
	a.Value = a.Value.Resolve()
	switch {
	case a.Equal(slog.Attr{}):
		return logger
	case a.Value.Kind() == slog.KindGroup:
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range a.Value.Group() {
			logger = appendAttr(line, prefix, inner, logger)
		}
		return logger
	case a.Key == loggerKey && prefix == "":
		return a.Value.String()
	}
	line.WriteByte(' ')
	line.WriteString(escape(prefix + a.Key))
	line.WriteByte('=')
	line.WriteString(escape(a.Value.String()))
	return logger
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
func escape(s string) string {
	if strings.IndexFunc(s, unicode.IsControl) < 0 {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		if !unicode.IsControl(r) {
			out.WriteRune(r)
			continue
		}
		switch r {
		case '\n':
			out.WriteString(`\n`)
		case '\r':
			out.WriteString(`\r`)
		case '\t':
			out.WriteString(`\t`)
		default:
			const hex = "0123456789abcdef"
			out.WriteString(`\x`)
			out.WriteByte(hex[r>>4&15])
			out.WriteByte(hex[r&15])
		}
	}
	return out.String()
}
