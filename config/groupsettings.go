package config

// groupSettings are all settings of a group in Apache Kafka 4.4.0, sorted by name; brokerName is the broker's setting that
// stands in where a group has none of its own.
var groupSettings = [...]setting{
	{name: "consumer.assignment.interval.ms", order: 2, typ: TypeInt, def: "1000", importance: Medium, check: check{kind: inRange, min: "0"}, brokerName: "group.consumer.assignment.interval.ms"},
	{name: "consumer.assignor.offload.enable", order: 3, typ: TypeBoolean, def: "true", importance: Medium, internal: true, brokerName: "group.consumer.assignor.offload.enable"},
	{name: "consumer.heartbeat.interval.ms", order: 1, typ: TypeInt, def: "5000", importance: Medium, check: check{kind: inRange, min: "1"}, brokerName: "group.consumer.heartbeat.interval.ms"},
	{name: "consumer.session.timeout.ms", order: 0, typ: TypeInt, def: "45000", importance: Medium, check: check{kind: inRange, min: "1"}, brokerName: "group.consumer.session.timeout.ms"},
	{name: "errors.deadletterqueue.copy.record.enable", order: 26, typ: TypeBoolean, def: "false", importance: Medium},
	{name: "errors.deadletterqueue.topic.name", order: 25, typ: TypeString, importance: Medium},
	{name: "share.assignment.interval.ms", order: 12, typ: TypeInt, def: "1000", importance: Medium, check: check{kind: inRange, min: "0"}, brokerName: "group.share.assignment.interval.ms"},
	{name: "share.assignor.offload.enable", order: 13, typ: TypeBoolean, def: "true", importance: Medium, internal: true, brokerName: "group.share.assignor.offload.enable"},
	{name: "share.auto.offset.reset", order: 9, typ: TypeString, def: "latest", importance: Medium, check: check{kind: offsetResetStrategy}},
	{name: "share.delivery.count.limit", order: 7, typ: TypeInt, def: "5", importance: Medium, check: check{kind: inRange, min: "2"}, brokerName: "group.share.delivery.count.limit"},
	{name: "share.heartbeat.interval.ms", order: 5, typ: TypeInt, def: "5000", importance: Medium, check: check{kind: inRange, min: "1"}, brokerName: "group.share.heartbeat.interval.ms"},
	{name: "share.isolation.level", order: 10, typ: TypeString, def: "read_uncommitted", importance: Medium, check: check{kind: oneOf, in: []string{"read_committed", "read_uncommitted"}}},
	{name: "share.partition.max.record.locks", order: 8, typ: TypeInt, def: "2000", importance: Medium, check: check{kind: inRange, min: "100"}, brokerName: "group.share.partition.max.record.locks"},
	{name: "share.record.lock.duration.ms", order: 6, typ: TypeInt, def: "30000", importance: Medium, check: check{kind: inRange, min: "1000"}, brokerName: "group.share.record.lock.duration.ms"},
	{name: "share.renew.acknowledge.enable", order: 11, typ: TypeBoolean, def: "true", importance: Medium},
	{name: "share.session.timeout.ms", order: 4, typ: TypeInt, def: "45000", importance: Medium, check: check{kind: inRange, min: "1"}, brokerName: "group.share.session.timeout.ms"},
	{name: "streams.acceptable.recovery.lag", order: 23, typ: TypeLong, def: "10000", importance: Medium, internal: true, check: check{kind: inRange, min: "0"}, brokerName: "group.streams.acceptable.recovery.lag"},
	{name: "streams.assignment.interval.ms", order: 18, typ: TypeInt, def: "1000", importance: Medium, check: check{kind: inRange, min: "0"}, brokerName: "group.streams.assignment.interval.ms"},
	{name: "streams.assignor.name", order: 24, typ: TypeString, unset: true, importance: Medium, brokerName: "group.streams.assignors"},
	{name: "streams.assignor.offload.enable", order: 19, typ: TypeBoolean, def: "true", importance: Medium, internal: true, brokerName: "group.streams.assignor.offload.enable"},
	{name: "streams.heartbeat.interval.ms", order: 15, typ: TypeInt, def: "5000", importance: Medium, check: check{kind: inRange, min: "1"}, brokerName: "group.streams.heartbeat.interval.ms"},
	{name: "streams.initial.rebalance.delay.ms", order: 17, typ: TypeInt, def: "3000", importance: Medium, check: check{kind: inRange, min: "0"}, brokerName: "group.streams.initial.rebalance.delay.ms"},
	{name: "streams.num.standby.replicas", order: 16, typ: TypeInt, def: "0", importance: Medium, check: check{kind: inRange, min: "0"}, brokerName: "group.streams.num.standby.replicas"},
	{name: "streams.num.warmup.replicas", order: 21, typ: TypeInt, def: "2", importance: Medium, internal: true, check: check{kind: inRange, min: "0"}, brokerName: "group.streams.num.warmup.replicas"},
	{name: "streams.rack.aware.assignment.tags", order: 22, typ: TypeList, importance: Low, check: check{kind: validList}, brokerName: "group.streams.rack.aware.assignment.tags"},
	{name: "streams.session.timeout.ms", order: 14, typ: TypeInt, def: "45000", importance: Medium, check: check{kind: inRange, min: "1"}, brokerName: "group.streams.session.timeout.ms"},
	{name: "streams.task.offset.interval.ms", order: 20, typ: TypeInt, def: "60000", importance: Medium, internal: true, check: check{kind: inRange, min: "1"}, brokerName: "group.streams.task.offset.interval.ms"},
}

// clientMetricsSettings are the settings of a client metrics subscription in Apache Kafka 4.4.0, sorted by name.
var clientMetricsSettings = [...]setting{
	{name: "interval.ms", order: 1, typ: TypeInt, def: "300000", importance: Medium},
	{name: "match", order: 2, typ: TypeList, importance: Medium, check: check{kind: validList}},
	{name: "metrics", order: 0, typ: TypeList, importance: Medium, check: check{kind: validList}},
}
