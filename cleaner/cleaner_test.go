package cleaner

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/record"
)

// keyed is a node with one log, "t", and puts single records into it.
type keyed struct {
	*node
	cfg logstore.Config
	out *bytes.Buffer
}

func newKeyed(t *testing.T, change func(*logstore.Config)) *keyed {
	k := &keyed{cfg: modelConfig(), out: &bytes.Buffer{}}
	k.cfg.SegmentMs, k.cfg.SegmentBytes = 10_000, 1<<20
	if change != nil {
		change(&k.cfg)
	}
	k.node = &node{t: t, fs: vfs.NewMem(), dir: "/data", settings: testSettings(), config: func(string) logstore.Config { return k.cfg }}
	k.open()
	_, err := k.store.Create(logstore.TopicPartition{Topic: "t"}, logstore.NewUUID(), nil, k.cfg)
	must(t, err)
	k.cleaner.log = slog.New(slog.NewTextHandler(k.out, nil))
	return k
}

// put appends a record with a timestamp in ms; a jump of more than ten seconds
// rolls.
func (k *keyed) put(key, value string, ts int64) {
	k.t.Helper()
	k.append("t", record.BuilderOptions{}, record.Record{Key: []byte(key), Value: []byte(value), Timestamp: ts})
}

// append appends one batch.
func (k *keyed) append(topic string, o record.BuilderOptions, records ...record.Record) {
	k.t.Helper()
	b := record.NewBuilder(o)
	for _, r := range records {
		must(k.t, b.Append(r))
	}
	batch, err := b.Build()
	must(k.t, err)
	_, err = k.log(topic).Append(batch, logstore.AppendOptions{})
	must(k.t, err)
}

// segments puts n segments of one record each, of the same key.
func (k *keyed) segments(n int) {
	k.t.Helper()
	from := time.Now().Add(-time.Hour).UnixMilli()
	end := k.log("t").EndOffset()
	for i := range int64(n) {
		k.put("k", "v", from+(end+i)*20_000)
	}
}

func (k *keyed) done() { must(k.t, k.store.Close(logstore.CleanStop{BrokerEpoch: -1})) }

// TestRun: a thread cleans at once what is due, then looks once per back-off,
// and without compacted logs not until it is woken.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeyed(t, func(c *logstore.Config) { c.Compact, c.Delete = false, true })
		var asked atomic.Int64
		partitions := k.cleaner.o.Partitions
		k.cleaner.o.Partitions = func() []Partition { asked.Add(1); return partitions() }
		ctx, stop := context.WithCancel(context.Background())
		finished := make(chan struct{})
		go func() { k.cleaner.Run(ctx); close(finished) }()
		k.segments(3)
		time.Sleep(time.Hour)
		if n := asked.Load(); n != 1 {
			t.Errorf("looked %d times without a compacted log", n)
		}
		k.cfg.Compact, k.cfg.Delete = true, false
		k.log("t").SetConfig(k.cfg)
		k.cleaner.Wake()
		synctest.Wait()
		if at := k.checkpoint("t"); at != 2 {
			t.Errorf("checkpoint %d after the wake-up, want 2", at)
		}
		k.segments(1)
		synctest.Wait()
		if at := k.checkpoint("t"); at != 2 {
			t.Errorf("checkpoint %d before the back-off, want 2", at)
		}
		time.Sleep(k.settings.Backoff + time.Millisecond)
		if at := k.checkpoint("t"); at != 3 {
			t.Errorf("checkpoint %d after the back-off, want 3", at)
		}
		stop()
		<-finished
		k.done()
	})
}

// TestChangedSettings: the threads are started anew with the settings of the
// moment.
func TestChangedSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeyed(t, nil)
		var threads atomic.Int64
		threads.Store(1)
		k.cleaner.o.Settings = func() Settings {
			s := testSettings()
			s.Threads = int(threads.Load())
			return s
		}
		ctx, stop := context.WithCancel(context.Background())
		finished := make(chan struct{})
		go func() { k.cleaner.Run(ctx); close(finished) }()
		synctest.Wait()
		threads.Store(2)
		k.cleaner.Wake()
		synctest.Wait()
		k.segments(2)
		time.Sleep(time.Second)
		if at := k.checkpoint("t"); at != 1 {
			t.Errorf("checkpoint %d, want 1", at)
		}
		stop()
		<-finished
		if n := strings.Count(k.out.String(), "Starting the log cleaner"); n != 2 {
			t.Errorf("started %d times:\n%s", n, k.out)
		}
		k.done()
	})
}

// TestThrottle: what goes by is held to the rate, and a stopped cleaner does
// not wait.
func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tr throttle
		begin := time.Now()
		for range 100 {
			must(t, wait(context.Background(), tr.pause(500, 1000, time.Now())))
			time.Sleep(20 * time.Millisecond)
		}
		if took := time.Since(begin); took < 40*time.Second || took > 55*time.Second {
			t.Errorf("50000 bytes at 1000 a second took %v", took)
		}
		ctx, stop := context.WithCancel(context.Background())
		stop()
		time.Sleep(time.Second)
		if err := wait(ctx, tr.pause(1<<30, 1000, time.Now())); err == nil {
			t.Error("a stopped cleaner waited")
		}
	})
}

