package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strconv"
	"syscall"
	"time"

	"minibroker/client"
	"minibroker/config"
)

// lookPatience bounds how long a check waits for an address.
const lookPatience = 3 * time.Second

// hostPort is HOST:PORT as an address to dial: a listener on all interfaces is reached as this machine.
func hostPort(host string, port int) string {
	if host == "" || host == "0.0.0.0" || host == "::" {
		host = "localhost"
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// checkPorts tries whether the listeners of clients can be bound, and lets go of them at once.
func checkPorts(conf *config.Broker) []finding {
	var findings []finding
	for _, l := range conf.Listeners() {
		if l.IsController {
			continue
		}
		addr := net.JoinHostPort(l.Host, strconv.Itoa(l.Port))
		socket, err := net.Listen("tcp", addr)
		if err == nil {
			_ = socket.Close() // nobody knows of it
			continue
		}
		findings = append(findings, finding{failure, "listener " + l.Name, bindCause(l, addr, err), bindRemedy(l, err)})
	}
	return findings
}

// bindCause says why an address cannot be bound, and who has it when that is a broker.
func bindCause(l config.Listener, addr string, err error) string {
	text := reason(err)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return text
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookPatience)
	defer cancel()
	c := client.New(hostPort(l.Host, l.Port))
	defer c.Close()
	m, err := c.Metadata(ctx, false)
	if err == nil && m.ClusterID != nil {
		return fmt.Sprintf("%s; a broker of cluster %s has %s already", text, *m.ClusterID, addr)
	}
	return text
}

func bindRemedy(l config.Listener, err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Sprintf("stop what uses port %d (ss -ltnp 'sport = :%d' names it), or choose another with --listen, listeners= or KAFKA_LISTENERS", l.Port, l.Port)
	case errors.Is(err, fs.ErrPermission):
		return "choose a port from 1024 on, or allow this user lower ones"
	case errors.As(err, &dns):
		return "bind an address of this machine, or all of them with an empty host or 0.0.0.0"
	}
	return "bind an address of this machine (ip addr lists them), or all of them with an empty host or 0.0.0.0"
}

// checkAdvertised looks at the addresses that clients are told.
func checkAdvertised(conf *config.Broker) []finding {
	var findings []finding
	for _, l := range conf.Listeners() {
		if l.IsController || !l.Advertised {
			continue
		}
		about := fmt.Sprintf("listener %s tells clients %s", l.Name, net.JoinHostPort(l.AdvertisedHost, strconv.Itoa(l.AdvertisedPort)))
		ctx, cancel := context.WithTimeout(context.Background(), lookPatience)
		addresses, err := net.DefaultResolver.LookupHost(ctx, l.AdvertisedHost)
		cancel()
		if err != nil {
			findings = append(findings, finding{warning, about, fmt.Sprintf("%s does not resolve here: clients for which it does not either connect once and then fail", l.AdvertisedHost),
				"advertise a name or address that clients can reach (advertised.listeners, KAFKA_ADVERTISED_LISTENERS, --advertise)"})
			continue
		}
		if !isOwn(addresses) {
			findings = append(findings, finding{notable, about, fmt.Sprintf("%s is %s, no address of this machine; that is right behind a port mapping or proxy only", l.AdvertisedHost, addresses[0]), ""})
		}
	}
	return findings
}

// isOwn tells whether one of the addresses is this machine's.
func isOwn(addresses []string) bool {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return true // it cannot be told
	}
	for _, a := range addresses {
		ip := net.ParseIP(a)
		if ip.IsLoopback() {
			return true
		}
		for _, o := range own {
			if n, ok := o.(*net.IPNet); ok && n.IP.Equal(ip) {
				return true
			}
		}
	}
	return false
}
