package vfs

import (
	"math"

	"golang.org/x/sys/unix"
)

// Descriptors is how many files and sockets this process may have open; the Go runtime has raised that to the hard limit. math.MaxInt32
// where there is no limit that matters.
func Descriptors() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt32
	}
	return int(min(uint64(limit.Cur), math.MaxInt32))
}
