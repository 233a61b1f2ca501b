package vfs

import "golang.org/x/sys/unix"

// syncDescriptor waits until a file or directory is on disk.
func syncDescriptor(fd int) error { return unix.Fsync(fd) }
