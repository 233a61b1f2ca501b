package main

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// dropStartPages gives back the pages of the program's file that the start has touched: code and tables that initialised packages
// and read settings, most of which the rest of its life does not need. What it does need comes back from the page cache with the
// next access. It changes nothing but the size of the process, so that errors do not matter.
func dropStartPages() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range bytes.Lines(maps) {
		if start, end, ok := readOnlyMapping(line, exe); ok {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, start, end-start, syscall.MADV_DONTNEED)
		}
	}
}

// readOnlyMapping finds the ends of a mapping of the file that nothing can have written to:
//
//	00400000-009e5000 r-xp 00000000 08:01 123456    /usr/bin/minibroker
func readOnlyMapping(line []byte, file string) (start, end uintptr, ok bool) {
	fields := bytes.Fields(line)
	if len(fields) < 6 || !bytes.HasPrefix(fields[1], []byte("r-")) || string(bytes.Join(fields[5:], []byte(" "))) != file {
		return 0, 0, false
	}
	first, last, _ := bytes.Cut(fields[0], []byte("-"))
	from, err1 := strconv.ParseUint(string(first), 16, 64)
	to, err2 := strconv.ParseUint(string(last), 16, 64)
	return uintptr(from), uintptr(to), err1 == nil && err2 == nil && from < to
}
