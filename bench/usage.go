package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// usage is what the kernel says of a process at one moment.
type usage struct {
	cpu     time.Duration // user and system, of all threads
	rss     float64       // MiB; mapped files count too
	peak    float64       // MiB, since the start or the last resetPeak
	threads float64
	files   float64 // that are open
}

func usageOf(pid int) (usage, error) {
	cpu, err := cpuTime(pid)
	if err != nil {
		return usage{}, fmt.Errorf("processor time of process %d: %w", pid, err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return usage{}, err
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return usage{}, err
	}
	field := func(name string) float64 {
		_, rest, _ := strings.Cut(string(status), "\n"+name+":")
		f := strings.Fields(rest)
		if len(f) == 0 {
			return 0
		}
		n, _ := strconv.ParseFloat(f[0], 64)
		return n
	}
	return usage{cpu: cpu, rss: field("VmRSS") / 1024, peak: field("VmHWM") / 1024, threads: field("Threads"), files: float64(len(files))}, nil
}

// resetPeak lets the peak begin at what the process has now. Where that is not allowed the peak is that of its life.
func resetPeak(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// cpuOfMachine is the processor time of all processes since boot, in steps of 10 ms.
func cpuOfMachine() time.Duration {
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	var ticks int64
	for at, f := range strings.Fields(line) {
		if at == 1 || at == 2 || at == 3 || at == 6 || at == 7 { // user, nice, system, interrupts, soft interrupts
			n, _ := strconv.ParseInt(f, 10, 64)
			ticks += n
		}
	}
	return time.Duration(ticks) * (time.Second / 100)
}

// machine describes where figures were taken.
func machine() string {
	after := func(path, name string) string {
		raw, _ := os.ReadFile(path)
		_, rest, _ := strings.Cut("\n"+string(raw), "\n"+name)
		line, _, _ := strings.Cut(rest, "\n")
		return strings.TrimSpace(strings.TrimLeft(line, "\t :"))
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	load, _ := os.ReadFile("/proc/loadavg")
	return fmt.Sprintf("%s, %d cores, %s of memory, Linux %s; load average at the start %s", after("/proc/cpuinfo", "model name"), cores(),
		after("/proc/meminfo", "MemTotal"), strings.TrimSpace(string(kernel)), strings.TrimSpace(string(load)))
}
