package quota

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time of the thread that runs: waiting costs nothing.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
