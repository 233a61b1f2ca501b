package config

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Listener is one address to bind, with what clients are told about it.
type Listener struct {
	Name           string // in upper case
	Host           string // "" binds all interfaces
	Port           int    // 0 takes any free one
	Protocol       string // PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
	AdvertisedHost string // this machine's name where none is given
	AdvertisedPort int    // 0 is the port that was bound
	Advertised     bool   // clients are told of this listener
	IsController   bool   // belongs to the controller: checked, but nothing is bound
}

// endpoint is one NAME://host:port of a list.
type endpoint struct {
	name, host string
	port       int
}

const securityMap = "listener.security.protocol.map"

// listenersOf reads listeners, advertised.listeners, the protocol map and the controller's names, with Kafka's checks.
func listenersOf(b *Broker) ([]Listener, *Error) {
	protocols, err := protocolMap(b)
	if err != nil {
		return nil, err
	}
	bound, err := endpoints("listeners", b.List("listeners"), protocols, true)
	if err != nil {
		return nil, err
	}
	told := bound
	if b.values["advertised.listeners"] != nil {
		if told, err = endpoints("advertised.listeners", b.List("advertised.listeners"), protocols, false); err != nil {
			return nil, err
		}
	}
	controllers := b.List("controller.listener.names")
	own := sync.OnceValue(ownHost)
	var listeners []Listener
	for _, e := range bound {
		l := Listener{Name: e.name, Host: e.host, Port: e.port, Protocol: protocols[e.name], IsController: slices.Contains(controllers, e.name)}
		if i := slices.IndexFunc(told, func(t endpoint) bool { return t.name == e.name }); i >= 0 {
			l.Advertised, l.AdvertisedHost, l.AdvertisedPort = true, hostOr(told[i].host, own), told[i].port
		}
		if l.IsController && !l.Advertised { // as Kafka registers them
			l.Advertised, l.AdvertisedHost, l.AdvertisedPort = true, hostOr(e.host, own), e.port
		}
		listeners = append(listeners, l)
	}
	return listeners, checkAdvertised(b, bound, told, controllers)
}

// checkAdvertised holds the addresses that clients are told against the ones that are bound.
func checkAdvertised(b *Broker, bound, told []endpoint, controllers []string) *Error {
	if b.Explicit("controller.listener.names") && slices.Contains(b.List("process.roles"), "controller") {
		if err := checkControllerNames(bound, controllers); err != nil {
			return err
		}
	}
	if roles := b.List("process.roles"); slices.Equal(roles, []string{"controller"}) && !allControllers(bound, controllers) {
		return requirement("process.roles", "The listeners config must only contain KRaft controller listeners from controller.listener.names when "+
			"process.roles=controller")
	}
	var names []string
	for _, e := range told {
		if !slices.Contains(controllers, e.name) {
			names = append(names, e.name)
		}
	}
	if len(names) == 0 {
		return requirement("listeners", "There must be at least one broker advertised listener. Perhaps all listeners appear in controller.listener.names?")
	}
	if err := checkBetween(b, names); err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(bound, func(e endpoint) bool { return e.name == name }) {
			return requirement("advertised.listeners", "advertised.listeners listener names must be equal to or a subset of the ones defined in "+
				"listeners. Found %s. The valid options based on the current configuration are %s", strings.Join(names, ","), namesOf(bound))
		}
	}
	for _, e := range told {
		explicit := b.Explicit("advertised.listeners")
		if e.host == "0.0.0.0" && (explicit || !slices.Contains(controllers, e.name)) {
			return requirement(whichListeners(explicit), "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address.")
		}
	}
	return nil
}

func allControllers(bound []endpoint, controllers []string) bool {
	return !slices.ContainsFunc(bound, func(e endpoint) bool { return !slices.Contains(controllers, e.name) })
}

// InterBrokerListener is the name of the listener between brokers: inter.broker.listener.name, or else that which is called as
// security.inter.broker.protocol.
func (b *Broker) InterBrokerListener() string {
	if name := b.String("inter.broker.listener.name"); name != "" {
		return strings.ToUpper(name)
	}
	return b.String("security.inter.broker.protocol")
}

// checkBetween checks the listener between brokers; names are those that are advertised. Settings that are no whole
// configuration need not have one, since there are no others.
func checkBetween(b *Broker, names []string) *Error {
	const name = "inter.broker.listener.name"
	between := b.InterBrokerListener()
	if b.values[name] == nil {
		if slices.Contains(names, between) || !b.Explicit("process.roles") {
			return nil
		}
	} else if err := checkNamed(b, between); err != nil {
		return err
	}
	if !slices.Contains(names, between) {
		return requirement(name, "inter.broker.listener.name must be a listener name defined in advertised.listeners. The valid options based on "+
			"currently configured listeners are %s", strings.Join(names, ","))
	}
	return nil
}

// checkNamed wants a listener that is named to have a protocol.
func checkNamed(b *Broker, between string) *Error {
	const name = "inter.broker.listener.name"
	if b.String(name) == "" {
		return refuse(name, "The provided listener name is null or empty string")
	}
	protocols, err := protocolMap(b)
	if err == nil && protocols[between] == "" {
		err = refuse(name, "Listener with name %s defined in inter.broker.listener.name not found in listener.security.protocol.map.", between)
	}
	return err
}

func whichListeners(advertised bool) string {
	if advertised {
		return "advertised.listeners"
	}
	return "listeners"
}

