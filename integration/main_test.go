package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// brokerBinary is the path of the program under test; TestMain sets it once, before any test runs.
const brokerBinaryEnv = "MINIBROKER_TEST_BINARY"

func TestMain(m *testing.M) {
	if words := os.Getenv(pipelineEnv); words != "" {
		fmt.Fprintln(os.Stderr, copyWithKgo(strings.Fields(words)))
		os.Exit(1)
	}
	os.Exit(runWithBinary(m))
}

// runWithBinary builds cmd/minibroker (with the race detector when the tests have it) and hands its path to the
// tests through the environment, which their child processes inherit.
func runWithBinary(m *testing.M) int {
	dir, err := os.MkdirTemp("", "minibroker-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "minibroker")
	args := []string{"build", "-o", bin}
	if raceEnabled {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "minibroker/cmd/minibroker")...)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build minibroker:", err)
		return 1
	}
	if err := os.Setenv(brokerBinaryEnv, bin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
