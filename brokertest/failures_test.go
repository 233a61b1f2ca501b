package brokertest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// only checks that a fake test failed once, with a text.
func only(t *testing.T, f *fakeT, text string) {
	t.Helper()
	if len(f.errors) != 1 || !strings.Contains(f.errors[0], text) {
		t.Errorf("failures %q, want one with %q", f.errors, text)
	}
}

func TestMistakesEndTheTest(t *testing.T) {
	t.Parallel()
	for text, test := range map[string]func(f *fakeT){
		"ord ers":               func(f *fakeT) { New(f, Topic("ord ers", 1)) },
		"Unknown topic config":  func(f *fakeT) { New(f, Topic("orders", 1, "retention=1")) },
		"want key=value":        func(f *fakeT) { New(f, Topic("orders", 1, "retention.ms")) },
		"num.partitions":        func(f *fakeT) { New(f, Config("num.partitions", "many")) },
		"there is no such":      func(f *fakeT) { New(f).Compact("orders") },
		"does not contain":      func(f *fakeT) { New(f, Topic("orders", 1)).Compact("orders") },
		"Restart starts it":     func(f *fakeT) { b := New(f); b.Kill(); b.RunRetention() },
		`there is no API "Pro"`: func(f *fakeT) { New(f).Fail(Fault{API: "Pro", Drop: true}) },
	} {
		only(t, run(t, test), text)
	}
}

// TestLeakFailsTheTest: a goroutine that a broker's goroutine started and that does not end is found by the label.
func TestLeakFailsTheTest(t *testing.T) {
	t.Parallel()
	quit := make(chan struct{})
	f := run(t, func(f *fakeT) {
		b := New(f)
		b.leakPatience = 10 * time.Millisecond
		pprof.Do(t.Context(), pprof.Labels(labelKey, b.label), func(context.Context) { go func() { <-quit }() })
	})
	only(t, f, "goroutines of the broker outlive it")
	close(quit)
}

// TestDamageFailsTheTest: what is wrong in the data directory when the test ends fails it, unless the test asked for that.
func TestDamageFailsTheTest(t *testing.T) {
	t.Parallel()
	damage := func(f *fakeT, options ...Option) {
		b := New(f, append(options, Topic("orders", 1))...)
		produce(t, newClient(t, b), "orders", 0, "a")
		f.Cleanup(func() {
			b.stop()
			path := filepath.Join(b.Dir(), "orders-0", "00000000000000000000.log")
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)-1]++
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
	f := run(t, func(f *fakeT) { damage(f) })
	if len(f.errors) == 0 || !strings.Contains(f.errors[0], "orders-0/00000000000000000000.log") {
		t.Errorf("failures %q", f.errors)
	}
	if f := run(t, func(f *fakeT) { damage(f, NoVerify()) }); len(f.errors) != 0 {
		t.Errorf("with NoVerify: %q", f.errors)
	}
}

func TestLogLines(t *testing.T) {
	t.Parallel()
	f := run(t, func(f *fakeT) { New(f, LogLevel(slog.LevelInfo), Topic("orders", 1)) })
	all := strings.Join(f.logs, "\n")
	if len(f.errors) != 0 || !strings.Contains(all, "Created log for partition orders-0") || strings.Contains(all, "logger=") {
		t.Errorf("failures %q, lines:\n%s", f.errors, all)
	}
	if f := run(t, func(f *fakeT) { New(f) }); len(f.logs) != 0 {
		t.Errorf("lines of a broker with nothing to say: %q", f.logs)
	}
}
