//go:build unix

package brokertest

import (
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// port is a TCP port on 127.0.0.1 that is the test's, whether its broker runs or not: a socket stays bound to it that never
// listens, so that the system gives the port to nobody else. Sockets with SO_REUSEADDR, as Go's listeners are, can share it.
type port struct {
	addr   string
	socket int
}

func holdPort() (*port, error) {
	syscall.ForkLock.RLock()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(socket)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	p := &port{socket: socket}
	if p.addr, err = bind(socket); err != nil {
		p.release()
		return nil, fmt.Errorf("reserve a port: %w", err)
	}
	return p, nil
}

func bind(socket int) (addr string, err error) {
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return "", err
	}
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", err
	}
	bound, err := syscall.Getsockname(socket)
	if err != nil {
		return "", err
	}
	v4, ok := bound.(*syscall.SockaddrInet4)
	if !ok {
		return "", fmt.Errorf("bound to %T", bound)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(v4.Port)), nil
}

func (p *port) release() { syscall.Close(p.socket) }
