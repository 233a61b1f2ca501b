package main

import (
	"io/fs"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime reads the processor clock of another process, which counts nanoseconds where /proc counts steps of 10 ms.
func cpuTime(pid int) (time.Duration, error) {
	// The kernel makes a clock id of a pid: its complement, and below it CPUCLOCK_SCHED.
	const schedulerClock = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|schedulerClock), &ts); err != nil {
		return 0, err
	}
	return time.Duration(ts.Nano()), nil
}

// ownCPU is the processor time of this process.
func ownCPU() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

func cores() int { return runtime.NumCPU() }

// apart starts a program in a process group of its own, where a terminal's signals do not reach it.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// allocated is what a file takes of the disk, in bytes: an index is as long as it may become, but has no blocks there.
func allocated(about fs.FileInfo) float64 {
	if stat, ok := about.Sys().(*syscall.Stat_t); ok {
		return float64(stat.Blocks) * 512
	}
	return float64(about.Size())
}