// TestLags: a young segment bounds a pass; an old one makes a log due whatever
// its ratio.
func TestLags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeyed(t, func(c *logstore.Config) { c.MinCompactionLagMs, c.SegmentMs = 3_600_000, 1000 })
		now := time.Now().UnixMilli()
		for i := range int64(5) {
			k.put("k", "v", now-4*1_800_000+i*1_800_000) // 120, 90, 60, 30, 0 minutes old
		}
		time.Sleep(time.Millisecond)
		k.cleaner.Round(context.Background())
		if at := k.checkpoint("t"); at != 3 {
			t.Errorf("checkpoint %d, want 3: the fourth segment is too young", at)
		}
		k.done()

		k = newKeyed(t, func(c *logstore.Config) {
			c.MaxCompactionLagMs, c.MinCleanableRatio, c.SegmentMs = 3_600_000, 1, 1000
		})
		now = time.Now().UnixMilli()
		k.put("k", "v", now-3_500_000)
		k.put("k", "v", now-1_000_000)
		if k.cleaner.Round(context.Background()) {
			t.Error("cleaned too early")
		}
		time.Sleep(2 * time.Minute)
		if !k.cleaner.Round(context.Background()) || k.checkpoint("t") != 1 {
			t.Errorf("not cleaned although overdue, checkpoint %d", k.checkpoint("t"))
		}
		k.done()
	})
}

// TestUselessCheckpoint: one outside the log is replaced by the log start.
func TestUselessCheckpoint(t *testing.T) {
	k := newKeyed(t, nil)
	k.segments(3)
	tp := logstore.TopicPartition{Topic: "t"}
	must(t, k.store.CheckpointCleaner(tp, 99))
	if !k.cleaner.Round(context.Background()) || k.checkpoint("t") != 2 {
		t.Errorf("checkpoint %d, want 2", k.checkpoint("t"))
	}
	if !strings.Contains(k.out.String(), "checkpointed offset 99 is invalid") {
		t.Errorf("no line about it:\n%s", k.out)
	}
	k.done()
}

// TestLines: the lines of a pass are Kafka's.
func TestLines(t *testing.T) {
	k := newKeyed(t, nil)
	k.segments(3)
	k.cleaner.Round(context.Background())
	at := 0
	for _, want := range []string{
		"Cleaner 0: Beginning cleaning of log t-0",
		"Cleaner 0: Building offset map for t-0...",
		"Cleaner 0: Building offset map for log t-0 for 2 segments in offset range [0, 2).",
		"Cleaner 0: Offset map for log t-0 complete.",
		"Cleaner 0: Cleaning log t-0 (cleaning prior to ",
		"discarding tombstones prior to upper bound deletion horizon Thu Jan 01 ",
		"Cleaner 0: Cleaning LogSegment(baseOffset=0, size=70, lastModifiedTime=",
		"in log t-0 into 0 with an upper bound deletion horizon 0 computed from the segment last modified time of ",
		",retaining deletes.",
		"Cleaner 0: Swapping in cleaned segment LogSegment(baseOffset=0, size=70, ",
		" for segment(s) [LogSegment(baseOffset=0, size=70, ",
		"), LogSegment(baseOffset=1, size=70, ",
		"Log cleaner thread 0 cleaned log t-0 (dirty section = [0, 2])",
		"Start size: 0.0 MB (2 messages)",
		"End size: 0.0 MB (1 messages)",
		"50.0% size reduction (50.0% fewer messages)",
	} {
		i := strings.Index(k.out.String()[at:], want)
		if i < 0 {
			t.Fatalf("no %q after byte %d of\n%s", want, at, k.out)
		}
		at += i
	}
	k.done()
}

// TestRemovedWhileCleaning: a partition that is deleted during a pass ends it
// without an error or files left.
func TestRemovedWhileCleaning(t *testing.T) {
	k := newKeyed(t, nil)
	k.segments(3)
	mem := k.fs.(*vfs.Mem)
	removed := false
	mem.SetHook(func(op vfs.Op) error {
		if !removed && strings.HasSuffix(op.Name, ".log.cleaned") && op.Kind == vfs.OpWrite {
			removed = true
			return k.store.Delete(logstore.TopicPartition{Topic: "t"})
		}
		return nil
	})
	if k.cleaner.Round(context.Background()) || !removed {
		t.Errorf("cleaned; removed %t", removed)
	}
	mem.SetHook(nil)
	if text := k.out.String(); !strings.Contains(text, "is aborted") || strings.Contains(text, "uncleanable") {
		t.Errorf("lines:\n%s", text)
	}
	k.done()
}
