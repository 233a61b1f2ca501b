package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
)

// logFormats are the forms of log lines: Kafka's, key=value, and JSON objects.
var logFormats = [...]string{"kafka", "text", "json"}

// newHandler makes a handler that writes lines of the format.
func newHandler(format string, w io.Writer, levels *loggers) (slog.Handler, error) {
	options := &slog.HandlerOptions{Level: slog.Level(-1 << 20), ReplaceAttr: nameLevel}
	switch format {
	case "", "kafka":
		return newKafkaHandler(w, levels), nil
	case "text":
		return &leveledHandler{inner: slog.NewTextHandler(w, options), levels: levels, logger: defaultLogger}, nil
	case "json":
		return &leveledHandler{inner: slog.NewJSONHandler(w, options), levels: levels, logger: defaultLogger}, nil
	}
	return nil, usageError{fmt.Errorf("--log-format %s: want one of %s", format, strings.Join(logFormats[:], ", "))}
}

// nameLevel gives levels log4j's names.
func nameLevel(groups []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && len(groups) == 0 && a.Key == slog.LevelKey {
		a.Value = slog.StringValue(levelName(level))
	}
	return a
}

// leveledHandler lets a line through when the level of its logger does.
type leveledHandler struct {
	inner   slog.Handler
	levels  *loggers
	logger  string
	grouped bool
}

// Enabled implements slog.Handler.
func (h *leveledHandler) Enabled(_ context.Context, level slog.Level) bool {
	return h.levels.enabled(level)
}

// Handle implements slog.Handler.
func (h *leveledHandler) Handle(ctx context.Context, r slog.Record) error {
	logger := h.logger
	if !h.grouped {
		r.Attrs(func(a slog.Attr) bool {
			if a.Key == loggerKey {
				logger = a.Value.String()
			}
			return true
		})
	}
	if !h.levels.lets(logger, r.Level) {
		return nil
	}
	return h.inner.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *leveledHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.inner = h.inner.WithAttrs(attrs)
	if i := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == loggerKey }); i >= 0 && !h.grouped {
		next.logger = attrs[i].Value.String()
	}
	return &next
}

// WithGroup implements slog.Handler.
func (h *leveledHandler) WithGroup(name string) slog.Handler {
	next := *h
	next.inner = h.inner.WithGroup(name)
	next.grouped = h.grouped || name != ""
	return &next
}
