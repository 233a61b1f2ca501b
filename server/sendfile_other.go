//go:build !linux

package server

import (
	"errors"
	"syscall"
)

// sendfile is not used on this system; ranges go through a buffer.
func sendfile(syscall.RawConn, uintptr, int64, int) (int, error) {
	return 0, errors.ErrUnsupported
}
