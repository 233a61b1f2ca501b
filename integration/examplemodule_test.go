package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExampleModule runs the tests of examples/gotest, a module of its own: franz-go, Sarama, kafka-go and librdkafka against
// brokertest. It prints how long they waited for the broker and the first record.
func TestExampleModule(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		skipOrFail(t, "needs gcc in PATH: confluent-kafka-go links librdkafka")
	}
	dir, left := filepath.Join("..", "examples", "gotest"), t.TempDir()
	run := func(args ...string) (string, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "TMPDIR="+left)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run("list", "-deps", "-test", "."); err != nil {
		skipOrFail(t, "needs the modules of examples/gotest: "+out)
	}
	out, err := run("test", "-count=1", "-v", ".")
	if err != nil {
		t.Fatalf("go test in %s: %v\n%s", dir, err, out)
	}
	figures := 0
	for line := range strings.Lines(out) {
		if strings.Contains(line, "the first record is stored after") {
			figures++
			t.Log(strings.TrimSpace(line))
		}
	}
	if figures != 8 {
		t.Errorf("%d of 8 times were told:\n%s", figures, out)
	}
	if files, err := os.ReadDir(left); err != nil || len(files) > 0 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}
