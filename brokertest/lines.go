package brokertest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

// lines writes log records to a test's log.
type lines struct {
	level slog.Level
	attrs string // " key=value" of With
	sink  *sink
}

// sink is the test's log, until the test ends.
type sink struct {
	mu sync.Mutex
	t  testing.TB // nil after the end
}

func newLines(t testing.TB, level slog.Level) *lines { return &lines{level: level, sink: &sink{t: t}} }

// end lets no more lines through: a test that is over has no log.
func (l *lines) end() {
	l.sink.mu.Lock()
	defer l.sink.mu.Unlock()
	l.sink.t = nil
}

// Enabled is for levels from the chosen one on.
func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

// Handle writes one line.
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s%s", r.Time.Format("15:04:05.000"), r.Level, r.Message, l.attrs)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString(attr(a))
		return true
	})
	l.sink.mu.Lock()
	defer l.sink.mu.Unlock()
	if l.sink.t != nil {
		l.sink.t.Log(b.String())
	}
	return nil
}

// attr is the text of an attribute; the class that Kafka logs with says nothing in a test.
func attr(a slog.Attr) string {
	if a.Key == "logger" {
		return ""
	}
	return fmt.Sprintf(" %s=%v", a.Key, a.Value)
}

// WithAttrs adds attributes to all lines.
func (l *lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *l
	for _, a := range attrs {
		more.attrs += attr(a)
	}
	return &more
}

// WithGroup changes nothing: the broker's lines have no groups.
func (l *lines) WithGroup(string) slog.Handler { return l }
