package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minibroker/logstore"
)

// stoppedDir makes a data directory with one empty log.
func stoppedDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	s, err := logstore.Open(logstore.Options{Dirs: []string{dir}, NodeID: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(logstore.TopicPartition{Topic: "t"}, logstore.NewUUID(), nil, logstore.DefaultConfig()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(logstore.CleanStop{BrokerEpoch: 1}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestVerify(t *testing.T) {
	good, bad := stoppedDir(t), stoppedDir(t)
	if err := os.WriteFile(filepath.Join(bad, "t-0", "00000000000000000000.log"), make([]byte, 100), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"verify", "--help"}, 0, "minibroker verify ./minibroker-data", ""},
		{[]string{"verify"}, 2, "", "requires at least 1 arg"},
		{[]string{"verify", good}, 0, "1 directories checked, 0 findings", ""},
		{[]string{"verify", good, bad}, 1, "00000000000000000000.log at byte 0: bad batch", "1 findings"},
		{[]string{"verify", filepath.Join(good, "absent")}, 1, "", "no such file"},
		{[]string{"verify", filepath.Join(good, "meta.properties")}, 1, "", "is a file"},
	} {
		var stdout, stderr strings.Builder
		code := execute(c.args, &stdout, &stderr)
		if code != c.code || !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", c.args, code, stdout.String(), stderr.String())
		}
	}
	if _, err := os.Stat(filepath.Join(good, ".lock")); !os.IsNotExist(err) {
		t.Errorf("verify left its lock: %v", err)
	}
}

// TestVerifyRefusesDirInUse: a running broker's files change under the reader.
func TestVerifyRefusesDirInUse(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	cmd, lines := start(t, "command", "--listen", "127.0.0.1:0", "--data-dir", data)
	await(t, lines, "Kafka Server started")
	var stdout, stderr strings.Builder
	if code := execute([]string{"verify", data}, &stdout, &stderr); code != 1 || !strings.Contains(stderr.String(), "in use") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout.String(), stderr.String())
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	await(t, lines, "shut down completed")
	if code := exitCode(cmd.Wait()); code != 0 {
		t.Errorf("broker: exit code %d", code)
	}
	stdout.Reset()
	if code := execute([]string{"verify", data}, &stdout, &stderr); code != 0 {
		t.Errorf("after the stop: exit code %d, %s", code, stdout.String())
	}
}
