package config

import (
	"slices"
	"testing"
)

func TestEffective(t *testing.T) {
	b, _, err := Parse([]Property{
		{Key: "listeners", Value: "PLAINTEXT://:9092", Source: "f:1"}, {Key: "num.partitions", Value: "3", Source: "f:2"},
		{Key: "offsets.topic.replication.factor", Value: "3", Source: "f:3"}, {Key: "no.such", Value: "x", Source: "f:4"},
		{Key: "ssl.key.password", Value: "secret", Source: "f:5"}, {Key: "listener.name.x.ssl.key.password", Value: "secret", Source: "f:6"},
		{Key: "broker.id", Value: "7", Source: "f:7"}})
	if err != nil {
		t.Fatal(err)
	}
	all := b.Effective()
	if !slices.IsSortedFunc(all, func(a, b Effective) int { return cmpStrings(a.Name, b.Name) }) || len(all) < 300 {
		t.Errorf("%d settings", len(all))
	}
	for _, want := range []Effective{
		{"num.partitions", "3", "f:2", true},
		{"num.io.threads", "8", "Kafka's default", false},
		{"log.retention.ms", "null", "Kafka's default", false},
		{"group.initial.rebalance.delay.ms", "0", "default of Kafka's own server.properties", false},
		{"offsets.topic.replication.factor", "1", "always so on one node", true},
		{"no.such", "x", "f:4", true},
		{"ssl.key.password", "[hidden]", "f:5", true},
		{"listener.name.x.ssl.key.password", "[hidden]", "f:6", true},
		{"node.id", "7", "f:7", true},
	} {
		if !slices.Contains(all, want) {
			t.Errorf("%+v is not there", want)
		}
	}
}

func TestNoEffect(t *testing.T) {
	for name, want := range map[string]string{
		"num.partitions":                          "",
		"super.users":                             "",
		"zookeeper.connect":                       "Kafka 4.4.0 has no such setting",
		"replica.fetch.max.bytes":                 "it is about other nodes, and there are none",
		"offsets.topic.replication.factor":        "one node holds one replica, so it is 1",
		"alter.config.policy.class.name":          "it names a Java class, which this broker cannot load",
		"queued.max.requests":                     Idle,
		"listener.name.x.queued.max.requests":     Idle,
		"listener.name.x.connections.max.idle.ms": "",
	} {
		if got := NoEffect(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, name := range idle {
		if findBroker(name) == nil {
			t.Errorf("%s is no setting", name)
		}
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{"num.partition": "num.partitions", "log.retention.hour": "log.retention.hours", "LOG.DIRS": "log.dirs",
		"autocreate.topics.enable": "auto.create.topics.enable", "zookeeper.connect": "", "x": "", "": ""} {
		if got := Nearest(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestRemedies: every objection that Kafka has to a whole file, as far as starts.txt knows them, comes with something to do.
func TestRemedies(t *testing.T) {
	for text, want := range map[string]string{
		"Invalid value abc for configuration num.partitions: Not a number of type INT": "correct num.partitions, or remove it: the default is 1",
		"No security protocol defined for listener OTHER":                              "say what the listener speaks: add OTHER:PLAINTEXT to listener.security.protocol.map (KAFKA_LISTENER_SECURITY_PROTOCOL_MAP)",
	} {
		e := &Error{Name: "num.partitions", Text: text}
		if got := e.Remedy(); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
	for name, want := range map[string]string{"": "correct or remove it", "log.dirs": "correct or remove log.dirs", "ssl.cipher.suites": "correct ssl.cipher.suites, or remove it: the default is empty"} {
		if got := (&Error{Name: name}).Remedy(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
