package minibroker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"minibroker/config"
	"minibroker/handlers"
	"minibroker/metadata"
	"minibroker/server"
)

// bindTimeout is how long the name of a host to bind may take to look up.
const bindTimeout = 5 * time.Second

// defaultReceiveBuffer is Kafka's default of socket.receive.buffer.bytes, which the server.properties that Kafka ships spells out, too.
const defaultReceiveBuffer = 102400

// receiveBuffer is what a connection's receive buffer is set to; -1 leaves it to the system, which begins with about as much as the default and
// makes more of it for a client that sends fast. A buffer that was set never grows: the client may send no more than a hundred
// kilobytes for each time the broker looks, or for each round trip.
func receiveBuffer(configured int) int {
	if configured == defaultReceiveBuffer {
		return -1
	}
	return configured
}

// boundListener is a listener with its socket.
type boundListener struct {
	config config.Listener
	socket net.Listener
	told   bool // clients are told of it: it was there when the broker registered, and is advertised
}

// bound are the listeners that clients use. The slice never changes: a change of the listeners makes another.
func (b *Broker) bound() []boundListener {
	if all := b.listeners.Load(); all != nil {
		return *all
	}
	return nil
}

// Listeners are the names of the listeners that are bound now.
func (b *Broker) Listeners() []string {
	var names []string
	for _, l := range b.bound() {
		names = append(names, l.config.Name)
	}
	return names
}

// bindAll binds every listener that clients use, or none. Controller listeners are not bound: nothing else talks to the
// controller of a single node.
func (b *Broker) bindAll(listeners []config.Listener) error {
	var bound []boundListener
	for _, l := range listeners {
		if l.IsController {
			continue
		}
		socket, err := bind(l)
		if err != nil {
			for _, b := range bound {
				b.socket.Close()
			}
			return fmt.Errorf("bind listener %s to %s: %w; stop what uses the port, or choose another with --listen or listeners=", l.Name, addressOf(l), err)
		}
		bound = append(bound, boundListener{config: l, socket: socket, told: l.Advertised})
	}
	b.listeners.Store(&bound)
	return nil
}

func bind(l config.Listener) (net.Listener, error) {
	ctx, cancel := context.WithTimeout(context.Background(), bindTimeout)
	defer cancel()
	var c net.ListenConfig
	c.SetMultipathTCP(false) // as Apache Kafka's listeners, and made in less time
	return c.Listen(ctx, "tcp", addressOf(l))
}

func addressOf(l config.Listener) string { return net.JoinHostPort(l.Host, strconv.Itoa(l.Port)) }

// accept serves a listener in the background.
func (b *Broker) accept(l boundListener) {
	b.background(func() {
		if err := b.server.Serve(server.Listener{Name: l.config.Name, Listener: l.socket}); !errors.Is(err, server.ErrClosed) {
			b.log.Error(fmt.Sprintf("Listener %s on %s: %v", l.config.Name, l.socket.Addr(), err), "logger", "kafka.network.SocketServer")
		}
	})
}

// register puts the listeners of the dynamic settings in the place of those that the broker was started with, and returns
// which clients are to be told of.
func (b *Broker) register(image *metadata.Image) []metadata.Endpoint {
	wanted, err := layersOf(b.config, image).Listeners()
	if err != nil {
		b.listenersFail(err)
		return b.endpoints()
	}
	exactly := func(have, want config.Listener) bool {
		return have.Name == want.Name && have.Host == want.Host && have.Port == want.Port
	}
	for _, lost := range b.changeListeners(wanted, exactly) {
		own := b.config.Listeners()
		if i := slices.IndexFunc(own, func(l config.Listener) bool { return l.Name == lost.Name }); i >= 0 {
			b.bindInstead(own[i])
		}
	}
	return b.endpoints()
}

// bindInstead binds a listener of the configuration when that of the dynamic settings cannot be bound: clients, and who
// wants to set it right, need one.
func (b *Broker) bindInstead(l config.Listener) {
	socket, err := bind(l)
	if err != nil {
		b.bindFailed(l, err)
		return
	}
	bound := append(slices.Clone(b.bound()), boundListener{config: l, socket: socket, told: l.Advertised})
	b.listeners.Store(&bound)
}

// followListeners puts changed dynamic listeners in force, as Kafka does: it compares names. A new name is bound, and its
// clients are told of no broker until the next start, at which it is registered; one that is gone is released and its
// connections are closed; all others stay as they are.
func (b *Broker) followListeners(layers config.Layers) {
	if b.server == nil || b.readOnly {
		return // the start binds them
	}
	wanted, err := layers.Listeners()
	if err != nil {
		b.listenersFail(err)
		return
	}
	before := b.bound()
	b.changeListeners(wanted, func(have, want config.Listener) bool { return have.Name == want.Name })
	for _, l := range b.bound() {
		if !slices.Contains(before, l) {
			b.accept(l)
			b.log.Info(fmt.Sprintf("Awaiting socket connections on %s.", l.socket.Addr()), "logger", "kafka.network.DataPlaneAcceptor")
		}
	}
}

// changeListeners releases every bound listener that is the same as none that is wanted, then binds what is missing, and
// returns those of it that cannot be bound. One after another, so that a port can go from one listener to the next.
func (b *Broker) changeListeners(wanted []config.Listener, same func(have, want config.Listener) bool) (lost []config.Listener) {
	have := b.bound()
	for _, h := range have {
		if !slices.ContainsFunc(wanted, func(w config.Listener) bool { return same(h.config, w) }) {
			b.release(h)
		}
	}
	var now []boundListener
	for _, w := range wanted {
		if w.IsController {
			continue
		}
		if i := slices.IndexFunc(have, func(h boundListener) bool { return same(h.config, w) }); i >= 0 {
			now = append(now, have[i])
			continue
		}
		socket, err := bind(w)
		if err != nil {
			b.bindFailed(w, err)
			lost = append(lost, w)
			continue
		}
		now = append(now, boundListener{config: w, socket: socket, told: w.Advertised && b.server == nil})
	}
	b.listeners.Store(&now)
	return lost
}

// release lets go of a listener.
func (b *Broker) release(l boundListener) {
	if b.server == nil {
		l.socket.Close()
		return
	}
	b.log.Info(fmt.Sprintf("Removing listener %s on %s", l.config.Name, l.socket.Addr()), "logger", "kafka.network.SocketServer")
	b.server.Release(l.socket)
}

// listenersFail writes Kafka's line about dynamic settings of a broker that do not act. Who set them has been answered.
func (b *Broker) listenersFail(err error) {
	b.log.Error(fmt.Sprintf("Per-broker configs of %d could not be applied: [listeners]: %v", b.config.NodeID(), err), "logger", "kafka.server.DynamicBrokerConfig")
}

// bindFailed writes Kafka's line about a listener that cannot be bound, and what to do about it.
func (b *Broker) bindFailed(l config.Listener, err error) {
	b.log.Error(fmt.Sprintf("Unable to start acceptor for %s on %s: %v; stop what uses the port: it is tried again with the next change of this broker's settings "+
		"and at the next start", l.Name, addressOf(l), err), "logger", "kafka.network.DataPlaneAcceptor")
}

// advertised is the address that clients of a listener are told; there is none when it is not advertised.
func (b *Broker) advertised(listener string) (handlers.Endpoint, bool) {
	for _, l := range b.bound() {
		if l.config.Name == listener && l.told {
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
	for _, l := range b.bound() {
		if !l.told {
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
