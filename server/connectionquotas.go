package server

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// connectionQuotas counts connections against max.connections and
// max.connections.per.ip.
type connectionQuotas struct {
	slots     chan struct{} // one entry per open connection; nil is no limit
	perIP     int           // 0 is no limit, below 0 refuses
	overrides map[netip.Addr]int

	mu   sync.Mutex
	open map[netip.Addr]int // only kept when addresses are limited
}

func newConnectionQuotas(o Options) *connectionQuotas {
	q := &connectionQuotas{perIP: o.MaxConnectionsPerIP}
	if o.MaxConnections > 0 {
		q.slots = make(chan struct{}, o.MaxConnections)
	}
	if o.MaxConnectionsPerIP != 0 || len(o.PerIPOverrides) > 0 {
		q.open = make(map[netip.Addr]int)
		q.overrides = make(map[netip.Addr]int, len(o.PerIPOverrides))
	}
	for host, limit := range o.PerIPOverrides {
		if addr, err := netip.ParseAddr(host); err == nil {
			q.overrides[addr.Unmap()] = limit
		}
	}
	return q
}

// acquire counts a connection. It waits for a slot until ctx ends; an address
// with too many connections is an error.
func (q *connectionQuotas) acquire(ctx context.Context, remote net.Addr) error {
	if err := q.acquireIP(addrOf(remote)); err != nil {
		return err
	}
	if q.slots == nil {
		return nil
	}
	select {
	case q.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		q.releaseIP(addrOf(remote))
		return ctx.Err()
	}
}

// release undoes one acquire.
func (q *connectionQuotas) release(remote net.Addr) {
	q.releaseIP(addrOf(remote))
	if q.slots != nil {
		<-q.slots
	}
}

func (q *connectionQuotas) acquireIP(addr netip.Addr) error {
	if q.open == nil {
		return nil
	}
	limit, limited := q.overrides[addr]
	if !limited {
		limit, limited = max(q.perIP, 0), q.perIP != 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if limited && q.open[addr] >= limit {
		return fmt.Errorf("%s has %d connections already (max.connections.per.ip)", addr, q.open[addr])
	}
	q.open[addr]++
	return nil
}

func (q *connectionQuotas) releaseIP(addr netip.Addr) {
	if q.open == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open[addr]--; q.open[addr] <= 0 {
		delete(q.open, addr)
	}
}

// addrOf is the address without the port; the zero Addr when it is no TCP address.
func addrOf(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap()
}
