package minibroker

import (
	"fmt"
	"net"
	"strconv"

	"minibroker/config"
	"minibroker/handlers"
	"minibroker/metadata"
)

// boundListener is a listener of the configuration with its socket.
type boundListener struct {
	config config.Listener
	socket net.Listener
}

// bindAll binds every listener that clients use. Controller listeners are not bound: nothing else talks to the
// controller of a single node.
func bindAll(listeners []config.Listener) (bound []boundListener, err error) {
	for _, l := range listeners {
		if l.IsController {
			continue
		}
		addr := net.JoinHostPort(l.Host, strconv.Itoa(l.Port))
		socket, err := net.Listen("tcp", addr)
		if err != nil {
			for _, b := range bound {
				b.socket.Close()
			}
			return nil, fmt.Errorf("bind listener %s to %s: %w; stop what uses the port, or choose another with --listen or listeners=", l.Name, addr, err)
		}
		bound = append(bound, boundListener{config: l, socket: socket})
	}
	return bound, nil
}

// advertised is the address that clients of a listener are told; there is none when it is not advertised.
func (b *Broker) advertised(listener string) (handlers.Endpoint, bool) {
	for _, l := range b.listeners {
		if l.config.Name == listener && l.config.Advertised {
			host, port := l.advertised()
			return handlers.Endpoint{Host: host, Port: port}, true
		}
	}
	return handlers.Endpoint{}, false
}

// Advertised is HOST:PORT as clients of a listener are told; "" when there is none of that name, or it is not advertised.
func (b *Broker) Advertised(listener string) string {
	e, ok := b.advertised(listener)
	if !ok {
		return ""
	}
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// advertised is the configured address; port 0 stands for the port that the system chose.
func (l boundListener) advertised() (host string, port int32) {
	port = int32(l.config.AdvertisedPort)
	if tcp, ok := l.socket.Addr().(*net.TCPAddr); ok && port == 0 {
		port = int32(tcp.Port)
	}
	return l.config.AdvertisedHost, port
}

// endpoints are the advertised client listeners as the broker registers them.
func (b *Broker) endpoints() []metadata.Endpoint {
	var out []metadata.Endpoint
	for _, l := range b.listeners {
		if !l.config.Advertised {
			continue
		}
		host, port := l.advertised()
		out = append(out, metadata.Endpoint{Name: l.config.Name, Host: host, Port: uint16(port), Protocol: securityProtocol(l.config.Protocol)})
	}
	return out
}

// controllerEndpoints are the controller listeners as the controller registers them.
func controllerEndpoints(c *config.Broker) []metadata.Endpoint {
	var out []metadata.Endpoint
	for _, l := range c.Listeners() {
		if l.IsController {
			out = append(out, metadata.Endpoint{Name: l.Name, Host: l.AdvertisedHost, Port: uint16(l.AdvertisedPort), Protocol: securityProtocol(l.Protocol)})
		}
	}
	return out
}

// securityProtocol is the number of a security protocol in registrations.
func securityProtocol(name string) int16 {
	switch name {
	case "SSL":
		return 1
	case "SASL_PLAINTEXT":
		return 2
	case "SASL_SSL":
		return 3
	default:
		return 0
	}
}
