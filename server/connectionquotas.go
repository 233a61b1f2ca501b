package server

import (
	"context"
	"fmt"
	"math"
	"net"
	"net/netip"
	"sync"
	"time"

	"minibroker/quota"
)

// Limits are what may change about connections while the server runs. Fields
// that count are without effect at math.MaxInt32 and above.
type Limits struct {
	// MaxConnections bounds open connections (max.connections); at the limit
	// accepting waits. 0 is no limit.
	MaxConnections int
	// CreationRate bounds new connections a second
	// (max.connection.creation.rate); above it accepting waits. 0 is no limit.
	CreationRate int
	// Listeners has limits of single listeners beside those of all, by name.
	Listeners map[string]ListenerLimits
	// ProtectedListener is a listener that may always take connections, whatever
	// the limits of all listeners together say (that between brokers, when there
	// is more than one); "" is none.
	ProtectedListener string
	// MaxConnectionsPerIP bounds connections of one address
	// (max.connections.per.ip); more are closed at once. 0 is no limit, less
	// than 0 refuses all that have no override.
	MaxConnectionsPerIP int
	// PerIPOverrides replaces MaxConnectionsPerIP for single addresses
	// (max.connections.per.ip.overrides); here 0 refuses all.
	PerIPOverrides map[string]int
	// IPCreationRate bounds new connections a second of one address, and
	// IPCreationRates those of single ones (connection_creation_rate of client
	// quotas); above it they are left without an answer for a while and
	// closed. 0 is no limit.
	IPCreationRate  int
	IPCreationRates map[netip.Addr]int
}

// ListenerLimits are the limits of one listener; 0 is none.
type ListenerLimits struct{ MaxConnections, CreationRate int }

// throttledError is a connection that came too soon after others of its address.
type throttledError struct {
	addr  netip.Addr
	until time.Time
}

func (e *throttledError) Error() string {
	return fmt.Sprintf("%s makes connections faster than its quota connection_creation_rate", e.addr)
}

// connectionQuotas counts connections, and how fast they come, against Limits.
type connectionQuotas struct {
	window quota.Window
	most   int // Options.MostConnections

	mu        sync.Mutex
	limits    Limits
	overrides map[netip.Addr]int
	changed   chan struct{} // closed when waiting may have come to an end
	total     int
	open      map[string]int // by listener
	openOf    map[netip.Addr]int
	rate      *quota.Rate
	rates     map[string]*quota.Rate // by listener
	ratesOf   map[netip.Addr]*quota.Rate
}

func newConnectionQuotas(o Options) *connectionQuotas {
	q := &connectionQuotas{
		window: o.RateWindow, most: o.MostConnections, changed: make(chan struct{}),
		open: make(map[string]int), openOf: make(map[netip.Addr]int),
		rate: quota.NewRate(o.RateWindow), rates: make(map[string]*quota.Rate), ratesOf: make(map[netip.Addr]*quota.Rate),
	}
	q.set(o.Limits)
	return q
}

