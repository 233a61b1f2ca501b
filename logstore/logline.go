package logstore

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"
)

// Kafka's log lines carry a prefix that names the class that speaks. Tools and
// people look for them, so they are the same here.

// kafkaClasses is the package of the classes that speak here.
const kafkaClasses = "org.apache.kafka.storage.internals.log."

// line writes a message of one of Kafka's classes. The text is built only by
// callers that run rarely: never on the path of an append or a read. A start with
// many partitions writes several for each, so that the record does not say from
// where it comes: it is always here.
func (l *Log) line(level slog.Level, class, text string, args ...any) {
	handler := l.env.lines.Handler()
	if !handler.Enabled(context.Background(), level) {
		return
	}
	switch class {
	case "LocalLog":
		text = "[LocalLog partition=" + l.tp.String() + ", dir=" + l.Dir() + "] " + text
	case "ProducerStateManager":
		text = "[ProducerStateManager partition=" + l.tp.String() + "] " + text
	case "UnifiedLog", "LogLoader":
		text = "[" + class + " partition=" + l.tp.String() + ", dir=" + filepath.Dir(l.Dir()) + "] " + text
	}
	r := slog.NewRecord(time.Now(), level, text, 0)
	r.Add(args...)
	r.AddAttrs(slog.String("logger", kafkaClasses+class))
	_ = handler.Handle(context.Background(), r) // as slog: there is nobody to tell
}

func (l *Log) info(class, text string, args ...any)  { l.line(slog.LevelInfo, class, text, args...) }
func (l *Log) warn(class, text string, args ...any)  { l.line(slog.LevelWarn, class, text, args...) }
func (l *Log) error(class, text string, args ...any) { l.line(slog.LevelError, class, text, args...) }
