package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary stands in for the command when this variable says so.
const roleEnv = "MINIBROKER_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "command":
		main()
	case "stuck": // a broker whose clean stop never ends
		signals := make(chan os.Signal, 2)
		signal.Notify(signals, syscall.SIGTERM)
		fmt.Println("ready")
		watch(slog.New(newKafkaHandler(os.Stdout, newLoggers(slog.LevelInfo))), signals, newGathered(os.Stdout), func() {}, nil)
	}
	os.Exit(m.Run())
}

// start runs the test binary in a role and gives its standard output line by line.
func start(t *testing.T, role string, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), roleEnv+"="+role)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// await reads lines up to one that contains the text.
func await(t *testing.T, lines *bufio.Scanner, text string) (seen []string) {
	t.Helper()
	for lines.Scan() {
		seen = append(seen, lines.Text())
		if strings.Contains(lines.Text(), text) {
			return seen
		}
	}
	t.Fatalf("no line with %q in:\n%s", text, strings.Join(seen, "\n"))
	return nil
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.properties")
	if err := os.WriteFile(bad, []byte("log.dirs="+dir+"/data\n\nnum.partitions=abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, c := range []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{[]string{"--help"}, 0, "Usage:", ""},
		{[]string{"version"}, 0, "(Kafka 4.4.0)", ""},
		{[]string{"--version"}, 0, "(Kafka 4.4.0)", ""},
		{[]string{"--nope"}, 2, "", "unknown flag: --nope"},
		{[]string{"a", "b"}, 2, "", "accepts at most 1 arg"},
		{[]string{"ping", "a", "b"}, 2, "", "accepts at most 1 arg"},
		{[]string{"ping", "--timeout", "x"}, 2, "", "invalid argument"},
		{[]string{"version", "x"}, 2, "", "unknown command"},
		{[]string{"--override", "x"}, 2, "", `--override "x": want key=value`},
		{[]string{"--override", "log.dirs=/x", "--data-dir", "/y"}, 2, "", "--override log.dirs and the flag for it are both given"},
		{[]string{"--listen", "9092"}, 2, "", "--listen 9092: want HOST:PORT"},
		{[]string{"--advertise", "x"}, 2, "", "--advertise x: want HOST:PORT"},
		{[]string{filepath.Join(dir, "absent")}, 1, "", "no such file"},
		{[]string{bad}, 1, bad + ":3: Invalid value abc for configuration num.partitions: Not a number of type INT (kafka.Kafka$)", "Invalid value abc"},
		{[]string{"--override", "log.retention.ms=0"}, 1, "ERROR", "--override log.retention.ms: requirement failed: log.retention.ms must be unlimited (-1) or, " +
			"greater than or equal to 1"},
		{[]string{"--listen", busy.Addr().String(), "--data-dir", filepath.Join(dir, "d")}, 1, "ERROR", "address already in use"},
	} {
		var stdout, stderr strings.Builder
		code := execute(c.args, &stdout, &stderr)
		if code != c.code || !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", c.args, code, stdout.String(), stderr.String())
		}
	}
}

// TestRunAndStop is one life of the process: the ready lines, an answer to ping, a clean end.
func TestRunAndStop(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		cmd, lines := start(t, "command", "--listen", "127.0.0.1:0", "--data-dir", data)
		seen := await(t, lines, "Kafka Server started")
		seen = slices.DeleteFunc(seen, func(line string) bool { return strings.Contains(line, ".LogCleaner)") }) // it begins meanwhile
		n := len(seen)
		if n < 3 {
			t.Fatalf("only %q", seen)
		}
		for i, want := range []string{
			"INFO [BrokerLifecycleManager id=1] The broker has been unfenced. Transitioning from RECOVERY to RUNNING. (org.apache.kafka.server.BrokerLifecycleManager)",
			"INFO [KafkaServer id=1] started (kafka.server.KafkaServer)",
			"INFO [KafkaRaftServer nodeId=1] Kafka Server started (kafka.server.KafkaRaftServer)",
		} {
			if got := seen[n-3+i]; !strings.HasSuffix(got, "] "+want) {
				t.Errorf("ready line %d is %q", i, got)
			}
		}
		var stdout, stderr strings.Builder
		if code := execute([]string{"ping", boundAddress(t, seen)}, &stdout, &stderr); code != 0 {
			t.Errorf("ping: %d %s", code, stderr.String())
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		await(t, lines, "shut down completed")
		if code := exitCode(cmd.Wait()); code != 0 {
			t.Errorf("%v: exit code %d", sig, code)
		}
		if _, err := os.Stat(filepath.Join(data, ".kafka_cleanshutdown")); err != nil {
			t.Errorf("%v: no clean stop: %v", sig, err)
		}
	}
}

func boundAddress(t *testing.T, seen []string) string {
	t.Helper()
	for _, line := range seen {
		if _, rest, ok := strings.Cut(line, "Awaiting socket connections on "); ok {
			addr, _, _ := strings.Cut(rest, ". ")
			return addr
		}
	}
	t.Fatalf("no bound address in %q", seen)
	return ""
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	cmd, lines := start(t, "stuck")
	await(t, lines, "ready")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(t, lines, "Terminating process due to signal SIGTERM")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := exitCode(cmd.Wait()); code != 1 {
		t.Errorf("exit code %d after the second signal", code)
	}
}
