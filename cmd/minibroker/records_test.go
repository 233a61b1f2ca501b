package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"minibroker/logstore"
)

// runningBroker starts the command on a free port and stops it cleanly in the end, after which its directory must be sound.
func runningBroker(t *testing.T, args ...string) (addr string) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	cmd, lines := start(t, "command", append([]string{"--listen", "127.0.0.1:0", "--data-dir", data}, args...)...)
	addr = boundAddress(t, await(t, lines, "Kafka Server started"))
	t.Cleanup(func() {
		stopCleanly(t, cmd)
		found, err := logstore.VerifyDir(data, nil)
		if err != nil || len(found) > 0 {
			t.Errorf("verify: %v, %v", found, err)
		}
	})
	go func() {
		for lines.Scan() { // so that the log never blocks the broker
		}
	}()
	return addr
}

func stopCleanly(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); exitCode(err) != 0 {
		t.Errorf("the broker ended with %v", err)
	}
}

// succeed runs a command line that must succeed and returns what it prints.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	if code := execute(args, &stdout, &stderr); code != 0 {
		t.Fatalf("%q: exit code %d: %s", args, code, stderr.String())
	}
	return stdout.String()
}

func TestTopicsProduceConsume(t *testing.T) {
	addr := runningBroker(t)
	at := func(args ...string) []string { return append(args, "-b", addr) }
	if out := succeed(t, at("topics", "create", "orders:3:cleanup.policy=compact", "plain", "-c", "retention.ms=60000")...); out != "created orders\ncreated plain\n" {
		t.Errorf("create: %q", out)
	}
	succeed(t, at("topics", "create", "orders", "--if-not-exists")...)
	if out := succeed(t, at("produce", "orders", "--key", "42", "-H", "trace=abc", "one", "two")...); out != "2 records written to orders\n" {
		t.Errorf("produce: %q", out)
	}
	succeed(t, at("produce", "plain", "-q", "-z", "zstd", "a", "b", "c")...)
	if out := succeed(t, at("topics", "list")...); out != "orders\nplain\n" {
		t.Errorf("list: %q", out)
	}
	out := succeed(t, at("topics", "describe", "orders")...)
	for _, want := range []string{"orders, 3 partitions\n", "  cleanup.policy=compact\n", "  retention.ms=60000\n", "  partition  first  next  leader\n", "  0  ", addr} {
		if !strings.Contains(out, strings.TrimRight(want, " ")) {
			t.Errorf("describe has no %q:\n%s", want, out)
		}
	}
	var rec struct {
		Topic      string
		Partition  int32
		Offset     int64
		Timestamp  int64
		Key, Value string
		Headers    []struct{ Key, Value string }
	}
	lines := strings.Split(succeed(t, at("consume", "orders", "--from-beginning", "-e", "--json")...), "\n")
	if len(lines) != 3 || json.Unmarshal([]byte(lines[1]), &rec) != nil || rec.Key != "42" || rec.Value != "two" || rec.Offset != 1 || rec.Partition != 1 ||
		len(rec.Headers) != 1 || rec.Headers[0].Key != "trace" || rec.Headers[0].Value != "abc" || rec.Timestamp == 0 {
		t.Errorf("consume: %q", lines)
	}
	if out := succeed(t, at("consume", "orders", "--from-beginning", "-e", "--keys", "-p", "1")...); out != "42\tone\n42\ttwo\n" {
		t.Errorf("with keys: %q", out)
	}
	if out := succeed(t, at("consume", "plain", "--from-beginning", "-n", "2")...); out != "a\nb\n" {
		t.Errorf("the first two: %q", out)
	}
	if out := succeed(t, at("consume", "plain", "-e")...); out != "" {
		t.Errorf("from the end: %q", out)
	}
	for _, want := range []string{"a\n", "b\nc\n", ""} { // a group goes on where it was
		args := at("consume", "plain", "--group", "g", "--from-beginning", "-e")
		if want == "a\n" {
			args = append(args, "-n", "1")
		}
		if out := succeed(t, args...); out != want {
			t.Errorf("group: %q, want %q", out, want)
		}
	}
	if out := succeed(t, at("topics", "delete", "plain")...); out != "deleted plain\n" {
		t.Errorf("delete: %q", out)
	}
	succeed(t, at("topics", "delete", "plain", "--if-exists")...)
}

