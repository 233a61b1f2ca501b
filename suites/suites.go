package main

import (
	"slices"
	"time"
)

// suites are those that are run, in this order, each at a fixed version.
func suites() []suite {
	return slices.Concat(pureSuites(), librdkafkaSuites(), toolSuites(), clientSuites())
}

// pureSuites are those of clients that speak the protocol themselves.
func pureSuites() []suite {
	return []suite{
		{
			Name: "franz-go", Package: "github.com/twmb/franz-go", Version: "v1.22.3", Script: "franz-go",
			Format: goOutcome, Limit: 20 * time.Minute,
			What: "`pkg/kgo`: 20,000 records through chains of groups of both protocols, transactions",
		},
		{
			Name: "franz-go-restarts", Package: "github.com/twmb/franz-go", Version: "v1.22.3", Script: "franz-go",
			Env:     []string{"TESTS=^(TestGroupETL|TestTxnEtl)$", "KGO_TEST_CHAOS=1"},
			Restart: 5 * time.Second, Format: goOutcome, Limit: 20 * time.Minute,
			What: "its chains of groups and transactions while the broker is restarted every 5 s",
		},
		{
			Name: "kfake", Package: "github.com/twmb/franz-go/pkg/kfake", Version: "v0.0.0-20260918054303-01f206a7e32c", Script: "kfake",
			Settings: []string{"node.id=0", "controller.quorum.voters=0@localhost:9192", "group.consumer.min.heartbeat.interval.ms=100", "group.consumer.heartbeat.interval.ms=100"},
			Format:   markedOutcome, Limit: 20 * time.Minute,
			What: "behaviour tests of franz-go's fake broker, turned to an address; those that steer the fake from inside are skipped",
		},
		{
			Name: "kafka-python", Package: "kafka-python", Version: "3.0.12", Script: "kafka-python",
			Settings: []string{"num.partitions=4", "group.min.session.timeout.ms=1000", "node.id=0", "controller.quorum.voters=0@localhost:9192"}, // as its own fixtures set them
			Format:   junitOutcome, Limit: 20 * time.Minute,
			What: "integration tests: producer, consumer, groups, admin",
		},
		{
			Name: "sarama", Package: "github.com/IBM/sarama", Version: "v1.61.1", Script: "sarama", Env: []string{"TOXIPROXY=v2.12.0"},
			Settings: []string{"advertised.listeners=PLAINTEXT://localhost:29091", "auto.create.topics.enable=false"},
			Format:   goOutcome, Limit: 20 * time.Minute,
			What: "functional tests, made for five nodes, on one",
		},
		{
			Name: "kafka-go", Package: "github.com/segmentio/kafka-go", Version: "v0.4.51", Script: "segmentio",
			Settings: []string{"message.max.bytes=200000000", "group.initial.rebalance.delay.ms=3000"}, // as its compose file has it, which counts on the delay
			Format:   goOutcome, Limit: 20 * time.Minute,
			What: "all tests of the client",
		},
		{
			Name: "rskafka", Package: "rskafka", Version: "0.6.0", Script: "rskafka",
			Format: cargoOutcome, Limit: 20 * time.Minute,
			What: "integration tests",
		},
	}
}

// librdkafkaSuites are those of librdkafka and of clients that are built on it.
func librdkafkaSuites() []suite {
	return []suite{
		{
			Name: "librdkafka", Package: "@confluentinc/kafka-javascript", Version: "1.10.1", Script: "librdkafka",
			Settings: []string{"num.partitions=4", "group.initial.rebalance.delay.ms=3000"}, // as its clusters have it; the delay is Kafka's default
			Env:      []string{"LEAVE=017|018"},                                             // share consumers
			Format:   librdkafkaOutcome, Limit: 40 * time.Minute,
			What: "librdkafka 2.15's test-runner, the tests that need a broker, without share consumers",
		},
		{
			Name: "librdkafka-848", Package: "@confluentinc/kafka-javascript", Version: "1.10.1", Script: "librdkafka",
			Settings: []string{"num.partitions=4", "group.initial.rebalance.delay.ms=3000"},
			Env:      []string{"TEST_CONSUMER_GROUP_PROTOCOL=consumer", "LEAVE=017|018"},
			Format:   librdkafkaOutcome, Limit: 40 * time.Minute,
			What: "the same with the new group protocol",
		},
		{
			Name: "librdkafka-idempotent", Package: "@confluentinc/kafka-javascript", Version: "1.10.1", Script: "librdkafka",
			Settings: []string{"num.partitions=4", "group.initial.rebalance.delay.ms=3000"},
			Env:      []string{"FLAGS=-P", "LEAVE=017|018"},
			Format:   librdkafkaOutcome, Limit: 40 * time.Minute,
			What: "the same with idempotent producers, without share consumers",
		},
		{
			Name: "node-rdkafka", Package: "node-rdkafka", Version: "3.6.1", Script: "node-rdkafka",
			Format: junitOutcome, Limit: 20 * time.Minute,
			What: "e2e tests (librdkafka 2.12)",
		},
		{
			Name: "confluent-kafka-go", Package: "github.com/confluentinc/confluent-kafka-go/v2", Version: "v2.11.1", Script: "confluent",
			Format: goOutcome, Limit: 20 * time.Minute,
			What: "integration tests (librdkafka 2.11)",
		},
		{
			Name: "confluent-kafka-go-848", Package: "github.com/confluentinc/confluent-kafka-go/v2", Version: "v2.11.1",
			Script: "confluent", Env: []string{"TEST_CONSUMER_GROUP_PROTOCOL=consumer"},
			Format: goOutcome, Limit: 20 * time.Minute,
			What: "the same with the new group protocol",
		},
	}
}

// toolSuites are Kafka's own tools, with cases of ours that check what they print.
func toolSuites() []suite {
	return []suite{
		{
			Name: "kafka-tools", Package: "org.apache.kafka:kafka-tools", Version: "4.4.0", Script: "kafka-tools",
			Settings: []string{"num.partitions=3"},
			Format:   linesOutcome, Limit: 30 * time.Minute,
			What: "verifiable producers and consumers (members come and go, static members, all assignors of both protocols), perf tools, end-to-end latency, the transactional copier",
		},
		{
			Name: "kafka-tools-restarts", Package: "org.apache.kafka:kafka-tools", Version: "4.4.0", Script: "kafka-tools", Env: []string{"CASES=restarts"},
			Settings: []string{"num.partitions=3"}, Restart: 10 * time.Second,
			Format: linesOutcome, Limit: 30 * time.Minute,
			What: "the same tools while the broker is restarted every 10 s",
		},
	}
}
