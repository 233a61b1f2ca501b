package logstore

import (
	"context"
	"log/slog"
	"path/filepath"
)

// Kafka's log lines carry a prefix that names the class that speaks. Tools and
// people look for them, so they are the same here.

// kafkaClasses is the package of the classes that speak here.
const kafkaClasses = "org.apache.kafka.storage.internals.log."

// line writes a message of one of Kafka's classes. The text is built only by
// callers that run rarely: never on the path of an append or a read.
func (l *Log) line(level slog.Level, class, text string, args ...any) {
	if !l.env.lines.Enabled(context.Background(), level) {
		return
	}
	prefix := ""
	switch class {
	case "LocalLog":
		prefix = "[LocalLog partition=" + l.tp.String() + ", dir=" + l.Dir() + "] "
	case "ProducerStateManager":
		prefix = "[ProducerStateManager partition=" + l.tp.String() + "] "
	case "UnifiedLog", "LogLoader":
		prefix = "[" + class + " partition=" + l.tp.String() + ", dir=" + filepath.Dir(l.Dir()) + "] "
	}
	l.env.lines.Log(context.Background(), level, prefix+text, append(args, slog.String("logger", kafkaClasses+class))...)
}

func (l *Log) info(class, text string, args ...any)  { l.line(slog.LevelInfo, class, text, args...) }
func (l *Log) warn(class, text string, args ...any)  { l.line(slog.LevelWarn, class, text, args...) }
func (l *Log) error(class, text string, args ...any) { l.line(slog.LevelError, class, text, args...) }
