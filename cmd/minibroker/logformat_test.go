package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestLogLines(t *testing.T) {
	var out strings.Builder
	h := newKafkaHandler(&out, newLoggers(slog.LevelInfo))
	at := time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.Local)
	for _, c := range []struct {
		level slog.Level
		msg   string
		with  func(slog.Handler) slog.Handler
		attrs []slog.Attr
		want  string
	}{
		{slog.LevelInfo, "text", nil, []slog.Attr{slog.String("logger", "kafka.server.KafkaRaftServer")}, "INFO text (kafka.server.KafkaRaftServer)"},
		{slog.LevelWarn, "text", nil, nil, "WARN text (minibroker)"},
		{slog.LevelError, "no", nil, []slog.Attr{slog.Int("n", 1), slog.Any("err", errors.New("x y"))}, "ERROR no n=1 err=x y (minibroker)"},
		{slog.LevelDebug, "quiet", nil, nil, ""},
		{slog.LevelInfo, "two\nlines\r\tand \x00\x1b[31m", nil, []slog.Attr{slog.String("client", "a\nb")}, `INFO two\nlines\r\tand \x00\x1b[31m client=a\nb (minibroker)`},
		{slog.LevelInfo, "größe", nil, nil, "INFO größe (minibroker)"},
		{slog.LevelInfo, "m", func(h slog.Handler) slog.Handler {
			return h.WithAttrs([]slog.Attr{slog.String("logger", "L"), slog.Int("a", 1)}).WithGroup("g").WithGroup("")
		}, []slog.Attr{slog.Int("b", 2), slog.Group("h", slog.Int("c", 3)), {}}, "INFO m a=1 g.b=2 g.h.c=3 (L)"},
	} {
		out.Reset()
		var handler slog.Handler = h
		if c.with != nil {
			handler = c.with(h)
		}
		if handler.Enabled(context.Background(), c.level) {
			r := slog.NewRecord(at, c.level, c.msg, 0)
			r.AddAttrs(c.attrs...)
			if err := handler.Handle(context.Background(), r); err != nil {
				t.Fatal(err)
			}
		}
		want := c.want
		if want != "" {
			want = "[2026-01-02 03:04:05,678] " + want + "\n"
		}
		if out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
	}
}

// lines counts writes, to see that each line is one.
type lines struct {
	t *testing.T
	n int
}

func (l *lines) Write(p []byte) (int, error) {
	l.n++
	if s := string(p); !strings.HasPrefix(s, "[") || strings.Count(s, "\n") != 1 || !strings.HasSuffix(s, ")\n") {
		l.t.Errorf("not one line: %q", s)
	}
	return len(p), nil
}

func TestLogLinesAreWhole(t *testing.T) {
	out := &lines{t: t}
	log := slog.New(newKafkaHandler(out, newLoggers(slog.LevelInfo)))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				log.Info("text", "logger", "L")
			}
		})
	}
	all.Wait()
	if out.n != 800 {
		t.Errorf("%d writes for 800 lines", out.n)
	}
}
