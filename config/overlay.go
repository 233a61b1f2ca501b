package config

// shipped is what Kafka's own config/server.properties sets, as far as it differs from Kafka's built-in defaults and matters
// on one node: the internal topics are made for one broker, and groups do not wait before their first rebalance. Without these
// lines a broker by itself would never be able to create its internal topics.
var shipped = [...]struct{ name, value string }{
	{"process.roles", "broker,controller"},
	{"node.id", "1"},
	{"controller.listener.names", "CONTROLLER"},
	{"inter.broker.listener.name", "PLAINTEXT"},
	{"offsets.topic.replication.factor", "1"},
	{"share.coordinator.state.topic.replication.factor", "1"},
	{"share.coordinator.state.topic.min.isr", "1"},
	{"transaction.state.log.replication.factor", "1"},
	{"transaction.state.log.min.isr", "1"},
	{"group.initial.rebalance.delay.ms", "0"},
}

// onlyOne are the settings of internal topics of which one node can keep only this much, whatever is set: with more the
// topics could never be created, and groups and transactions would wait for ever.
var onlyOne = [...]string{
	"offsets.topic.replication.factor",
	"share.coordinator.state.topic.replication.factor",
	"share.coordinator.state.topic.min.isr",
	"transaction.state.log.replication.factor",
	"transaction.state.log.min.isr",
}

// Shipped are the names of the settings that Kafka's own server.properties sets and that are in effect without being given.
func Shipped() []string {
	names := make([]string, 0, len(shipped))
	for _, s := range shipped {
		names = append(names, s.name)
	}
	return names
}
