package server

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReceiveBuffer looks at the sockets of connections.
func TestReceiveBuffer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	far, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	near, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	raw, err := near.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	system := receiveBufferOf(t, raw)
	for _, n := range []int{-1, 0, 16 << 10} {
		f := start(t, Options{Handler: listing(nil), ReceiveBufferBytes: n})
		f.dial(t).works()
		f.mu.Lock()
		for c := range f.conns {
			got := receiveBufferOf(t, c.raw)
			// Linux sets twice what is asked for.
			if n > 0 && got != n && got != 2*n || n <= 0 && got != system {
				t.Errorf("ReceiveBufferBytes %d makes a buffer of %d; the system's is %d", n, got, system)
			}
		}
		if len(f.conns) != 1 {
			t.Errorf("%d connections", len(f.conns))
		}
		f.mu.Unlock()
	}
}

func receiveBufferOf(t *testing.T, raw syscall.RawConn) (n int) {
	t.Helper()
	var err error
	if control := raw.Control(func(fd uintptr) { n, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF) }); control != nil || err != nil {
		t.Fatal(control, err)
	}
	return n
}