// set puts other limits in force and returns how many connections there are
// too many by now.
func (q *connectionQuotas) set(l Limits) int {
	overrides := make(map[netip.Addr]int, len(l.PerIPOverrides))
	for host, limit := range l.PerIPOverrides {
		if addr, err := netip.ParseAddr(host); err == nil {
			overrides[addr.Unmap()] = limit
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limits, q.overrides = l, overrides
	q.wakeLocked()
	if !limited(l.MaxConnections) {
		return 0
	}
	return max(0, q.total-q.open[l.ProtectedListener]-l.MaxConnections)
}

// limited reports whether a count is a limit at all.
func limited(n int) bool { return n > 0 && n < math.MaxInt32 }

func (q *connectionQuotas) wakeLocked() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// acquire counts a connection. It waits for its turn and for a slot until ctx
// ends; an address with too many connections is an error, and so is one that
// makes them too fast, a *throttledError.
func (q *connectionQuotas) acquire(ctx context.Context, listener string, remote net.Addr) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	until := now.Add(q.countLocked(listener, now))
	for {
		wait := time.Until(until)
		if wait <= 0 && q.roomLocked(listener) {
			break
		}
		if err := q.waitLocked(ctx, wait); err != nil {
			return err
		}
	}
	addr := addrOf(remote)
	if err := q.admitLocked(listener, addr); err != nil {
		return err
	}
	q.total++
	q.open[listener]++
	q.openOf[addr]++
	return nil
}

// waitLocked waits until something changed, or for a time when that is above 0.
func (q *connectionQuotas) waitLocked(ctx context.Context, atMost time.Duration) error {
	changed := q.changed
	q.mu.Unlock()
	defer q.mu.Lock()
	var over <-chan time.Time
	if atMost > 0 {
		timer := time.NewTimer(atMost)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-changed:
	case <-over:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// countLocked counts a new connection and returns how long it has to wait for
// its turn.
func (q *connectionQuotas) countLocked(listener string, now time.Time) time.Duration {
	own := q.rates[listener]
	if own == nil {
		own = quota.NewRate(q.window)
		q.rates[listener] = own
	}
	wait := q.throttle(own, q.limits.Listeners[listener].CreationRate, now)
	if listener != q.limits.ProtectedListener {
		wait = max(wait, q.throttle(q.rate, q.limits.CreationRate, now))
	}
	return wait
}

// throttle counts in a rate and compares it with a limit. Nobody waits longer
// than one piece of the window, as in Kafka.
func (q *connectionQuotas) throttle(r *quota.Rate, limit int, now time.Time) time.Duration {
	r.Add(1, now.UnixMilli())
	if !limited(limit) {
		return 0
	}
	return min(time.Duration(r.Throttle(float64(limit), now.UnixMilli()))*time.Millisecond, q.window.Size)
}

// roomLocked reports whether a listener may have one more connection.
func (q *connectionQuotas) roomLocked(listener string) bool {
	if q.fullLocked() {
		return false
	}
	if most := q.limits.Listeners[listener].MaxConnections; limited(most) && q.open[listener] >= most {
		return false
	}
	return listener == q.limits.ProtectedListener || !limited(q.limits.MaxConnections) || q.total < q.limits.MaxConnections
}

// fullLocked reports whether there are as many connections as there are descriptors for.
func (q *connectionQuotas) fullLocked() bool { return q.most > 0 && q.total >= q.most }

// full does as fullLocked.
func (q *connectionQuotas) full() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.fullLocked()
}

// admitLocked looks at what is set for the address.
func (q *connectionQuotas) admitLocked(listener string, addr netip.Addr) error {
	rate, own := q.limits.IPCreationRates[addr]
	if !own {
		rate = q.limits.IPCreationRate
	}
	if now := time.Now(); limited(rate) {
		r := q.rateOfLocked(addr, now.UnixMilli())
		if wait := q.throttle(r, rate, now); wait > 0 {
			// It is no connection, so it counts nowhere.
			for _, counted := range []*quota.Rate{r, q.rate, q.rates[listener]} {
				if counted != q.rate || listener != q.limits.ProtectedListener {
					counted.Add(-1, now.UnixMilli())
				}
			}
			return &throttledError{addr: addr, until: now.Add(wait)}
		}
	}
	limit, isLimit := q.overrides[addr]
	if !isLimit {
		limit, isLimit = max(q.limits.MaxConnectionsPerIP, 0), q.limits.MaxConnectionsPerIP != 0
	}
	if isLimit && q.openOf[addr] >= limit {
		return fmt.Errorf("%s has %d connections already (max.connections.per.ip)", addr, q.openOf[addr])
	}
	return nil
}

// rateOfLocked finds the rate of an address. Those that came to rest are
// forgotten on the way: nobody can fill the memory with addresses.
func (q *connectionQuotas) rateOfLocked(addr netip.Addr, now int64) *quota.Rate {
	if r := q.ratesOf[addr]; r != nil {
		return r
	}
	for other, r := range q.ratesOf {
		if r.Idle(now) {
			delete(q.ratesOf, other)
		}
	}
	r := quota.NewRate(q.window)
	q.ratesOf[addr] = r
	return r
}

// release undoes one acquire.
func (q *connectionQuotas) release(listener string, remote net.Addr) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.total--
	q.open[listener]--
	addr := addrOf(remote)
	if q.openOf[addr]--; q.openOf[addr] <= 0 {
		delete(q.openOf, addr)
	}
	q.wakeLocked()
}

// forget drops what is known of a listener that was released, but for its
// connections that are still open.
func (q *connectionQuotas) forget(listener string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.rates, listener)
}

// addrOf is the address without the port; the zero Addr when it is no TCP address.
func addrOf(a net.Addr) netip.Addr {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return tcp.AddrPort().Addr().Unmap()
}