func namesOf(list []endpoint) string {
	var names []string
	for _, e := range list {
		names = append(names, e.name)
	}
	return strings.Join(names, ",")
}

// checkControllerNames wants every controller listener among the listeners; Kafka compares them as they are written.
func checkControllerNames(bound []endpoint, controllers []string) *Error {
	const name = "controller.listener.names"
	found := 0
	for _, c := range controllers {
		if slices.ContainsFunc(bound, func(e endpoint) bool { return e.name == c }) {
			found++
		}
	}
	switch found {
	case 0:
		return requirement(name, "controller.listener.names must contain at least one value appearing in the 'listeners' configuration when "+
			"running the KRaft controller role")
	case len(controllers):
		return nil
	}
	return requirement(name, "controller.listener.names must only contain values appearing in the 'listeners' configuration when running the "+
		"KRaft controller role")
}

// protocolMap gives the security protocol of each listener name. Without a map of its own, the controller's listeners are plain
// as long as nothing else is secured.
func protocolMap(b *Broker) (map[string]string, *Error) {
	protocols := map[string]string{}
	text := b.String(securityMap)
	for _, pair := range splitList(text) {
		i := strings.LastIndexByte(pair, ':')
		if i < 0 {
			return nil, refuse(securityMap, "Error parsing configuration property '%s': begin 0, end -1, length %d", securityMap, len(pair))
		}
		name, protocol := trim(pair[:i]), strings.ToUpper(trim(pair[i+1:]))
		if !isProtocol(protocol) {
			return nil, refuse(securityMap, "Invalid security protocol `%s` defined in %s", trim(pair[i+1:]), securityMap)
		}
		protocols[strings.ToUpper(name)] = protocol
	}
	if b.Explicit(securityMap) {
		return protocols, nil
	}
	controllers := b.List("controller.listener.names")
	secured := slices.ContainsFunc(controllers, isSecured) || slices.ContainsFunc(b.List("listeners"), func(l string) bool {
		name, _, _ := strings.Cut(l, ":")
		return isSecured(strings.ToUpper(name))
	})
	if secured {
		return protocols, nil
	}
	for _, c := range controllers {
		protocols[c] = "PLAINTEXT"
	}
	return protocols, nil
}

func isProtocol(s string) bool { return s == "PLAINTEXT" || isSecured(s) }
func isSecured(s string) bool  { return s == "SSL" || s == "SASL_PLAINTEXT" || s == "SASL_SSL" }

// endpoints reads a list of NAME://host:port.
func endpoints(setting string, list []string, protocols map[string]string, distinctPorts bool) ([]endpoint, *Error) {
	var all []endpoint
	wrong := func(text string) ([]endpoint, *Error) {
		return nil, refuse(setting, "Error creating broker listeners from '%s': %s", javaList(list), text)
	}
	for _, entry := range list {
		e, ok := parseEndpoint(entry)
		if !ok {
			return wrong("Unable to parse " + entry + " to a broker endpoint")
		}
		if e.port < 0 || e.port > 65535 {
			return wrong("port out of range:" + strconv.Itoa(e.port))
		}
		if _, ok := protocols[e.name]; !ok {
			return wrong("No security protocol defined for listener " + e.name)
		}
		if slices.ContainsFunc(all, func(o endpoint) bool { return o.name == e.name }) {
			return wrong("Each listener must have a different name, listeners: " + javaList(list))
		}
		all = append(all, e)
	}
	if distinctPorts {
		if text := samePorts(all, list); text != "" {
			return wrong(text)
		}
	}
	return all, nil
}

// parseEndpoint reads NAME://host:port; the host may be missing or stand in brackets.
func parseEndpoint(s string) (endpoint, bool) {
	i := strings.LastIndex(s, "://")
	if i < 0 {
		return endpoint{}, false
	}
	host, portText, ok := cutLast(s[i+3:], ":")
	port, err := strconv.Atoi(portText)
	if !ok || err != nil || !digits(strings.TrimPrefix(portText, "-")) {
		return endpoint{}, false
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return endpoint{name: strings.ToUpper(s[:i]), host: host, port: port}, isHost(host)
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// isHost says whether there are only characters that Kafka lets stand in a host, none included.
func isHost(s string) bool {
	for _, r := range s {
		if !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("-%._:", r)) {
			return false
		}
	}
	return true
}

// samePorts objects to two listeners on one port, unless they are one IPv4 and one IPv6 address.
func samePorts(all []endpoint, list []string) string {
	byPort := map[int][]endpoint{}
	for _, e := range all {
		if e.port != 0 {
			byPort[e.port] = append(byPort[e.port], e)
		}
	}
	for _, port := range slices.Sorted(maps.Keys(byPort)) {
		var v4, v6, names int
		for _, e := range byPort[port] {
			switch addr, err := netip.ParseAddr(e.host); {
			case err != nil:
				names++
			case addr.Is4():
				v4++
			default:
				v6++
			}
		}
		at := javaList(list) + ", port: " + strconv.Itoa(port)
		switch addresses := v4 + v6; {
		case v4+v6+names == 1:
		case names > 1:
			return "Each listener must have a different port, listeners: " + javaList(list)
		case addresses == 2 && (v4 != 1 || names > 0):
			return "If you have two listeners on the same port then one needs to be IPv4 and the other IPv6, listeners: " + at
		case addresses != 2:
			return "Each listener must have a different port unless exactly one listener has an IPv4 address and the other IPv6 address, listeners: " + at
		}
	}
	return ""
}
