package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// adminClientNoise is what differs from run to run in what admin clients print.
var adminClientNoise = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "HOST:PORT"},
	{regexp.MustCompile(`(?i)\b(port"?[:=] ?)\d+`), "${1}PORT"},
	{regexp.MustCompile(`(?i)(finalized_?epoch"?[:=] ?)\d+`), "${1}EPOCH"},
	{regexp.MustCompile(`"[A-Za-z0-9+/]{22}=="`), `"ID"`},
	{regexp.MustCompile(`_id: [A-Za-z0-9+/]{22}\b`), "_id: ID"}, // librdkafka's base64
	{regexp.MustCompile(`@[0-9a-f]{6,8}\b`), "@OBJECT"},
}

// adminCommand makes the command of a round: ADDRESS, two log dirs, a time in milliseconds, which the records get, and a pause after
// each call. It skips the test when what it needs is missing.
type adminCommand func(t *testing.T, args ...string) *exec.Cmd

// runAdminRound runs a scripted round through topics, configs, groups, offsets and log dirs with the admin client of one library,
// and compares what it got, step by step, with what it got from Apache Kafka 4.4.0. With recordToolsEnv it records that.
func runAdminRound(t *testing.T, name string, command adminCommand) {
	t.Helper()
	files, addr := t.TempDir(), freeAddr(t)
	dirs := []string{filepath.Join(files, "a"), filepath.Join(files, "b")}
	record := os.Getenv(recordToolsEnv) != ""
	base, pause := time.Now().UnixMilli(), 0
	if record { // Kafka answers before all of it has seen a change
		pause = 250
	}
	cmd := command(t, addr, dirs[0], dirs[1], strconv.FormatInt(base, 10), strconv.Itoa(pause)) // skips before a broker is started
	file := filepath.Join(files, "server.properties")
	props := append(kafkaProperties(dirs, addr, freeAddr(t)), "transaction.state.log.num.partitions=2")
	if err := os.WriteFile(file, []byte(strings.Join(props, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, code := runFormat(t, []string{"format", "-t", formatCluster, "-c", file}); code != 0 {
		t.Fatal(said)
	}
	recording := filepath.Join("testdata", "admin", "recorded", name+".txt")
	if record {
		p := startKafkaWith(t, file, dirs[0], addr)
		got := adminOutput(t, cmd, files, base)
		p.end(t)
		if err := os.WriteFile(recording, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	p := startArgs(t, dirs[0], addr, []string{file})
	got := adminOutput(t, cmd, files, base)
	want, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	compareSteps(t, got, string(want))
	p.StopDirs(t, dirs)
}

// adminOutput runs a round and returns what it printed, without what differs from run to run.
func adminOutput(t *testing.T, cmd *exec.Cmd, files string, base int64) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), javaTimeout)
	defer cancel()
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer context.AfterFunc(ctx, func() { cmd.Process.Kill() })()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out.String(), said.String())
	}
	text := strings.ReplaceAll(out.String(), files, "FILES")
	for n := range int64(10_000) / 1000 {
		text = strings.ReplaceAll(text, strconv.FormatInt(base+n*1000, 10), fmt.Sprint("TIME+", n))
	}
	text = strings.ReplaceAll(text, strconv.FormatInt(base+24*time.Hour.Milliseconds(), 10), "LATER")
	for _, n := range adminClientNoise {
		text = n.pattern.ReplaceAllString(text, n.instead)
	}
	return word.ReplaceAllStringFunc(text, func(w string) string {
		if len(w) == 22 { // as long as an id in base64, which may begin with a dash
			return "ID"
		}
		return w
	})
}

var word = regexp.MustCompile(`[A-Za-z0-9_-]+`)

// javaSet is a set that Java prints, in an order of its own in each process.
var javaSet = regexp.MustCompile(`topicPartitions=[\w,-]+`)

// sorted puts the elements of such sets in order.
func sorted(text string) string {
	return javaSet.ReplaceAllStringFunc(text, func(set string) string {
		name, list, _ := strings.Cut(set, "=")
		all := strings.Split(list, ",")
		slices.Sort(all)
		return name + "=" + strings.Join(all, ",")
	})
}

// compareSteps compares what the steps of two rounds printed. The order of lines does not count: many lists are in that of a hash
// table.
func compareSteps(t *testing.T, got, want string) {
	t.Helper()
	ours, theirs := strings.Split(sorted(got), "== ")[1:], strings.Split(sorted(want), "== ")[1:]
	if len(ours) != len(theirs) {
		t.Errorf("%d steps, Kafka answered %d", len(ours), len(theirs))
	}
	for n := range min(len(ours), len(theirs)) {
		name, _, _ := strings.Cut(theirs[n], "\n")
		a, b := strings.Split(ours[n], "\n"), strings.Split(theirs[n], "\n")
		missing, added := lineDifference(b, a), lineDifference(a, b)
		if len(missing)+len(added) == 0 {
			continue
		}
		t.Errorf("%s: here\n%s\nfrom Kafka\n%s", name, strings.Join(added, "\n"), strings.Join(missing, "\n"))
	}
	t.Logf("%d steps, %d lines compared", len(theirs), strings.Count(want, "\n"))
}

// lineDifference are the lines of a that are not in b.
func lineDifference(a, b []string) (only []string) {
	count := map[string]int{}
	for _, line := range b {
		count[line]++
	}
	for _, line := range a {
		if count[line]--; count[line] < 0 {
			only = append(only, fmt.Sprintf("%.400s", line))
		}
	}
	return only
}
