package handlers

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/config"
)

// The loggers with a part of their own: the one above all others, and the one
// that the handlers write to.
const (
	rootLogger = "root"
	ownLogger  = "kafka.server.KafkaApis"
)

// Kafka's levels that slog has no names for.
const (
	levelTrace = slog.LevelDebug - 4
	levelFatal = slog.LevelError + 4
)

// levels returns the level of every logger; nil when none is known.
func (a *API) levels() map[string]slog.Level {
	if a.loggers == nil {
		return nil
	}
	return a.loggers.Levels()
}

// describeLoggers returns all loggers with their levels, by name.
func (a *API) describeLoggers() []config.Entry {
	levels := a.levels()
	entries := make([]config.Entry, 0, len(levels))
	for _, name := range slices.Sorted(maps.Keys(levels)) {
		level := levelName(levels[name])
		entries = append(entries, config.Entry{Name: name, Value: &level, Source: config.SourceBrokerLogger})
	}
	return entries
}

// alterLogger sets log levels. They are those of the running process and are
// forgotten when it ends, as in Kafka.
func (a *API) alterLogger(r *kmsg.IncrementalAlterConfigsRequestResource, validateOnly bool) error {
	if err := a.checkNode(r.ResourceName); err != nil {
		return err
	}
	levels := a.levels()
	for i := range r.Configs {
		if err := checkLoggerOp(levels, &r.Configs[i]); err != nil {
			return err
		}
	}
	if validateOnly {
		return nil
	}
	for i := range r.Configs {
		op := &r.Configs[i]
		if op.Op == kmsg.IncrementalAlterConfigOpDelete {
			a.loggers.UnsetLevel(op.Name)
		} else if level, ok := levelOf(*op.Value); ok {
			a.loggers.SetLevel(op.Name, level)
		}
	}
	return nil
}

func checkLoggerOp(levels map[string]slog.Level, op *kmsg.IncrementalAlterConfigsRequestResourceConfig) error {
	switch op.Op {
	case kmsg.IncrementalAlterConfigOpSet, kmsg.IncrementalAlterConfigOpDelete:
	case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
		return &apiError{codeInvalidRequest, op.Op.String() + " operation is not allowed for the BROKER_LOGGER resource"}
	default:
		return &apiError{codeInvalidRequest, fmt.Sprintf("Unknown operation type %d is not allowed for the BROKER_LOGGER resource", op.Op)}
	}
	if _, exists := levels[op.Name]; !exists {
		return &apiError{codeInvalidConfig, "Logger " + op.Name + " does not exist!"}
	}
	if op.Op == kmsg.IncrementalAlterConfigOpDelete {
		if op.Name == rootLogger {
			return &apiError{codeInvalidRequest, "Removing the log level of the root logger is not allowed"}
		}
		return nil
	}
	if _, ok := levelOf(*op.Value); !ok {
		return &apiError{codeInvalidConfig, "Cannot set the log level of " + op.Name + " to " + *op.Value +
			" as it is not a supported log level. Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"}
	}
	return nil
}

// levelOf is the level of one of Kafka's names.
func levelOf(name string) (slog.Level, bool) {
	switch name {
	case "TRACE":
		return levelTrace, true
	case "DEBUG":
		return slog.LevelDebug, true
	case "INFO":
		return slog.LevelInfo, true
	case "WARN":
		return slog.LevelWarn, true
	case "ERROR":
		return slog.LevelError, true
	case "FATAL":
		return levelFatal, true
	}
	return 0, false
}

// levelName is Kafka's name of the highest level that is not above level.
func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelDebug:
		return "TRACE"
	case level < slog.LevelInfo:
		return "DEBUG"
	case level < slog.LevelWarn:
		return "INFO"
	case level < slog.LevelError:
		return "WARN"
	case level < levelFatal:
		return "ERROR"
	}
	return "FATAL"
}
