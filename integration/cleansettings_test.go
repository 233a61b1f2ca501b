package integration

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"minibroker/record"
)

// TestCleanerWakesAtOnce: with a back-off of an hour a topic that becomes compacted is compacted at once, and so is one whose
// log comes due by another setting. The cleaner's own settings, changed while it runs, act at once as well.
func TestCleanerWakesAtOnce(t *testing.T) {
	p := startProcess(t, filepath.Join(t.TempDir(), "data"), freeAddr(t), []string{"log.cleaner.backoff.ms=3600000"})
	conn, err := dial(p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.CreateTopic("late", 1, map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "segment.ms": "10000",
		"min.cleanable.dirty.ratio": "0.99"}); err != nil {
		t.Fatal(err)
	}
	at, end := time.Now().Add(-time.Hour).UnixMilli(), int64(0)
	write := func(records int) { // one segment
		at += 20_000
		var batch []keyValue
		for i := range records {
			batch = append(batch, keyValue{fmt.Sprintf("key-%d", i), []byte("v")})
		}
		sendBatch(t, conn, "late", at, batch)
		end += int64(records)
	}
	alter := func(name, value string) {
		if code, err := conn.AlterTopic("late", map[string]string{name: value}); code != 0 || err != nil {
			t.Fatalf("set %s=%s: error %d, %v", name, value, code, err)
		}
	}
	write(1)
	write(1)
	alter("cleanup.policy", "compact")
	awaitCleaned(t, p, "late", 1)
	write(1)
	alter("min.cleanable.dirty.ratio", "0.01")
	awaitCleaned(t, p, "late", 2)

	starts := 1
	restart := func(name, value string) { // each change has the threads started anew
		alterBrokers(t, p.Addr, name, value)
		starts++
		if !await(patience, func() bool { return strings.Count(p.Output(), "Starting the log cleaner") == starts }) {
			t.Fatalf("%s=%s: want the cleaner's threads started for the %d. time\n%s", name, value, starts, p.Output())
		}
	}
	// A cleaner that has just cleaned looks once more before it pauses, and may then find these records without being woken.
	// Slots 45833 and a few more: 1,000 keys are 2.2% of them.
	for bytes := 1_100_000; ; bytes += 24 {
		write(1000)
		write(1)
		restart("log.cleaner.dedupe.buffer.size", fmt.Sprint(bytes))
		awaitCleaned(t, p, "late", end-1)
		if used := bufferUse(t, p, end-1); used == "2.2%" {
			break
		} else if bytes == 1_100_000+9*24 {
			t.Fatalf("ten times the keys took %s of the buffer, want 2.2%%\n%s", used, p.Output())
		}
	}
	restart("log.cleaner.backoff.ms", "50")
	write(10)
	write(1)
	awaitCleaned(t, p, "late", end-1)
	restart("log.cleaner.dedupe.buffer.size", "")
	restart("log.cleaner.threads", "2")
	restart("log.cleaner.io.buffer.size", "400000")
	write(1000)
	write(1)
	awaitCleaned(t, p, "late", end-1)
	p.Stop(t)
}

// bufferUse is how much of its buffer the pass took that ended before an offset, as the cleaner tells it.
func bufferUse(t *testing.T, p *Process, end int64) string {
	t.Helper()
	var used string
	var whole bool
	if !await(patience, func() bool {
		_, pass, _ := strings.Cut(p.Output(), fmt.Sprintf(", %d])", end))
		_, line, _ := strings.Cut(pass, "Buffer utilization: ")
		used, _, whole = strings.Cut(line, " ")
		return whole
	}) {
		t.Fatalf("the pass that ends at %d does not say what it took of the buffer\n%s", end, p.Output())
	}
	return used
}

// awaitLine waits until the broker has printed a text.
func awaitLine(t *testing.T, p *Process, text string) {
	t.Helper()
	if !await(patience, func() bool { return strings.Contains(p.Output(), text) }) {
		t.Fatalf("no %q in\n%s", text, p.Output())
	}
}

// TestKeylessRecords: a compacted topic refuses a batch whole for one record without a key and names it, with every codec.
// Those that are there when a topic becomes compacted go without a fuss.
func TestKeylessRecords(t *testing.T) {
	p := startProcess(t, filepath.Join(t.TempDir(), "data"), freeAddr(t), []string{"log.cleaner.backoff.ms=100"})
	conn, err := dial(p.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	at := time.Now().Add(-time.Hour).UnixMilli()
	batch := func(codec record.Codec, keys ...string) []byte {
		b := record.NewBuilder(record.BuilderOptions{Codec: codec})
		for _, key := range keys {
			r := record.Record{Key: []byte(key), Value: []byte("v"), Timestamp: at}
			if key == "" {
				r.Key = nil
			}
			if err := b.Append(r); err != nil {
				t.Fatal(err)
			}
		}
		raw, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	settings := map[string]string{"cleanup.policy": "compact", "segment.ms": "10000", "retention.ms": "-1", "min.cleanable.dirty.ratio": "0.01"}
	if err := conn.CreateTopic("keyed", 1, settings); err != nil {
		t.Fatal(err)
	}
	settings["cleanup.policy"] = "delete"
	if err := conn.CreateTopic("mixed", 1, settings); err != nil {
		t.Fatal(err)
	}
	for codec := record.None; codec <= record.Zstd; codec++ {
		answer, err := conn.Produce("keyed", 0, batch(codec, "a", "", "b"))
		if err != nil || answer.ErrorCode != 87 || len(answer.ErrorRecords) != 1 || answer.ErrorRecords[0].RelativeOffset != 1 {
			t.Errorf("%v: error %d, records %v, %v; want 87 for record 1", codec, answer.ErrorCode, answer.ErrorRecords, err)
		}
		if answer, err = conn.Produce("mixed", 0, batch(codec, "a", "", "b")); err != nil || answer.ErrorCode != 0 {
			t.Errorf("%v: error %d, %v", codec, answer.ErrorCode, err)
		}
		at += 20_000
	}
	if end, err := conn.ListOffset("keyed", 0, -1); end != 0 || err != nil {
		t.Errorf("the log ends at %d, %v; want nothing in it", end, err)
	}
	if code, err := conn.AlterTopic("mixed", map[string]string{"cleanup.policy": "compact"}); code != 0 || err != nil {
		t.Fatalf("error %d, %v", code, err)
	}
	awaitCleaned(t, p, "mixed", 12)
	var left []string
	for offset := int64(0); offset < 12; offset++ {
		if line := fetchLine(t, conn, "mixed", offset); !strings.Contains(line, "batches=[9-11/2]") {
			left = append(left, line)
		}
	}
	if len(left) > 0 {
		t.Errorf("want a and b of the last segment that was cleaned: %q", left)
	}
	awaitLine(t, p, "Found 4 invalid messages during compaction.")
	p.Stop(t)
}
