package cleaner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/record"
)

// TestDiskErrorInAPass: an error of a file ends the pass and nothing else. The
// next log is cleaned, appends go on, and the pass is made up for after a
// back-off. Apache Kafka 4.4.0 takes the log directory offline.
func TestDiskErrorInAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeyed(t, nil)
		_, err := k.store.Create(logstore.TopicPartition{Topic: "other"}, logstore.NewUUID(), nil, k.cfg)
		must(t, err)
		k.segments(3)
		from := time.Now().Add(-time.Hour).UnixMilli()
		for i := range int64(3) {
			k.append("other", record.BuilderOptions{}, record.Record{Key: []byte("k"), Value: []byte("v"), Timestamp: from + i*20_000})
		}
		broken := errors.New("input/output error")
		mem := k.fs.(*vfs.Mem)
		mem.SetHook(func(op vfs.Op) error {
			if strings.Contains(op.Name, "/t-0/") && strings.HasSuffix(op.Name, ".log.cleaned") {
				return broken
			}
			return nil
		})
		ctx, stop := context.WithCancel(context.Background())
		finished := make(chan struct{})
		go func() { k.cleaner.Run(ctx); close(finished) }()
		synctest.Wait()
		if at, other := k.checkpoint("t"), k.checkpoint("other"); at != -1 || other != 2 {
			t.Errorf("checkpoints %d and %d, want none and 2", at, other)
		}
		k.put("k", "v", time.Now().UnixMilli())
		mem.SetHook(nil)
		time.Sleep(k.settings.Backoff + time.Millisecond)
		if at := k.checkpoint("t"); at != 3 {
			t.Errorf("checkpoint %d a back-off later, want 3", at)
		}
		if text := k.out.String(); strings.Count(text, "has to be tried again later") != 1 || strings.Contains(text, "uncleanable") {
			t.Errorf("lines:\n%s", text)
		}
		stop()
		<-finished
		k.done()
	})
}

// TestUnreadableCheckpoint: a cleaner-offset-checkpoint that cannot be
// understood counts as empty: its logs are cleaned from their start, and it is
// written anew.
func TestUnreadableCheckpoint(t *testing.T) {
	k := newKeyed(t, nil)
	k.segments(3)
	k.done()
	writeFile(t, k.fs, "/data/cleaner-offset-checkpoint", []byte("0\n1\nt zero 2\n"))
	k.open()
	if !k.cleaner.Round(context.Background()) || k.checkpoint("t") != 2 {
		t.Errorf("checkpoint %d, want 2", k.checkpoint("t"))
	}
	text, err := vfs.ReadFile(k.fs, "/data/cleaner-offset-checkpoint")
	if must(t, err); string(text) != "0\n1\nt 0 2\n" {
		t.Errorf("written is %q", text)
	}
	k.done()
}

// TestEndlessDeleteRetention: with the largest delete.retention.ms a tombstone
// stays for good and its batch gets no horizon; these are the bytes that Apache
// Kafka 4.4.0 leaves after each of three passes, but for the leader epoch.
func TestEndlessDeleteRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeyed(t, func(c *logstore.Config) { c.DeleteRetentionMs = math.MaxInt64 })
		const from = 0x1a22bd57b80
		time.Sleep(time.Until(time.UnixMilli(from + 3_600_000)))
		k.append("t", record.BuilderOptions{}, record.Record{Key: []byte("gone"), Timestamp: from})
		for i := range int64(3) {
			k.put("k", "v", from+(i+1)*20_000)
			if !k.cleaner.Round(context.Background()) {
				t.Fatal("nothing was cleaned")
			}
			file := fmt.Sprintf("%x", k.files("t-0")["t-0/00000000000000000000.log"])
			want := "00000000000000000000003c00000000022f38ecd4000000000000000001a22bd57b80000001a22bd57b80" +
				"ffffffffffffffffffffffffffff000000011400000008676f6e650100"
			if i > 0 {
				want += []string{"00000000000000010000003a0000000002d8057b99000000000000000001a22bd5c9a0000001a22bd5c9a0",
					"00000000000000020000003a00000000020111dbc8000000000000000001a22bd617c0000001a22bd617c0"}[i-1] +
					"ffffffffffffffffffffffffffff0000000110000000026b027600"
			}
			if file != want {
				t.Errorf("pass %d left %s, want %s", i+1, file, want)
			}
			time.Sleep(100 * 365 * 24 * time.Hour)
		}
		k.done()
	})
}

// newSlow is a node on a disk that takes 10 ms for each read, so that in a
// bubble of synctest a pass takes time.
func newSlow(t *testing.T) *keyed {
	k := newKeyed(t, nil)
	k.done()
	k.fs = vfs.NewFaulty(k.fs, func(op vfs.Op) error {
		if op.Kind == vfs.OpRead {
			time.Sleep(10 * time.Millisecond)
		}
		return nil
	})
	k.open()
	k.cleaner.log = slog.New(slog.NewTextHandler(k.out, nil))
	return k
}

