package integration

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestResetTools runs kafka-streams-application-reset in all its forms, and kafka-replica-verification until it has reported
// twice, and compares what they print and how they end with what they print against Apache Kafka 4.4.0.
func TestResetTools(t *testing.T) {
	kafkaLibs(t) // skips before a broker is started
	runs := readToolRuns(t, "reset.txt")
	files, data, addr := t.TempDir(), t.TempDir(), freeAddr(t)
	if err := os.WriteFile(filepath.Join(files, "offsets.csv"), []byte("in,0,4\nin,1,2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	settings := []string{"group.initial.rebalance.delay.ms=0", "offsets.topic.num.partitions=2", "log.retention.ms=-1"} // the records are old, and stay
	p := startProcess(t, data, addr, settings)
	record := os.Getenv(recordToolsEnv) != ""
	if record {
		p.Stop(t)
		p = startKafka(t, []string{data}, addr, settings...)
	}
	resetTopics(t, addr)
	tools, endless := runs[:len(runs)-1], runs[len(runs)-1]
	printed := append(runTools(t, tools, addr, files), reports(t, endless.command, addr))
	var text strings.Builder
	for n, r := range runs {
		got := inOrder(clientOutput(r.command, printed[n], files))
		text.WriteString("#### " + r.command + "\n" + got)
		if !record && got != r.printed {
			t.Errorf("%s\nprinted:\n%s\nagainst Kafka:\n%s", r.command, got, r.printed)
		}
	}
	if record {
		p.end(t)
		if err := os.WriteFile(filepath.Join("testdata", "tools", "reset.txt"), []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Logf("%d runs of tools compared", len(runs))
	p.Stop(t)
}

// inOrder lists the partitions of a member by name: its client, whose leader assigns them itself, lists them as they come.
func inOrder(text string) string {
	const list = "topicPartitions="
	return regexp.MustCompile(list+`[^)]*`).ReplaceAllStringFunc(text, func(found string) string {
		partitions := strings.Split(strings.TrimPrefix(found, list), ",")
		slices.Sort(partitions)
		return list + strings.Join(partitions, ",")
	})
}

// resetTopics makes what the tools work on: a topic of records that are a second apart, internal topics of an application, and
// a group with a member.
func resetTopics(t *testing.T, addr string) {
	t.Helper()
	createTopic(t, addr, "in", 2, nil)
	for _, topic := range []string{"app-store-changelog", "app-by-key-repartition", "app-other"} {
		createTopic(t, addr, topic, 1, nil)
	}
	cl := newClient(t, addr, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range 20 {
		r := &kgo.Record{Topic: "in", Partition: int32(n % 2), Value: fmt.Append(nil, n), Timestamp: start.Add(time.Duration(n/2) * time.Second)}
		if err := cl.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	member := newClient(t, addr, kgo.ConsumerGroup("busy"), kgo.ConsumeTopics("in"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for got := 0; got < 20; { // so that it is a member
		fetches := member.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		got += fetches.NumRecords()
	}
}

// reports runs a tool that reports again and again, and returns what it printed up to its second report.
func reports(t *testing.T, command, addr string) string {
	t.Helper()
	words := strings.Split(command, "|")
	cmd := javaCommand(t, "", append([]string{"org.apache.kafka.tools." + words[0], "--broker-list", addr}, words[1:]...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(javaTimeout, func() { cmd.Process.Kill() })
	defer late.Stop()
	var printed strings.Builder
	lines := bufio.NewScanner(out)
	for count := 0; count < 2 && lines.Scan(); {
		printed.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "max lag is") {
			count++
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	return printed.String()
}
