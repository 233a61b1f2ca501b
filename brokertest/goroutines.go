package brokertest

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// labelKey is the profiler label that a broker's goroutines carry, and those that they start. It tells them from all others, so
// that tests with brokers can run in parallel.
const labelKey = "brokertest"

// leakPatience is how long goroutines that have nothing left to do may take to end.
const leakPatience = 5 * time.Second

// checkGoroutines fails the test when goroutines with a label go on living.
func checkGoroutines(t testing.TB, label string, patience time.Duration) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		left := labelled(t, label)
		if len(left) == 0 {
			return
		}
		select {
		case <-look.C:
		case <-deadline.C:
			t.Errorf("brokertest: goroutines of the broker outlive it:\n%s", strings.Join(left, "\n\n"))
			return
		}
	}
}

// labelled gives the stacks of the goroutines with a label.
func labelled(t testing.TB, label string) []string {
	t.Helper()
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		t.Errorf("brokertest: goroutine profile: %v", err)
		return nil
	}
	want := fmt.Sprintf("%q:%q", labelKey, label)
	var found []string
	for _, stack := range strings.Split(profile.String(), "\n\n") {
		if strings.Contains(stack, want) {
			found = append(found, stack)
		}
	}
	return found
}
