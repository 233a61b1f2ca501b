package handlers

import (
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/config"
)

// rootLogger is the name by which Kafka knows the logger above all others. It
// is the only one here: minibroker has one level for all that it logs.
const rootLogger = "root"

// Kafka's levels that slog has no names for.
const (
	levelTrace = slog.LevelDebug - 4
	levelFatal = slog.LevelError + 4
)

// describeLoggers returns the root logger with its level; none when the level
// cannot be seen.
func (a *API) describeLoggers() []config.Entry {
	if a.level == nil {
		return nil
	}
	name := levelName(a.level.Level())
	return []config.Entry{{Name: rootLogger, Value: &name, Source: config.SourceBrokerLogger}}
}

// alterLogger sets the level of the root logger. The level is that of the
// running process and is forgotten when it ends, as in Kafka.
func (a *API) alterLogger(r *kmsg.IncrementalAlterConfigsRequestResource, validateOnly bool) error {
	if err := a.checkNode(r.ResourceName); err != nil {
		return err
	}
	for i := range r.Configs {
		if err := a.checkLoggerOp(&r.Configs[i]); err != nil {
			return err
		}
	}
	for i := range r.Configs {
		if level, ok := levelOf(*r.Configs[i].Value); ok && !validateOnly {
			a.level.Set(level)
		}
	}
	return nil
}

func (a *API) checkLoggerOp(op *kmsg.IncrementalAlterConfigsRequestResourceConfig) error {
	switch op.Op {
	case kmsg.IncrementalAlterConfigOpSet, kmsg.IncrementalAlterConfigOpDelete:
	case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
		return &apiError{codeInvalidRequest, op.Op.String() + " operation is not allowed for the BROKER_LOGGER resource"}
	default:
		return &apiError{codeInvalidRequest, fmt.Sprintf("Unknown operation type %d is not allowed for the BROKER_LOGGER resource", op.Op)}
	}
	if op.Name != rootLogger || a.level == nil {
		return &apiError{codeInvalidConfig, "Logger " + op.Name + " does not exist!"}
	}
	if op.Op == kmsg.IncrementalAlterConfigOpDelete {
		return &apiError{codeInvalidRequest, "Removing the log level of the root logger is not allowed"}
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
