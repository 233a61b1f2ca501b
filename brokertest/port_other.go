//go:build !unix

package brokertest

import "net"

// port is a TCP port on 127.0.0.1 that was free a moment ago.
type port struct{ addr string }

func holdPort() (*port, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &port{addr: l.Addr().String()}, l.Close()
}

func (p *port) release() {}
