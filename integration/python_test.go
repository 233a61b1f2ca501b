package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// pythonClient is the release of confluent-kafka, librdkafka for Python, that tests run.
const pythonClient = "confluent-kafka==2.16.1"

// python is the interpreter of an environment that has confluent-kafka. The environment is made once and kept in the
// user's cache. Where Python is missing the test is skipped; under CI=true it fails instead.
func python(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		skipOrFail(t, "needs python3 in PATH (with its venv module) to run librdkafka's client for Python")
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
	dir := filepath.Join(cache, "minibroker", pythonClient)
	bin := filepath.Join(dir, "bin", "python3")
	done := filepath.Join(dir, ".complete")
	if _, err := os.Stat(done); err == nil {
		return bin, nil
	}
	for _, step := range [][]string{{"python3", "-m", "venv", "--clear", dir}, {bin, "-m", "pip", "install", "-q", pythonClient}} {
		if out, err := exec.Command(step[0], step[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %w\n%s", step, err, out)
		}
	}
	return bin, os.WriteFile(done, nil, 0o644)
})