func TestRemoteRefusals(t *testing.T) {
	addr := runningBroker(t, "--topic", "t:1")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"topics", "create", "t"}, 1, "TOPIC_ALREADY_EXISTS"},
		{[]string{"topics", "create", "x", "-c", "no.such=1"}, 1, "Unknown topic config name: no.such"},
		{[]string{"topics", "create", "x", "-c", "no"}, 2, "--config no: want key=value"},
		{[]string{"topics", "create", "x:y"}, 2, "no number of partitions"},
		{[]string{"topics", "delete", "x"}, 1, "UNKNOWN_TOPIC_OR_PARTITION"},
		{[]string{"topics", "describe", "x"}, 1, "UNKNOWN_TOPIC_OR_PARTITION"},
		{[]string{"produce", "t", "-z", "rar", "v"}, 2, "--compression rar"},
		{[]string{"produce", "t", "-H", "x", "v"}, 2, "--header x: want key=value"},
		{[]string{"produce", "t", "-p", "7", "v"}, 1, "there is no partition 7"},
		{[]string{"produce", "t", "-K", ":", "v"}, 1, `no key separator ":"`},
		{[]string{"produce", "t", strings.Repeat("x", 2<<20)}, 1, "MESSAGE_TOO_LARGE"},
		{[]string{"consume", "t", "-p", "7"}, 1, "there is no partition 7"},
		{[]string{"consume", "t", "-p", "0", "-g", "g"}, 2, "a group chooses the partitions"},
		{[]string{"consume", "absent"}, 1, "UNKNOWN_TOPIC_OR_PARTITION"},
	} {
		var stdout, stderr strings.Builder
		if code := execute(append(c.args, "-b", addr), &stdout, &stderr); code != c.code || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%.80q: exit code %d, %s; want %s", c.args, code, stderr.String(), c.want)
		}
	}
	if code := execute([]string{"topics", "list", "-b", "127.0.0.1:1"}, &strings.Builder{}, &strings.Builder{}); code != 1 {
		t.Errorf("nobody there: exit code %d", code)
	}
}

// TestProduceLines writes more lines than fit into one batch, with keys, and reads all of them back.
func TestProduceLines(t *testing.T) {
	addr := runningBroker(t, "--topic", "lines:4")
	var in strings.Builder
	const n = 3*batchRecords + 7
	want := make([]string, n)
	for i := range n {
		want[i] = fmt.Sprintf("k%d\tvalue %d", i, i)
		fmt.Fprintf(&in, "k%d:value %d\n", i, i)
	}
	var stdout, stderr strings.Builder
	cmd := newProduce(strings.NewReader(in.String()), &stdout)
	cmd.SetArgs([]string{"lines", "-b", addr, "-K", ":"})
	cmd.SetErr(&stderr)
	if err := cmd.Execute(); err != nil || stdout.String() != fmt.Sprintf("%d records written to lines\n", n) {
		t.Fatalf("%v, %s%s", err, stdout.String(), stderr.String())
	}
	got := strings.Split(strings.TrimSpace(succeed(t, "consume", "lines", "-b", addr, "--from-beginning", "-e", "--keys")), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d lines came back, %d were written", len(got), n)
	}
}

// TestTwoMembers: a second member of a group gets a part of the partitions, and nothing is printed twice or lost.
func TestTwoMembers(t *testing.T) {
	addr := runningBroker(t, "--topic", "shared:4", "--override", "group.consumer.min.heartbeat.interval.ms=100",
		"--override", "group.consumer.heartbeat.interval.ms=100")
	first, firstLines := start(t, "command", "consume", "shared", "-b", addr, "-g", "g", "--from-beginning", "--json")
	succeed(t, "produce", "shared", "-b", addr, "-p", "0", "begin")
	await(t, firstLines, `"begin"`)
	second, secondLines := start(t, "command", "consume", "shared", "-b", addr, "-g", "g", "--from-beginning", "--json")
	// The second has partitions of its own once one of these comes out there.
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			var stderr strings.Builder
			if code := execute([]string{"produce", "shared", "-b", addr, "-q", "-p", fmt.Sprint(i % 4), fmt.Sprint("r", i)}, &strings.Builder{}, &stderr); code != 0 {
				t.Errorf("produce: %s", stderr.String())
				return
			}
		}
	}()
	go func() {
		for firstLines.Scan() {
		}
	}()
	await(t, secondLines, `"topic":"shared"`)
	close(stop)
	<-done
	go func() {
		for secondLines.Scan() {
		}
	}()
	stopCleanly(t, first)
	stopCleanly(t, second)
}
