package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	cleanTopic   = "cleaned"
	cleanRate    = "log.cleaner.io.max.bytes.per.second"
	firstCleaned = "00000000000000000000.log.cleaned"
	cleanBatches = 20  // of one segment, so large that two do not fit one of 1 MiB
	cleanKeys    = 160 // ten to a batch
)

// cleanHandover is a compacted topic that minibroker and Kafka clean in turn, with what must be readable of it.
type cleanHandover struct {
	data   string
	rounds int
	newest map[string]string
	end    int64 // offset behind the last record
	at     int64 // timestamp of the next segment, ms
}

// TestCleaningHandover: minibroker and Kafka are killed in the middle of a pass, in turn, and the other one takes the
// directory over: every key's newest value is there, no offset comes twice, and it goes on cleaning to the end. They are
// stopped by kill -9 before a segment was replaced, between two replacements, and within one.
func TestCleaningHandover(t *testing.T) {
	kafkaLibs(t)
	stages := []func(files []string) bool{betweenSwaps}
	if os.Getenv(roundsEnv) != "" {
		stages = []func(files []string) bool{beforeSwap, betweenSwaps, withinSwap}
	}
	h := &cleanHandover{data: filepath.Join(t.TempDir(), "data"), newest: map[string]string{}, at: time.Now().Add(-24 * time.Hour).UnixMilli()}
	p := startProcess(t, h.data, freeAddr(t), []string{"log.cleaner.backoff.ms=100"})
	h.create(t, p.Addr)
	h.write(t, p.Addr)
	h.awaitCleaned(t, p)
	for _, stage := range stages {
		h.killWhileCleaning(t, p, stage)
		p = startKafka(t, []string{h.data}, freeAddr(t), "log.cleaner.backoff.ms=100")
		h.goOn(t, p)
		for _, line := range alarms(p.Output()) {
			t.Errorf("Kafka complains: %s", line)
		}
		h.killWhileCleaning(t, p, beforeSwap)
		p = startProcess(t, h.data, freeAddr(t), []string{"log.cleaner.backoff.ms=100"})
		h.goOn(t, p)
	}
	p.Stop(t)
	dumpLog(t, h.data)
	if len(stages) > 1 {
		h.cleanStops(t)
	}
}

// cleanStops hands over after whole passes.
func (h *cleanHandover) cleanStops(t *testing.T) {
	p := startKafka(t, []string{h.data}, freeAddr(t), "log.cleaner.backoff.ms=100")
	h.compare(t, p)
	h.write(t, p.Addr)
	h.awaitCleaned(t, p)
	p.end(t)
	verifyStore(t, h.data)
	p = startProcess(t, h.data, freeAddr(t), []string{"log.cleaner.backoff.ms=100"})
	h.compare(t, p)
	h.write(t, p.Addr)
	h.awaitCleaned(t, p)
	h.compare(t, p)
	p.Stop(t)
	dumpLog(t, h.data)
}

// The stages of a pass, told by the names of the files in the partition's directory: the segment at offset 0 is the first to
// be replaced, and always replaced alone.
func beforeSwap(files []string) bool {
	return slices.Contains(files, firstCleaned)
}

func betweenSwaps(files []string) bool {
	return !slices.Contains(files, firstCleaned) && ending(files, ".log.cleaned") && !ending(files, ".swap")
}

func withinSwap(files []string) bool { return ending(files, ".swap") }

func ending(files []string, suffix string) bool {
	return slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, suffix) })
}

func (h *cleanHandover) create(t *testing.T, addr string) {
	t.Helper()
	conn, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.CreateTopic(cleanTopic, 1, map[string]string{"cleanup.policy": "compact", "segment.ms": "10000", "segment.bytes": "1048576",
		"min.cleanable.dirty.ratio": "0.01", "file.delete.delay.ms": "1000"}); err != nil {
		t.Fatal(err)
	}
}

