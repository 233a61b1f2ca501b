package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// clientNoise is what differs from run to run, or is not the broker's: sizes, speeds, ids; and the APIs that are not built
// yet.
var clientNoise = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`FILES/[ab]\b`), "FILES/DIR"}, // in the order of a hash table
	{regexp.MustCompile(`TopicId: [\w-]{22}`), "TopicId: ID"},
	{regexp.MustCompile(`"log_dirs":\["[^"]*"\]`), `"log_dirs":["DIR"]`},
	{regexp.MustCompile(`(?ms)^Option +Description.*`), "USAGE\n"},
	{regexp.MustCompile(`\[(all-groups|group)\], \[(all-groups|group)\]`), "[all-groups], [group]"},
	{regexp.MustCompile(`console-consumer-\d+ *`), "console-consumer-N "},
	{regexp.MustCompile(` +(\n|$)`), "$1"},
	{regexp.MustCompile(`  +`), "  "},
	{regexp.MustCompile(`EndToEndLatencyGroup\S*|perf-consumer-\d+`), "GROUP"},
	{regexp.MustCompile(`(?m)^.*\w*(Share|Streams)\w*\(\d+\).*\n`), ""},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ][\d:,.]+Z?`), "TIME"},
}

// speedNoise is for tools that print how fast they were.
var speedNoise = regexp.MustCompile(`\d+([.:]\d+)*(E-\d+)?|NaN`)

func clientOutput(command, text, files string) string {
	text = withoutNoise(text, files, "\x00")
	for _, n := range clientNoise {
		text = n.pattern.ReplaceAllString(text, n.instead)
	}
	if strings.Contains(command, "|--list") { // in the order of a hash table
		lines := strings.SplitAfter(text, "\n")
		slices.Sort(lines)
		text = strings.Join(lines, "")
	}
	if strings.Contains(command, "Performance") || strings.Contains(command, "Latency") {
		text = speedNoise.ReplaceAllString(text, "N")
	}
	return text
}

// clientFiles writes the files that the tools read.
func clientFiles(t *testing.T, dir string) {
	t.Helper()
	records := func(topic string, offset int) string {
		return fmt.Sprintf(`{"version":1,"partitions":[{"topic":"%s","partition":0,"offset":%d}]}`, topic, offset)
	}
	to := func(name string) string {
		return fmt.Sprintf(`{"version":1,"partitions":[{"topic":"keyed","partition":0,"replicas":[1],"log_dirs":["%s"]}]}`, filepath.Join(dir, name))
	}
	for name, text := range map[string]string{
		"end.json": records("keyed", -1), "far.json": records("keyed", 99),
		"to-a.json": to("a"), "to-b.json": to("b"), "to-none.json": to("none"),
		"empty.properties": "", "quick.properties": "default.api.timeout.ms=2000\nrequest.timeout.ms=1000\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestClientTools runs Kafka's tools for topics, records, groups and offsets, and compares what they print and how they end
// with what they print against Apache Kafka 4.4.0.
func TestClientTools(t *testing.T) {
	kafkaLibs(t) // skips before a broker is started
	runs := readToolRuns(t, "client.txt")
	files, addr := t.TempDir(), freeAddr(t)
	clientFiles(t, files)
	dirs := []string{filepath.Join(files, "a"), filepath.Join(files, "b")}
	p := startArgs(t, dirs[0], addr, []string{"--listen", addr, "--override", "log.dirs=" + strings.Join(dirs, ","),
		"--override", "group.initial.rebalance.delay.ms=0", "--override", "offsets.topic.num.partitions=2"})
	record := os.Getenv(recordToolsEnv) != ""
	if record {
		p.StopDirs(t, dirs)
		p = startKafka(t, dirs, addr)
	}
	var commands strings.Builder
	for _, r := range runs {
		commands.WriteString(toolLine(r.command, addr, files))
	}
	printed := strings.Split(java(t, commands.String(), filepath.Join("testdata", "java", "Tools.java")), ">>> ")[1:]
	if len(printed) != len(runs) {
		t.Fatalf("%d tools ran, %d were asked for; the last one printed:\n%s", len(printed), len(runs), printed[len(printed)-1])
	}
	if record {
		p.end(t)
		var text strings.Builder
		for n, r := range runs {
			text.WriteString("#### " + r.command + "\n" + clientOutput(r.command, printed[n], files))
		}
		if err := os.WriteFile(filepath.Join("testdata", "tools", "client.txt"), []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for n, r := range runs {
		if got := clientOutput(r.command, printed[n], files); got != r.printed {
			t.Errorf("%s\nprinted:\n%s\nagainst Kafka:\n%s", r.command, got, r.printed)
		}
	}
	t.Logf("%d runs of tools compared", len(runs))
	p.StopDirs(t, dirs)
}
