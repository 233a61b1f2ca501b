package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// pythonClients are the releases of clients for Python that tests run: confluent-kafka, which is librdkafka, and kafka-python.
const pythonClients = "confluent-kafka==2.16.1 kafka-python==3.0.12"

// python is the interpreter of an environment that has these clients. The environment is made once and kept in the
// user's cache. Where Python is missing the test is skipped; under CI=true it fails instead.
func python(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		skipOrFail(t, "needs python3 in PATH (with its venv module) to run clients for Python")
	}
	bin, err := pythonEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// pythonEnvironment makes the environment, whichever test asks first.
var pythonEnvironment = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "minibroker", strings.ReplaceAll(pythonClients, " ", "+"))
	bin := filepath.Join(dir, "bin", "python3")
	done := filepath.Join(dir, ".complete")
	if _, err := os.Stat(done); err == nil {
		return bin, nil
	}
	for _, step := range [][]string{{"python3", "-m", "venv", "--clear", dir}, append([]string{bin, "-m", "pip", "install", "-q"}, strings.Fields(pythonClients)...)} {
		if out, err := exec.Command(step[0], step[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", step, err, out)
		}
	}
	return bin, os.WriteFile(done, nil, 0o644)
})
