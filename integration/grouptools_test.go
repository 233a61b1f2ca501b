package integration

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestGroupTools runs kafka-consumer-groups.sh in all its forms on groups with and without members, and compares what it
// prints and how it ends with what it prints against Apache Kafka 4.4.0.
func TestGroupTools(t *testing.T) {
	kafkaLibs(t) // skips before a broker is started
	file := filepath.Join("testdata", "tools", "groups.txt")
	runs := readToolRuns(t, "groups.txt")
	files, data, addr := t.TempDir(), filepath.Join(t.TempDir(), "data"), freeAddr(t)
	settings := append([]string{"offsets.topic.num.partitions=2"}, quickSessions...)
	recording := os.Getenv(recordToolsEnv) != ""
	p := startProcess(t, data, addr, settings)
	if recording {
		p.Stop(t)
		p = startKafka(t, []string{data}, addr, settings...)
	}
	for name, text := range map[string]string{
		"offsets.csv": "t,0,1\nt,1,2\n", "groups.csv": "empty,t,0,2\nother,t,1,1\n", "wrong.csv": "t,zero,1\n", "client.properties": "request.timeout.ms=20000\n",
	} {
		if err := os.WriteFile(filepath.Join(files, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	groupsForTools(t, addr)
	printed := runTools(t, runs, addr, files)
	if recording {
		var all strings.Builder
		for n, r := range runs {
			all.WriteString("#### " + r.command + "\n" + withoutMembers(withoutNoise(printed[n], files, data)))
		}
		if err := os.WriteFile(file, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for n, r := range runs {
		if got := withoutMembers(withoutNoise(printed[n], files, data)); got != withoutMembers(r.printed) {
			t.Errorf("%s\nprinted:\n%s\nagainst Kafka:\n%s", r.command, got, r.printed)
		}
	}
	t.Logf("%d runs of the tool compared", len(runs))
	p.Stop(t)
}

// usageNoise is the list of options that the tool prints after some mistakes.
var usageNoise = regexp.MustCompile(`(?s)Option +Description.*?\n--version +Display Kafka version\. *\n`)

// memberNoise is the ids that members are given; all are of one length.
var memberNoise = regexp.MustCompile(`live-[0-9a-f-]{36}|[A-Za-z0-9_-]{22}==`)

// choiceNoise is lists that come out of Java's sets in an order of each run.
var choiceNoise = regexp.MustCompile(`(?m)(Valid states are: |one of these options: |following scenarios: )(.*)$`)

// withoutMembers leaves out what differs from run to run of this tool.
func withoutMembers(text string) string {
	text = usageNoise.ReplaceAllString(text, "USAGE\n")
	text = choiceNoise.ReplaceAllStringFunc(text, func(line string) string {
		at := strings.LastIndex(line, ": ") + 2
		choices := strings.Split(strings.Trim(line[at:], "[]"), ", ")
		for i := range choices {
			choices[i] = strings.Trim(choices[i], "[]")
		}
		slices.Sort(choices)
		return line[:at] + strings.Join(choices, ", ")
	})
	return memberNoise.ReplaceAllStringFunc(text, func(id string) string { return "MEMBER" + strings.Repeat("*", len(id)-6) })
}

// groupsForTools makes topics with records, two groups without members, and one of each protocol with a member that has read
// everything.
func groupsForTools(t *testing.T, addr string) {
	t.Helper()
	createTopic(t, addr, "t", 2, nil)
	createTopic(t, addr, "u", 1, nil)
	cl := newClient(t, addr, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 10 {
		r := &kgo.Record{Topic: "t", Partition: int32(i % 2), Value: []byte("x"), Timestamp: begin.Add(time.Duration(i) * time.Hour)}
		if err := cl.ProduceSync(ctx, r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, cl, "empty", "t", 3)
	commit(t, cl, "empty", "u", 0)
	commit(t, cl, "other", "t", 4)
	for group, opt := range map[string]kgo.Opt{"live-classic": kgo.Balancers(kgo.RangeBalancer()), "live-consumer": kgo.ServerSideBalancer()} {
		c := newTally()
		startReader(t, addr, "t", c, kgo.ConsumerGroup(group), kgo.ClientID("live"), opt)
		c.await(t, "10 reads of "+group, func() bool { return c.committed == 10 })
	}
	if !await(patience, func() bool { return stableGroups(t, cl) == 2 }) {
		t.Fatal("the groups with members do not become stable")
	}
}

// stableGroups counts the groups that are stable.
func stableGroups(t *testing.T, cl *kgo.Client) int {
	t.Helper()
	req := kmsg.NewPtrListGroupsRequest()
	req.StatesFilter = []string{"Stable"}
	return len(ask[*kmsg.ListGroupsResponse](t, cl, req).Groups)
}
