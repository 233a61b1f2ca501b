package main

import (
	"log/slog"
	"strings"
	"testing"
)

func TestLogFormats(t *testing.T) {
	for format, want := range map[string]string{
		"":     "] INFO hello (kafka.X)\n",
		"text": " level=INFO msg=hello logger=kafka.X\n",
		"json": `"level":"INFO","msg":"hello","logger":"kafka.X"}` + "\n",
	} {
		var out strings.Builder
		levels := newLoggers(slog.LevelInfo)
		handler, err := newHandler(format, &out, levels)
		if err != nil {
			t.Fatal(err)
		}
		log := slog.New(handler)
		log.Info("hello", loggerKey, "kafka.X")
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("%s: %q, want %q", format, out.String(), want)
		}
		levels.SetLevel("kafka.X", levelOff)
		out.Reset()
		log.Error("silent", loggerKey, "kafka.X")
		log.With(loggerKey, "kafka.X").Error("silent")
		log.Debug("silent")
		if out.Len() > 0 {
			t.Errorf("%s: a logger that is off wrote %q", format, out.String())
		}
		log.WithGroup("g").Error("grouped", loggerKey, "kafka.X")
		if !strings.Contains(out.String(), "grouped") {
			t.Errorf("%s: an attribute in a group counts as the logger", format)
		}
	}
	if _, err := newHandler("xml", nil, nil); err == nil || !strings.Contains(err.Error(), "kafka, text, json") {
		t.Errorf("an unknown format: %v", err)
	}
}