// write appends two segments and opens a third.
func (h *cleanHandover) write(t *testing.T, addr string) {
	t.Helper()
	conn, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	h.rounds++
	send := func(batch int, size int) {
		var records []keyValue
		for i := range 10 {
			key := fmt.Sprintf("key-%d", (batch*10+i)%cleanKeys)
			value := fmt.Sprintf("%d.%d.%d %s", h.rounds, batch, i, strings.Repeat("v", size))
			h.newest[key] = value
			records = append(records, keyValue{key, []byte(value)})
		}
		sendBatch(t, conn, cleanTopic, h.at, records)
		h.end += 10
	}
	for batch := range 2*cleanBatches + 1 {
		if batch%cleanBatches == 0 {
			h.at += 20_000
		}
		send(batch, 3200)
	}
}

// killWhileCleaning slows cleaning down, writes, and kills the broker at a stage of the pass. The stage of replacing files
// lasts less than a millisecond: it is tried until it was met.
func (h *cleanHandover) killWhileCleaning(t *testing.T, p *Process, stage func(files []string) bool) {
	t.Helper()
	h.throttle(t, p.Addr, "700000")
	for {
		h.write(t, p.Addr)
		if !h.awaitStage(stage) {
			t.Fatalf("the stage did not come, files %q\n%s", h.files(), p.Output())
		}
		p.Kill()
		files := h.files()
		if stage(files) {
			t.Logf("killed beside %q", slices.DeleteFunc(files, func(f string) bool {
				return !strings.HasSuffix(f, ".cleaned") && !strings.HasSuffix(f, ".swap")
			}))
			return
		}
		p = startProcess(t, h.data, freeAddr(t), []string{"log.cleaner.backoff.ms=100", cleanRate + "=700000"})
	}
}

// awaitStage looks often, since some stages are short.
func (h *cleanHandover) awaitStage(stage func(files []string) bool) bool {
	tick := time.NewTicker(100 * time.Microsecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
		if stage(h.files()) {
			return true
		}
	}
	return false
}

func (h *cleanHandover) files() []string {
	entries, _ := os.ReadDir(filepath.Join(h.data, cleanTopic+"-0"))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// goOn compares what the broker has, sets the brake loose, and waits until it has cleaned the log to the end.
func (h *cleanHandover) goOn(t *testing.T, p *Process) {
	t.Helper()
	h.compare(t, p)
	h.throttle(t, p.Addr, "")
	h.awaitCleaned(t, p)
	h.compare(t, p)
}

func (h *cleanHandover) awaitCleaned(t *testing.T, p *Process) {
	t.Helper()
	awaitCleaned(t, p, cleanTopic, h.end-10)
}

// throttle sets the cleaner's rate as the default of all brokers; "" takes it away.
func (h *cleanHandover) throttle(t *testing.T, addr, rate string) {
	t.Helper()
	alterBrokers(t, addr, cleanRate, rate)
}

// alterBrokers sets the default of all brokers for a setting; "" takes it away.
func alterBrokers(t *testing.T, addr, name, value string) {
	t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType = kmsg.ConfigResourceTypeBroker
	c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	c.Name, c.Op, c.Value = name, kmsg.IncrementalAlterConfigOpSet, &value
	if value == "" {
		c.Op, c.Value = kmsg.IncrementalAlterConfigOpDelete, nil
	}
	r.Configs = append(r.Configs, c)
	req.Resources = append(req.Resources, r)
	resp := ask[*kmsg.IncrementalAlterConfigsResponse](t, newClient(t, addr), req)
	if code := resp.Resources[0].ErrorCode; code != 0 {
		t.Fatalf("set %s to %q: error %d %s", name, value, code, text(resp.Resources[0].ErrorMessage))
	}
}

// compare reads the topic from its start.
func (h *cleanHandover) compare(t *testing.T, p *Process) {
	t.Helper()
	cl := newClient(t, p.Addr, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{cleanTopic: {0: kgo.NewOffset().AtStart()}}))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got, last, n := map[string]string{}, int64(-1), 0
	for last < h.end-1 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after offset %d of %d: %v\n%s", last, h.end, err, p.Output())
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset <= last {
				t.Errorf("offset %d after %d", r.Offset, last)
			}
			last = r.Offset
			got[string(r.Key)] = string(r.Value)
			n++
		})
	}
	for key, value := range h.newest {
		if got[key] != value {
			t.Errorf("%s is %.20q, want %.20q", key, got[key], value)
		}
	}
	if len(got) != len(h.newest) || int64(n) > h.end {
		t.Errorf("%d records of %d keys, want %d keys", n, len(got), len(h.newest))
	}
}
