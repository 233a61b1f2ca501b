package config

import (
	"maps"
	"slices"
	"strings"
)

// request turns a refusal into what Kafka makes of wrong broker settings: an invalid request.
func request(err *Error) error {
	if err == nil {
		return nil
	}
	err.Source, err.Kind = "", ErrInvalidRequest
	return err
}

// ValidateBroker checks one dynamic setting of a broker by itself, for one broker or for all of them. The error is an *Error
// with Kafka's text. Kafka takes settings that it does not know.
func ValidateBroker(name, text string, perBroker bool) error {
	return request(checkDynamic(map[string]string{name: text}, perBroker))
}

// checkDynamic checks dynamic settings by themselves: that they may change at run time, at this place, and their values.
func checkDynamic(set map[string]string, perBroker bool) *Error {
	names := slices.Sorted(maps.Keys(set))
	refused := func(text string, bad func(name string) bool) *Error {
		var list []string
		for _, name := range names {
			if bad(name) {
				list = append(list, name)
			}
		}
		if list == nil {
			return nil
		}
		return refuse(list[0], "%s: %s", text, javaList(list))
	}
	if err := refused("Cannot update these configs dynamically", func(name string) bool {
		s := findBroker(name)
		return s != nil && s.mode == ReadOnly
	}); err != nil {
		return err
	}
	if err := refused("These security configs can be dynamically updated only per-listener using the listener prefix", isListenersOwn); err != nil {
		return err
	}
	if err := firstWrongDynamic(set); err != nil {
		return err
	}
	if perBroker {
		return nil
	}
	return refused("Cannot update these configs at default cluster level, broker id must be specified", func(name string) bool {
		if s := findBroker(name); s != nil {
			return s.mode == PerBroker
		}
		base, ok := withoutListener(name)
		return ok && base != "max.connections" && base != "max.connection.creation.rate" && base != "num.network.threads"
	})
}

// isListenersOwn are stores and passwords, which Kafka lets change only under a listener's prefix.
func isListenersOwn(name string) bool {
	switch name {
	case "ssl.key.password", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.location", "ssl.keystore.password",
		"ssl.keystore.type", "ssl.truststore.certificates", "ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type":
		return true
	}
	return false
}

// firstWrongDynamic checks the values, those under a listener's prefix as if they had none.
func firstWrongDynamic(set map[string]string) *Error {
	bare := map[string]string{}
	for name, v := range set {
		if base, ok := withoutListener(name); ok {
			name = base
		}
		bare[name] = v
	}
	for name, v := range bare {
		if s := findBroker(name); s == nil || s.mode == ReadOnly {
			delete(bare, name)
		} else if s.typ == TypeClass && !strings.HasPrefix(trim(v), "org.apache.kafka.") {
			return invalidValue(name, v, "Class "+v+" could not be found.")
		}
	}
	if err, ok := firstWrong(brokerSettings[:], bare).(*Error); ok {
		return err
	}
	return nil
}

// CheckBroker checks the dynamic settings that this node (perBroker) or all brokers would have after a change, alone, together
// with all others, and against what applies now. The error is an *Error with Kafka's text.
func (l Layers) CheckBroker(set map[string]string, perBroker bool) error {
	if err := checkDynamic(set, perBroker); err != nil {
		return request(err)
	}
	after := Layers{Static: l.Static, ClusterDefault: set, Node: l.Node}
	if perBroker {
		after.ClusterDefault, after.Node = l.ClusterDefault, set
	}
	next, err := after.merged()
	if err != nil {
		return request(err)
	}
	if err := next.checkStart(); err != nil {
		return request(err)
	}
	if err := l.checkRuntime(next); err != nil {
		return request(err)
	}
	return request(next.checkUnsecured())
}

// merged makes the broker that would start with everything that is set now. A dynamic value pushes aside the file's under each
// of its names.
func (l Layers) merged() (*Broker, *Error) {
	b := &Broker{given: maps.Clone(l.Static.given), static: maps.Clone(l.Static.static)}
	for _, set := range [...]map[string]string{l.ClusterDefault, l.Node} {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			for _, other := range brokerSynonyms(name) {
				if _, prefixed := withoutListener(name); !prefixed {
					delete(b.static, other)
				}
			}
			b.static[name] = set[name]
			b.given[name] = Property{Key: name, Value: set[name]}
		}
	}
	var err *Error
	if b.values, err = parseAll(b.static); err != nil {
		return nil, err
	}
	b.listeners, err = listenersOf(b)
	return b, err
}

// checkRuntime holds a change against what applies now: the running parts of Kafka have a say here.
func (l Layers) checkRuntime(next *Broker) *Error {
	invalid := func(text string) *Error {
		return invalidValue("Invalid dynamic configuration", "org.apache.kafka.common.config.ConfigException: "+text, "")
	}
	for _, name := range [...]string{"num.io.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads", "num.network.threads"} {
		was, will := l.Long(name), next.Long(name)
		failed := "Dynamic thread count update validation failed for " + name + "=" + javaString(will)
		switch {
		case will < was/2:
			return invalid(failed + ", value should be at least half the current value " + javaString(was))
		case will > was*2:
			return invalid(failed + ", value should not be greater than double the current value " + javaString(was))
		}
	}
	was, will := l.Long("log.cleaner.threads"), next.Long("log.cleaner.threads")
	switch {
	case will < was/2:
		return invalid("Log cleaner threads cannot be reduced to less than half the current value " + javaString(was))
	case will > was*2:
		return invalid("Log cleaner threads cannot be increased to more than double the current value " + javaString(was))
	}
	if text := l.checkListeners(next); text != "" {
		return invalid(text)
	}
	return nil
}

// checkListeners objects to a change of listeners that takes away one that clients are told of, or secures one in another way.
func (l Layers) checkListeners(next *Broker) string {
	now, err := l.merged()
	if err != nil {
		return "" // the change may mend it
	}
	var told, bound []string
	protocols := map[string]string{}
	for _, n := range next.listeners {
		bound = append(bound, n.Name)
		protocols[n.Name] = n.Protocol
	}
	missing := false
	for _, o := range now.listeners {
		if o.Advertised && !o.IsController {
			told = append(told, o.Name)
			missing = missing || protocols[o.Name] == ""
		}
	}
	if missing {
		return "Advertised listeners '" + listenerSet(told) + "' must be a subset of listeners '" + listenerSet(bound) + "'"
	}
	for _, o := range now.listeners {
		if p := protocols[o.Name]; p != "" && p != o.Protocol {
			return "Security protocol cannot be updated for existing listener ListenerName(" + o.Name + ")"
		}
	}
	return ""
}

// listenerSet is a set of listener names as Scala prints it; that of more than four is in an order of its own there.
func listenerSet(names []string) string {
	kind := "Set("
	if len(names) > 4 {
		kind = "HashSet("
	}
	return kind + "ListenerName(" + strings.Join(names, "), ListenerName(") + "))"
}

// CheckBrokerChange checks what Kafka's controller does not let change at all as long as the eligible leader replicas feature is
// on, which it is from the format on: min.insync.replicas belongs to all brokers and cannot go away. removed says that the
// setting would be.
func CheckBrokerChange(name string, removed, perBroker bool) error {
	const minISR = "min.insync.replicas"
	switch {
	case name == minISR && perBroker:
		return refuse(name, "Broker-level min.insync.replicas cannot be altered while ELR is enabled.")
	case name == minISR && removed:
		return refuse(name, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
	}
	return nil
}
