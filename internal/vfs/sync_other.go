//go:build !linux

package vfs

import (
	"os"
	"syscall"
)

// syncDescriptor waits until a file or directory is on disk: on some systems fsync alone does not, and package os knows what does.
func syncDescriptor(fd int) error {
	twin, err := syscall.Dup(fd)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(twin), "")
	defer file.Close()
	return file.Sync()
}
