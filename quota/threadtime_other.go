//go:build !linux

package quota

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time of the whole process, which is at least that
// of the thread.
func threadTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
