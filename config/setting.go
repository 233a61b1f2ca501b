package config

import (
	"sort"
	"strings"
)

// Type is the type of a setting, with the numbers that DescribeConfigs puts on the wire.
type Type int8

// The types of settings.
const (
	TypeUnknown Type = iota
	TypeBoolean
	TypeString
	TypeInt   // 32 bits
	TypeShort // 16 bits
	TypeLong  // 64 bits
	TypeDouble
	TypeList // words separated by commas
	TypeClass
	TypePassword
)

// String gives Kafka's name of the type, as it stands in error texts.
func (t Type) String() string {
	names := [...]string{"UNKNOWN", "BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"}
	if t < 0 || int(t) >= len(names) {
		return names[0]
	}
	return names[t]
}

// Importance is Kafka's grading of a setting.
type Importance int8

// The grades, the most important first.
const (
	High Importance = iota
	Medium
	Low
)

// Mode says whether and for whom a broker's setting can be changed at run time.
type Mode int8

// The modes.
const (
	ReadOnly    Mode = iota // only in the file, from the next start on
	PerBroker               // for one broker, by its id
	ClusterWide             // for one broker or for all of them
)

// setting is one row of a table: what Kafka's ConfigDef says about a name.
type setting struct {
	name        string
	order       int    // place in Kafka's definition: of several wrong values the first by this order is reported
	typ         Type   //
	def         string // Kafka's default as text
	unset       bool   // the default is null
	required    bool   // there is no default
	importance  Importance
	internal    bool // not described unless it is set
	mode        Mode // brokers only
	dynamicOnly bool // exists as a dynamic setting only, not in the file
	check       check
	brokerName  string // topics and groups: the broker's setting that stands in for it
	doc         string // one sentence for people; empty where there is nothing of ours to say
}

// sensitive says whether the value is never shown.
func (s *setting) sensitive() bool { return s.typ == TypePassword }

// find looks a name up in a table that is sorted by name.
func find(table []setting, name string) *setting {
	i := sort.Search(len(table), func(i int) bool { return table[i].name >= name })
	if i < len(table) && table[i].name == name {
		return &table[i]
	}
	return nil
}

func findBroker(name string) *setting { return find(brokerSettings[:], name) }
func findTopic(name string) *setting  { return find(topicSettings[:], name) }

// TopicType is the type of a topic's setting; false when there is no such setting.
func TopicType(name string) (Type, bool) { return typeOf(findTopic(name)) }

// BrokerType is the type of a broker's setting, also under a listener's prefix; false when there is no such setting.
func BrokerType(name string) (Type, bool) { return typeOf(findBrokerOrPrefixed(name)) }

// GroupType is the type of a group's setting; false when there is no such setting.
func GroupType(name string) (Type, bool) { return typeOf(find(groupSettings[:], name)) }

// ClientMetricsType is the type of a setting of client metrics; false when there is no such setting.
func ClientMetricsType(name string) (Type, bool) { return typeOf(find(clientMetricsSettings[:], name)) }

func typeOf(s *setting) (Type, bool) {
	if s == nil {
		return TypeUnknown, false
	}
	return s.typ, true
}

// TopicDefault is Kafka's default of a topic's setting, from which APPEND and SUBTRACT start where nothing is set;
// false when there is no such setting or its default is null.
func TopicDefault(name string) (string, bool) { return defaultOf(findTopic(name)) }

// BrokerDefault is Kafka's default of a broker's setting; false when there is no such setting or its default is null.
func BrokerDefault(name string) (string, bool) { return defaultOf(findBroker(name)) }

func defaultOf(s *setting) (string, bool) {
	if s == nil || s.unset || s.required {
		return "", false
	}
	return s.def, true
}

// findBrokerOrPrefixed also knows listener.name.<listener>.<setting>, where a mechanism may stand before the setting.
func findBrokerOrPrefixed(name string) *setting {
	for _, n := range brokerSynonyms(name) {
		if s := findBroker(n); s != nil {
			return s
		}
	}
	return nil
}

// withoutListener takes the prefix listener.name.<listener>. off a name; false when there is none.
func withoutListener(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "listener.name.")
	if !ok {
		return "", false
	}
	_, base, ok := strings.Cut(rest, ".")
	return base, ok
}

// brokerSynonyms are the names that decide about a broker's setting, the strongest first: milliseconds before minutes before
// hours, and a listener's own value before the general one.
func brokerSynonyms(name string) []string {
	switch name {
	case "log.roll.ms", "log.roll.hours":
		return []string{"log.roll.ms", "log.roll.hours"}
	case "log.roll.jitter.ms", "log.roll.jitter.hours":
		return []string{"log.roll.jitter.ms", "log.roll.jitter.hours"}
	case "log.flush.interval.ms":
		return []string{"log.flush.interval.ms", "log.flush.scheduler.interval.ms"}
	case "log.retention.ms", "log.retention.minutes", "log.retention.hours":
		return []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"}
	}
	base, ok := withoutListener(name)
	if !ok {
		return []string{name}
	}
	for _, perMechanism := range [...]string{"sasl.jaas.config", "sasl.login.callback.handler.class", "sasl.login.class",
		"sasl.server.callback.handler.class", "connections.max.reauth.ms"} {
		if strings.HasSuffix(base, perMechanism) {
			return []string{name, perMechanism}
		}
	}
	return []string{name, base}
}
