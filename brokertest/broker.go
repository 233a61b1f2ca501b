package brokertest

import (
	"context"
	"log/slog"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"minibroker"
	"minibroker/config"
	"minibroker/fault"
	"minibroker/logstore"
)

// patience bounds everything that a test would otherwise wait for without end.
const patience = 30 * time.Second

// Broker is a broker of one test. Its methods end the test when something fails, so they are for the test's own goroutine; Addr
// and Dir may be called from any.
type Broker struct {
	t        testing.TB
	settings *settings
	config   *config.Broker
	port     *port
	addr     string
	dir      string
	log      *slog.Logger
	faults   *fault.Set
	label    string             // of the broker's goroutines
	running  *minibroker.Broker // nil after Kill

	leakPatience time.Duration
}

// New starts a broker that serves when New returns, and stops it when the test and its subtests end. Settings that are wrong, and
// whatever else keeps it from starting, end the test.
func New(t testing.TB, options ...Option) *Broker {
	t.Helper()
	s := newSettings(options)
	if len(s.mistakes) > 0 {
		t.Fatalf("brokertest: %s", strings.Join(s.mistakes, "; "))
	}
	b := &Broker{t: t, settings: s, faults: fault.NewSet(), dir: t.TempDir(), leakPatience: leakPatience}
	lines := newLines(t, s.logLevel)
	b.log = slog.New(lines)
	var err error
	if b.port, err = holdPort(); err != nil {
		t.Fatalf("brokertest: %v", err)
	}
	b.addr = b.port.addr
	b.label = b.addr + " " + t.Name()
	t.Cleanup(func() {
		b.end()
		lines.end()
	})
	var notices []config.Notice
	if b.config, notices, err = config.Parse(s.properties(b.addr, b.dir)); err != nil {
		t.Fatalf("brokertest: %v", err)
	}
	for _, n := range notices {
		b.log.Log(context.Background(), n.Level, n.Text)
	}
	b.start(s.topics)
	return b
}

// Addr is where the broker listens, as host:port: what clients are given. It stays the same over Restart.
func (b *Broker) Addr() string { return b.addr }

// Dir is the broker's data directory, which holds what Kafka's would.
func (b *Broker) Dir() string { return b.dir }

// Restart stops the broker cleanly, or takes it as Kill left it, and starts it again on the same address and data. Clients that
// are connected lose their connections, as with any restart.
func (b *Broker) Restart() {
	b.t.Helper()
	b.stop()
	b.start(nil)
}

// Kill ends the broker as kill -9 ends a process: nothing more is written, connections break, and clients are refused until
// Restart, which has to recover the data.
func (b *Broker) Kill() {
	b.t.Helper()
	b.alive().Abort()
	b.running = nil
}

// RunRetention removes at once what retention.ms, retention.bytes and the log start offsets no longer keep.
func (b *Broker) RunRetention() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.alive().RunRetention(ctx); err != nil {
		b.t.Fatalf("brokertest: retention: %v", err)
	}
}

// Compact compacts a topic at once: of each key the last record stays, among all that were written so far and are not part of an
// open transaction. min.compaction.lag.ms is honoured.
func (b *Broker) Compact(topic string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := b.alive().Compact(ctx, topic); err != nil {
		b.t.Fatalf("brokertest: %v", err)
	}
}

func (b *Broker) alive() *minibroker.Broker {
	b.t.Helper()
	if b.running == nil {
		b.t.Fatal("brokertest: the broker was killed; Restart starts it again")
	}
	return b.running
}

// start opens the broker and makes topics; its goroutines carry the label by which they are found at the end.
func (b *Broker) start(topics []config.StartTopic) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	pprof.Do(ctx, pprof.Labels(labelKey, b.label), func(ctx context.Context) {
		b.t.Helper()
		var err error
		b.running, err = minibroker.Open(ctx, minibroker.Options{
			Config: b.config, Logger: b.log, FS: unsynced(), Topics: topics, Faults: b.faults,
		})
		if err != nil {
			b.running = nil
			b.t.Fatalf("brokertest: start: %v", err)
		}
	})
}

// stop closes the broker, if it runs.
func (b *Broker) stop() {
	b.t.Helper()
	if b.running == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := b.running.Close(ctx)
	b.running = nil
	if err != nil {
		b.t.Errorf("brokertest: stop: %v", err)
	}
}

// end stops the broker and checks what it leaves. One that was killed is recovered first.
func (b *Broker) end() {
	b.t.Helper()
	defer b.port.release()
	if b.config == nil {
		return
	}
	if b.running == nil && !b.t.Failed() && !b.settings.noVerify {
		b.start(nil)
	}
	b.stop()
	checkGoroutines(b.t, b.label, b.leakPatience)
	if b.settings.noVerify {
		return
	}
	findings, err := logstore.VerifyDir(b.dir, nil)
	if err != nil {
		b.t.Errorf("brokertest: verify: %v", err)
	}
	for _, f := range findings {
		b.t.Errorf("brokertest: verify: %v", f)
	}
}