// TestSettingsActAtOnce: a pass that a low rate holds up goes on when the rate
// is raised, and a rate that is lowered counts from that moment.
func TestSettingsActAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSlow(t)
		k.settings.BytesPerSecond = 1
		k.cleaner.o.Settings = func() Settings { k.cleaner.mu.Lock(); defer k.cleaner.mu.Unlock(); return k.settings }
		change := func(s Settings) {
			k.cleaner.mu.Lock()
			k.settings = s
			k.cleaner.mu.Unlock()
			k.cleaner.Wake()
		}
		k.segments(100)
		ctx, stop := context.WithCancel(context.Background())
		finished := make(chan struct{})
		go func() { k.cleaner.Run(ctx); close(finished) }()
		time.Sleep(10 * time.Second) // a pause of many minutes has begun
		if at := k.checkpoint("t"); at != -1 {
			t.Fatalf("cleaned up to %d at a byte a second", at)
		}
		fast := testSettings()
		fast.Threads, fast.BytesPerSecond = 2, 1e12
		change(fast)
		time.Sleep(5 * time.Second) // 10 ms for each of some 400 reads
		if at := k.checkpoint("t"); at != 99 {
			t.Errorf("checkpoint %d at once, want 99", at)
		}
		slow := fast
		slow.BytesPerSecond = 100
		change(slow)
		k.segments(100)
		begun := time.Now()
		for k.checkpoint("t") != 199 {
			time.Sleep(time.Second)
		}
		if took := time.Since(begun); took < 120*time.Second { // 100 batches of 70 bytes, twice
			t.Errorf("took %v at 100 bytes a second", took)
		}
		stop()
		<-finished
		k.done()
	})
}

// TestProgressLines: a long pass tells every ten seconds how far it is, in both
// of its parts.
func TestProgressLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newSlow(t)
		k.settings.BytesPerSecond, k.settings.IOBufferBytes = 10_000, 8<<10
		from := time.Now().Add(-time.Hour).UnixMilli()
		for i := range int64(200) {
			k.append("t", record.BuilderOptions{}, record.Record{Key: []byte{byte(i)}, Value: bytes.Repeat([]byte("v"), 3000), Timestamp: from + i/100*20_000})
		}
		k.put("k", "v", from+100_000)
		if !k.cleaner.Round(context.Background()) {
			t.Error("nothing was cleaned")
		}
		text := k.out.String()
		keys, copied := strings.Count(text, "t-0: Read the keys of "), strings.Count(text, "t-0: Copied from ")
		if keys < 4 || keys > 6 || copied < 10 || copied > 13 {
			t.Errorf("%d and %d lines, want about 5 and 12:\n%s", keys, copied, text)
		}
		k.done()
	})
}

// TestMetrics: the numbers of Kafka's beans, and what is set aside.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeyed(t, func(c *logstore.Config) { c.MaxCompactionLagMs = 1_800_000 })
		time.Sleep(5 * time.Second)
		if m := k.cleaner.Metrics(); m.TimeSinceLastRunMs != 5000 || m.Passes != 0 || len(m.Uncleanable) != 0 {
			t.Errorf("at the start: %+v", m)
		}
		k.segments(3) // an hour old, so half an hour too late
		must(t, k.store.CheckpointCleaner(logstore.TopicPartition{Topic: "t"}, 1))
		if !k.cleaner.Round(context.Background()) {
			t.Fatal("nothing was cleaned")
		}
		time.Sleep(time.Second)
		m := k.cleaner.Metrics()
		if m.MaxDirtyPercent != 50 || m.CleanerRecopyPercent != 50 || m.MaxCompactionDelaySecs != 1780 || m.MaxCleanTimeSecs != 0 ||
			m.TimeSinceLastRunMs != 1000 || m.Passes != 1 || m.BytesRead != 140 || m.BytesWritten != 70 || m.RecordsRead != 2 || m.RecordsKept != 1 {
			t.Errorf("after a pass: %+v", m)
		}
		k.spoil()
		if k.cleaner.Round(context.Background()) {
			t.Error("a log that makes no sense was cleaned")
		}
		m = k.cleaner.Metrics()
		if u := m.Uncleanable["/data"]; u.Partitions != 1 || u.Bytes != 140 || m.Passes != 1 {
			t.Errorf("after a failure: %+v", m)
		}
		k.done()
	})
}

// spoil appends two segments and damages the first of them.
func (k *keyed) spoil() {
	k.t.Helper()
	k.segments(2)
	list := k.log("t").Segments()
	name := fmt.Sprintf("/data/t-0/%020d.log", list[len(list)-2].Base())
	b, err := vfs.ReadFile(k.fs, name)
	must(k.t, err)
	const magic = 16
	b[magic] = 9
	writeFile(k.t, k.fs, name, b)
}
