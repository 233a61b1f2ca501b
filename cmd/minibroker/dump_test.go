package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestDumpCommand shows a directory that a broker left.
func TestDumpCommand(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	cmd, lines := start(t, "command", "--listen", "127.0.0.1:0", "--data-dir", data, "--topic", "words:2")
	await(t, lines, "Kafka Server started")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(t, lines, "shut down completed")
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	if code := execute([]string{"dump", "--json", data}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	topics := 0
	for line := range strings.Lines(stdout.String()) {
		var entry struct {
			File  string
			Type  string
			Value json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.File == "" || entry.Type == "" {
			t.Fatalf("%s: %v", line, err)
		}
		if strings.Contains(string(entry.Value), `"type":"TOPIC_RECORD","version":0,"data":{"name":"words",`) {
			topics++
		}
	}
	if topics == 0 {
		t.Errorf("no record of the topic in:\n%s", stdout.String())
	}
	damaged := filepath.Join(data, "__cluster_metadata-0", "00000000000000000000.log")
	bytes, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	bytes[len(bytes)-1] ^= 1
	if err := os.WriteFile(damaged, bytes, 0o644); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(data, "notes.md")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"dump", damaged}, 1, "Log starting offset: 0", "Checksums do not match"},
		{[]string{"dump"}, 2, "", "requires at least 1 arg"},
		{[]string{"dump", "--decoder", "x", data}, 2, "", "want one of auto, plain, groups, transactions, metadata, share-state"},
		{[]string{"dump", filepath.Join(data, "absent")}, 1, "", "no such file"},
		{[]string{"dump", other}, 1, "", "is no file of a log dir that is known here"},
		{[]string{"dump", "--decoder", "plain", "--batches", filepath.Join(data, "meta.properties")}, 0, "node.id=1", ""},
	} {
		var stdout, stderr strings.Builder
		code := execute(c.args, &stdout, &stderr)
		if code != c.code || !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", c.args, code, stdout.String(), stderr.String())
		}
	}
}
