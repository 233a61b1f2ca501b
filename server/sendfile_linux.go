package server

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// sendfile sends n bytes of the file fd from offset off to a socket, and says
// how many it sent when it cannot send all. The offset of the descriptor itself
// is neither used nor moved, so any number of connections can share it. The
// error is errors.ErrUnsupported for files that the kernel cannot send from.
func sendfile(raw syscall.RawConn, fd uintptr, off int64, n int) (sent int, err error) {
	waitErr := raw.Write(func(socket uintptr) bool {
		for sent < n {
			var k int
			k, err = unix.Sendfile(int(socket), int(fd), &off, n-sent)
			switch {
			case err == unix.EINTR:
				continue
			case err == unix.EAGAIN:
				err = nil
				return false // the runtime waits until the socket takes more
			case err != nil:
				return true
			case k == 0:
				err = errShortSource
				return true
			}
			sent += k
		}
		return true
	})
	switch {
	case waitErr != nil:
		return sent, waitErr
	case err == unix.EINVAL || err == unix.ENOSYS || err == unix.EOPNOTSUPP:
		return sent, errors.ErrUnsupported
	case err != nil && err != errShortSource:
		return sent, fmt.Errorf("sendfile: %w", err)
	}
	return sent, err
}
