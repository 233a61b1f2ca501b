package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// toolEvent is one JSON line of the tools that Kafka's system tests run.
type toolEvent struct {
	Name      string `json:"name"`
	Sent      int    `json:"sent"`  // of VerifiableProducer, in its last line
	Acked     int    `json:"acked"` // likewise
	Count     int    `json:"count"` // of VerifiableConsumer, with records_consumed
	Stage     string `json:"stage"` // of TransactionalMessageCopier
	Consumed  int64  `json:"consumed"`
	Remaining int64  `json:"remaining"`
}

// toolEvents reads the events that a tool printed.
func toolEvents(t *testing.T, printed string) []toolEvent {
	t.Helper()
	var events []toolEvent
	for line := range strings.Lines(printed) {
		if !strings.HasPrefix(line, `{"timestamp"`) && !strings.HasPrefix(line, `{"transactionalId"`) {
			continue
		}
		var e toolEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil && !strings.Contains(err.Error(), ".key") {
			t.Errorf("%s: %v", line, err)
		}
		events = append(events, e)
	}
	return events
}

// TestSystemTestTools runs the tools of Kafka's own system tests to their end: VerifiableProducer fills a topic,
// TransactionalMessageCopier copies it in transactions of which many are aborted, alone and as a member of a group, and
// VerifiableConsumer reads a copy. Every count is right.
func TestSystemTestTools(t *testing.T) {
	kafkaLibs(t)
	const records = 2000
	data, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
	p := startProcess(t, data, addr, nil)
	for _, topic := range []string{"in", "out-alone", "out-group"} {
		createTopic(t, addr, topic, 1, nil)
	}
	committed := filepath.Join(t.TempDir(), "committed.properties")
	if err := os.WriteFile(committed, []byte("isolation.level=read_committed\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	copier := []string{"TransactionalMessageCopier", "--broker-list", addr, "--input-topic", "in", "--input-partition", "0",
		"--transaction-size", "100", "--enable-random-aborts"}
	consumer := []string{"VerifiableConsumer", "--bootstrap-server", addr, "--max-messages", fmt.Sprint(records), "--command-config", committed}
	runs := [][]string{
		{"VerifiableProducer", "--bootstrap-server", addr, "--topic", "in", "--max-messages", fmt.Sprint(records)},
		append(slices.Clone(copier), "--output-topic", "out-alone", "--transactional-id", "alone", "--consumer-group", "alone"),
		append(slices.Clone(copier), "--output-topic", "out-group", "--transactional-id", "member", "--consumer-group", "members", "--group-mode", "--use-group-metadata"),
		append(slices.Clone(consumer), "--topic", "out-group", "--group-id", "readers", "--group-protocol", "CONSUMER"),
	}
	for _, run := range runs {
		out := java(t, "", append([]string{"org.apache.kafka.tools." + run[0]}, run[1:]...)...)
		checkToolEvents(t, run[0], toolEvents(t, out), records)
	}
	var want []string
	for n := range records {
		want = append(want, strconv.Itoa(n))
	}
	slices.Sort(want)
	for _, topic := range []string{"out-alone", "out-group"} {
		if got := readCommitted(t, addr, topic, records); !slices.Equal(got, want) {
			t.Errorf("%s holds %d values, not those of the input once each", topic, len(got))
		}
	}
	p.Stop(t)
}

// checkToolEvents compares what a tool says it did with what it had to do.
func checkToolEvents(t *testing.T, tool string, events []toolEvent, records int) {
	t.Helper()
	var last toolEvent
	consumed := 0
	for _, e := range events {
		if e.Name == "records_consumed" {
			consumed += e.Count
		}
		if e.Stage == "ShutdownComplete" {
			last = e
		}
		if e.Name == "tool_data" {
			last = e
		}
	}
	switch tool {
	case "VerifiableProducer":
		if last.Sent != records || last.Acked != records {
			t.Errorf("%s: %+v", tool, last)
		}
	case "TransactionalMessageCopier":
		if last.Stage != "ShutdownComplete" || last.Consumed != int64(records) || last.Remaining != 0 {
			t.Errorf("%s: %+v", tool, last)
		}
	case "VerifiableConsumer":
		if consumed != records {
			t.Errorf("%s: %d records consumed", tool, consumed)
		}
	}
	t.Logf("%s: %d events, %d records", tool, len(events), records)
}
