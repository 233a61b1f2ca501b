package logstore

import "syscall"

// lastingErrors are those after which a directory is given up: they are the device's.
func lastingErrors() []error {
	return []error{syscall.EIO, syscall.EROFS, syscall.ENODEV, syscall.ENXIO, syscall.ESTALE, syscall.EUCLEAN}
}
