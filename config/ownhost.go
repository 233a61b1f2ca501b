package config

import (
	"context"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"
)

// patienceForNames bounds how long a start waits for name servers.
const patienceForNames = time.Second

// hostOr is the host, or the name of this machine where it stands for all interfaces.
func hostOr(host string, own func() string) string {
	if host != "" && host != "0.0.0.0" {
		return host
	}
	return own()
}

// ownHost is what clients are told of a listener without a host. Kafka takes what Java's getCanonicalHostName makes of this
// machine: the name of the address of its name, the address where that has no name or one of another address.
func ownHost() string {
	own, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	ctx, cancel := context.WithTimeout(context.Background(), patienceForNames)
	defer cancel()
	return canonicalHost(ctx, own, net.DefaultResolver)
}

// resolver finds addresses of names and names of addresses.
type resolver interface {
	LookupHost(ctx context.Context, name string) ([]string, error)
	LookupAddr(ctx context.Context, address string) ([]string, error)
}

// canonicalHost is the name of the first address of a name, of IPv4 where there is one; the name itself when it has no address or
// nobody answers in time.
func canonicalHost(ctx context.Context, name string, by resolver) string {
	addresses, err := by.LookupHost(ctx, name)
	if err != nil || len(addresses) == 0 {
		return name
	}
	address := addresses[max(0, slices.IndexFunc(addresses, isIPv4))]
	names, err := by.LookupAddr(ctx, address)
	if ctx.Err() != nil {
		return name
	}
	if err != nil || len(names) == 0 {
		return address
	}
	canonical := strings.TrimSuffix(names[0], ".")
	if back, err := by.LookupHost(ctx, canonical); err != nil || !slices.Contains(back, address) {
		if ctx.Err() != nil {
			return name
		}
		return address
	}
	return canonical
}

func isIPv4(address string) bool {
	a, err := netip.ParseAddr(address)
	return err == nil && a.Is4()
}
