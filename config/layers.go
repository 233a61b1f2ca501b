package config

import (
	"strconv"
	"strings"
)

// Layers are the settings that apply now: what the broker started with, under the dynamic settings of all brokers, under
// those of this broker. Nil maps are empty. A dynamic value that is not valid does not count, as in Kafka.
type Layers struct {
	Static         *Broker
	ClusterDefault map[string]string // broker resource ""
	Node           map[string]string // broker resource with this node's id
}

// value is the setting as it takes effect. A dynamic value also pushes aside what the file says under a weaker name for the
// same thing: dynamic log.retention.ms hides log.retention.hours of the file.
func (l Layers) value(name string) value {
	for _, dynamic := range [...]map[string]string{l.Node, l.ClusterDefault} {
		if v, ok := dynamicValue(dynamic, name); ok {
			return v
		}
	}
	for _, other := range brokerSynonyms(name) {
		if other != name && (has(l.Node, other) || has(l.ClusterDefault, other)) {
			v, _ := findBroker(name).parse(nil) // defaults are valid
			return v
		}
	}
	return l.Static.values[name]
}

func has(m map[string]string, name string) bool { _, ok := m[name]; return ok }

func dynamicValue(set map[string]string, name string) (value, bool) {
	if !has(set, name) {
		return nil, false
	}
	s := findBroker(name)
	if s == nil || s.mode == ReadOnly {
		return nil, false
	}
	v, err := s.parse(set)
	return v, err == nil
}

// Int is the value of an INT or SHORT setting; 0 for null.
func (l Layers) Int(name string) int { return int(l.Long(name)) }

// Long is the value of a LONG, INT or SHORT setting; 0 for null.
func (l Layers) Long(name string) int64 { n, _ := l.value(name).(int64); return n }

// Double is the value of a DOUBLE setting.
func (l Layers) Double(name string) float64 { f, _ := l.value(name).(float64); return f }

// Bool is the value of a BOOLEAN setting.
func (l Layers) Bool(name string) bool { v, _ := l.value(name).(bool); return v }

// String is the value of a STRING, CLASS or PASSWORD setting; "" for null.
func (l Layers) String(name string) string { s, _ := l.value(name).(string); return s }

// List is the value of a LIST setting; nil for null.
func (l Layers) List(name string) []string { return asList(l.value(name)) }

// ListenerInt is a number that is set for one listener alone, as listener.name.internal.max.connections; false when it is not.
func (l Layers) ListenerInt(listener, name string) (int, bool) {
	prefixed := "listener.name." + strings.ToLower(listener) + "." + name
	for _, set := range [...]map[string]string{l.Node, l.ClusterDefault, l.Static.static} {
		if v, ok := set[prefixed]; ok {
			n, err := strconv.Atoi(trim(v))
			return n, err == nil
		}
	}
	return 0, false
}

// Listeners are the listeners in force, the controller's among them: those of the dynamic settings, or else those that the
// broker started with. The error says why the dynamic ones cannot be had, as when the file has changed meanwhile.
func (l Layers) Listeners() ([]Listener, error) {
	if !has(l.Node, "listeners") {
		return l.Static.Listeners(), nil
	}
	now, err := l.merged()
	if err == nil {
		err = now.checkUnsecured()
	}
	if err != nil {
		return nil, err
	}
	return now.Listeners(), nil
}

// millis is a time that may be set under several names: the strongest that is not null, in milliseconds, and its name.
func millis(name string, valueOf func(string) value) (decider string, ms int64) {
	for _, n := range brokerSynonyms(name) {
		if v, ok := valueOf(n).(int64); ok {
			return n, v * unitMs(n)
		}
	}
	return name, 0
}

// unitMs is the unit of a name in milliseconds.
func unitMs(name string) int64 {
	switch name {
	case "log.retention.minutes":
		return 60_000
	case "log.retention.hours", "log.roll.hours", "log.roll.jitter.hours":
		return 3_600_000
	}
	return 1
}

func (b *Broker) millis(name string) (decider string, ms int64) {
	return millis(name, func(n string) value { return b.values[n] })
}
