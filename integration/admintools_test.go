package integration

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// toolRun is one run of a command line tool of Kafka's, and what it printed.
type toolRun struct {
	command string // class below org.apache.kafka.tools and arguments, separated by "|"
	printed string // exit code, standard output and error output
}

// readToolRuns reads a recording: each run is a line "#### " with the command and what was printed, up to the next.
func readToolRuns(t *testing.T, name string) []toolRun {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "tools", name))
	if err != nil {
		t.Fatal(err)
	}
	var runs []toolRun
	for _, part := range strings.Split(string(text), "#### ")[1:] {
		command, printed, _ := strings.Cut(part, "\n")
		runs = append(runs, toolRun{command, printed})
	}
	return runs
}

// toolLine is the line that testdata/java/Tools.java runs a command from.
func toolLine(command, addr, files string) string {
	words := strings.Split(strings.ReplaceAll(command, "FILES", files), "|")
	class, args := "org.apache.kafka.tools."+words[0], words[1:]
	broker := []string{"--bootstrap-server", addr}
	switch {
	case slices.Contains(args, "--bootstrap-server"): // another one
	case slices.Contains([]string{"MetadataQuorumCommand", "FeatureCommand", "TransactionsCommand"}, words[0]):
		args = append(broker, args...) // their subcommands come behind
	default:
		at := len(args)
		if at > 0 && strings.HasPrefix(args[at-1], "<") { // standard input
			at--
		}
		args = slices.Insert(args, at, broker...)
	}
	return strings.Join(append([]string{class}, args...), "\t") + "\n"
}

// toolNoise is what differs from run to run: stack traces, places, ids, offsets and times.
var toolNoise = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?m)^\s+(at |\.\.\. ).*\n`), ""},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "HOST:PORT"},
	{regexp.MustCompile(`127\.0\.0\.1 \d+ +`), "HOST PORT "},
	{regexp.MustCompile(`Epoch: \d+`), "Epoch: N"},
	{regexp.MustCompile(`ClusterId: +\S+|Cluster ID: \S+`), "CLUSTER"},
	{regexp.MustCompile(`HighWatermark: +\d+`), "HighWatermark: N"},
	{regexp.MustCompile(`(?m)^(1\s+\tA{22}\t).*`), "$1"},
	{regexp.MustCompile(`(?m)^1 +\t[\w-]{22}\t(\d+ +\t0 +\t\d+ +\t\d+ +|\d+ +\t0 +\t\d+ ms ago *\t\d+ ms ago *)\tLeader`), "1 DIRECTORY OFFSETS Leader"},
	{regexp.MustCompile(`"directoryId": "[\w-]{22}"`), "DIRECTORY"},
	{regexp.MustCompile(`ReplicaKey\(id=1, directoryId=[\w-]{22}\)`), "VOTER"},
	{regexp.MustCompile(`TopicId: [\w-]{22}`), "TopicId: ID"},
}

func withoutNoise(text, files, data string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, files, "FILES"), data, "LOGDIR")
	for _, n := range toolNoise {
		text = n.pattern.ReplaceAllString(text, n.instead)
	}
	return text
}

// runTools runs tools one after another in one process and returns what each printed.
func runTools(t *testing.T, runs []toolRun, addr, files string) []string {
	t.Helper()
	var commands strings.Builder
	for _, r := range runs {
		commands.WriteString(toolLine(r.command, addr, files))
	}
	printed := strings.Split(java(t, commands.String(), filepath.Join("testdata", "java", "Tools.java")), ">>> ")[1:]
	if len(printed) != len(runs) {
		t.Fatalf("%d tools ran, %d were asked for; the last one printed:\n%s", len(printed), len(runs), printed[len(printed)-1])
	}
	return printed
}

// TestAdminTools runs Kafka's tools for administration, one after another in one process, and compares what they print
// and how they end with what they print against Apache Kafka 4.4.0.
func TestAdminTools(t *testing.T) {
	runs := readToolRuns(t, "admin.txt")
	files := t.TempDir()
	for name, text := range map[string]string{
		"move.json":        `{"version":1,"topics":[{"topic":"good"}]}`,
		"same.json":        `{"version":1,"partitions":[{"topic":"good","partition":0,"replicas":[1]}]}`,
		"other.json":       `{"version":1,"partitions":[{"topic":"good","partition":0,"replicas":[1,9]}]}`,
		"empty.properties": "",
	} {
		if err := os.WriteFile(filepath.Join(files, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kafkaLibs(t) // skips before a broker is started
	data, addr, controller := t.TempDir(), freeAddr(t), freeAddr(t)
	listeners := "PLAINTEXT://" + addr + ",CONTROLLER://" + controller
	p := startArgs(t, data, addr, []string{"--data-dir", data, "--override", "listeners=" + listeners, "--override", "advertised.listeners=" + listeners})
	compareTools(t, runs, runTools(t, runs, addr, files), files, data)
	p.Stop(t)
}

// compareTools compares what tools printed with the recording.
func compareTools(t *testing.T, runs []toolRun, printed []string, files, data string) {
	t.Helper()
	for n, r := range runs {
		if got, want := withoutNoise(printed[n], files, data), withoutNoise(r.printed, files, data); got != want {
			t.Errorf("%s\nprinted:\n%s\nagainst Kafka:\n%s", r.command, got, want)
		}
	}
	t.Logf("%d runs of tools compared", len(runs))
}
