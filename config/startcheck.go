package config

import (
	"slices"
	"strconv"
	"strings"
)

// checkStart makes the checks that look at several settings together, with Kafka's texts and in about Kafka's order.
func (b *Broker) checkStart() *Error {
	for _, check := range [...]func() *Error{b.checkIDs, b.checkGroups, b.checkProtocols, b.checkLogs, b.checkCleaner,
		b.checkReplication, b.checkQuorum, b.checkCordoned, b.checkConnections} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (b *Broker) checkIDs() *Error {
	if b.Long("node.id") != b.Long("broker.id") {
		return refuse("broker.id", "`node.id` and `broker.id` must be set to the same value. `broker.id` is deprecated, please use `node.id` instead.")
	}
	return nil
}

// checkLogs looks at times whose milliseconds may come from hours.
func (b *Broker) checkLogs() *Error {
	if name, ms := b.millis("log.roll.ms"); ms < 1 {
		return requirement(name, "log.roll.ms must be greater than or equal to 1")
	}
	if name, ms := b.millis("log.roll.jitter.ms"); ms < 0 {
		return requirement(name, "log.roll.jitter.ms must be greater than or equal to 0")
	}
	if name, ms := b.millis("log.retention.ms"); ms == 0 {
		return requirement(name, "log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
	}
	return nil
}

func (b *Broker) checkCleaner() *Error {
	threads := b.Long("log.cleaner.threads")
	if threads == 0 {
		return refuse("log.cleaner.threads", "/ by zero") // Kafka's own words for it
	}
	if b.Long("log.cleaner.dedupe.buffer.size")/threads <= 1<<20 {
		return requirement("log.cleaner.dedupe.buffer.size", "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.").with("log.cleaner.threads")
	}
	return nil
}

func (b *Broker) checkReplication() *Error {
	wait := b.Long("replica.fetch.wait.max.ms")
	if wait > b.Long("replica.socket.timeout.ms") {
		return requirement("replica.socket.timeout.ms", "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to "+
			"prevent unnecessary socket timeouts").with("replica.fetch.wait.max.ms")
	}
	if wait > b.Long("replica.lag.time.max.ms") {
		return requirement("replica.lag.time.max.ms", "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms to "+
			"prevent frequent changes in ISR").with("replica.fetch.wait.max.ms")
	}
	const between = "inter.broker.listener.name"
	if b.Explicit(between) && b.Explicit("security.inter.broker.protocol") {
		return refuse(between, "Only one of %s and %s should be set.", between, "security.inter.broker.protocol")
	}
	return nil
}

// checkQuorum holds the voters against the roles, as far as they are given.
func (b *Broker) checkQuorum() *Error {
	const name = "controller.quorum.voters"
	voters, err := parseVoters(b.List(name))
	if err != nil || len(voters) == 0 || !b.Explicit("process.roles") {
		return err
	}
	id := b.NodeID()
	var ids []string
	for _, v := range voters {
		ids = append(ids, strconv.Itoa(int(v)))
	}
	controller := slices.Contains(b.List("process.roles"), "controller")
	if in := slices.Contains(voters, id); in == controller {
		return nil
	}
	set := "Set(" + strings.Join(ids, ", ") + ")"
	if controller {
		return requirement(name, "If process.roles contains the 'controller' role, the node id %d must be included in the set of voters "+
			"controller.quorum.voters=%s", id, set)
	}
	return requirement(name, "If process.roles contains just the 'broker' role, the node id %d must not be included in the set of voters "+
		"controller.quorum.voters=%s", id, set)
}

func (b *Broker) checkCordoned() *Error {
	const name = "cordoned.log.dirs"
	cordoned := b.List(name)
	if slices.Contains(cordoned, "*") {
		if len(cordoned) > 1 {
			return requirement(name, "When cordoned.log.dirs is set to *, it must not contain other values")
		}
		return nil
	}
	var missing []string
	for _, dir := range cordoned {
		if !slices.Contains(b.LogDirs(), dir) {
			missing = append(missing, dir)
		}
	}
	if missing != nil {
		return requirement(name, "All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : %s", strings.Join(missing, ", "))
	}
	return nil
}

func (b *Broker) checkConnections() *Error {
	if queued := b.Long("queued.max.request.bytes"); queued > 0 && queued < b.Long("socket.request.max.bytes") {
		return requirement("queued.max.request.bytes", "queued.max.request.bytes must be larger or equal to socket.request.max.bytes").
			with("socket.request.max.bytes")
	}
	const overrides = "max.connections.per.ip.overrides"
	if b.Long("max.connections.per.ip") == 0 && b.String(overrides) == "" {
		return requirement("max.connections.per.ip", "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.")
	}
	for _, pair := range splitList(b.String(overrides)) {
		host, n, ok := cutLast(pair, ":")
		if !ok {
			return refuse(overrides, "Error parsing configuration property '%s': begin 0, end -1, length %d", overrides, len(pair))
		}
		if _, err := strconv.ParseInt(trim(n), 10, 32); err != nil {
			return refuse(overrides, "For input string: %q", trim(n))
		}
		if !isHost(trim(host)) {
			return refuse(overrides, "max.connections.per.ip.overrides contains invalid addresses : %s", trim(host))
		}
	}
	delay, idle := b.Long("connection.failed.authentication.delay.ms"), b.Long("connections.max.idle.ms")
	if idle >= 0 && delay >= idle {
		return requirement("connections.max.idle.ms", "connection.failed.authentication.delay.ms=%d should always be less than "+
			"connections.max.idle.ms=%d to prevent failed authentication responses from timing out", delay, idle).
			with("connection.failed.authentication.delay.ms")
	}
	return nil
}

func (b *Broker) checkProtocols() *Error {
	const name = "group.coordinator.rebalance.protocols"
	if !slices.Contains(b.List(name), "classic") {
		return refuse(name, "Disabling the 'classic' protocol is not supported.")
	}
	known := b.listeners
	for _, early := range b.List("early.start.listeners") {
		if !slices.ContainsFunc(known, func(l Listener) bool { return l.Name == early }) {
			return refuse("early.start.listeners", "early.start.listeners contains listener %s, but this is not contained in listeners or "+
				"controller.listener.names", early)
		}
	}
	return nil
}
