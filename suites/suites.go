package main

import (
	"slices"
	"time"
)

// suites are those that are run, in this order, each at a fixed version.
func suites() []suite {
	return slices.Concat(pureSuites(), nodeSuites(), librdkafkaSuites(), confluentGoSuites(), toolSuites(), clientSuites())
}

// pureSuites are those of clients that speak the protocol themselves.
func pureSuites() []suite {
	return []suite{
		{
			Name: "franz-go", Package: "github.com/twmb/franz-go", Version: "v1.22.3", Script: "franz-go",
			Format: goOutcome, Limit: 20 * time.Minute,
			Fast:  []string{"RECORDS=3000", "SKIP=^(TestIssue523|TestIssue434|TestIssue337)$"}, // these wait for 10 to 20 s each
			Alone: goAlone,
			What:  "`pkg/kgo`: 20,000 records through chains of groups of both protocols, transactions",
		},
		{
			Name: "franz-go-restarts", Package: "github.com/twmb/franz-go", Version: "v1.22.3", Script: "franz-go",
			Env:     []string{"TESTS=^(TestGroupETL|TestTxnEtl)$", "KGO_TEST_CHAOS=1"},
			Restart: 5 * time.Second, Format: goOutcome, Limit: 10 * time.Minute,
			What: "its chains of groups and transactions on a broker that is restarted whenever it has served for 5 s",
		},
		{
			Name: "kfake", Package: "github.com/twmb/franz-go/pkg/kfake", Version: "v0.0.0-20260918054303-01f206a7e32c", Script: "kfake",
			Settings: []string{"node.id=0", "group.consumer.min.heartbeat.interval.ms=100", "group.consumer.heartbeat.interval.ms=100"},
			Format:   markedOutcome, Limit: 20 * time.Minute,
			// without those about bytes per second, one that can end the process and one that waits to be skipped
			Fast:  []string{"SKIP=^(TestStreamingCompression|TestStreamingCompressionRandom|TestStreamingCompressionMigration|TestListOffsetsNoTimestampSegments|TestProducePersistentMissingPartitionStillFails)$"},
			Alone: goAlone,
			What:  "behaviour tests of franz-go's fake broker, turned to an address; those that steer the fake from inside are skipped",
		},
		{
			Name: "kafka-python", Package: "kafka-python", Version: "3.0.12", Script: "kafka-python",
			Settings: []string{"num.partitions=4", "group.min.session.timeout.ms=1000", "node.id=0"}, // as its own fixtures set them
			Format:   junitOutcome, Limit: 20 * time.Minute,
			Fast:  []string{"FLAGS=--deselect test/integration/test_ssl_integration.py --deselect test/integration/test_sasl_integration.py"},
			Alone: pythonAlone,
			What:  "integration tests: producer, consumer, groups, admin",
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
			Name: "aiokafka", Package: "aiokafka", Version: "0.14.0", Script: "aiokafka",
			Env:      []string{"TESTS=https://github.com/aio-libs/aiokafka", "TAG=v0.14.0"},
			Settings: []string{"num.partitions=2", "node.id=0", "controller.quorum.voters=0@localhost:9192"}, // as its container has it
			Format:   junitOutcome, Limit: 30 * time.Minute,
			What: "the tests that use a broker, of its repository; their fixtures turned to an address",
		},
		{
			Name: "rskafka", Package: "rskafka", Version: "0.6.0", Script: "rskafka",
			Settings: []string{"auto.create.topics.enable=false"}, // as its compose file has it
			Format:   cargoOutcome, Limit: 20 * time.Minute,
			What: "integration tests",
		},
	}
}

// nodeSuites are those of clients for Node that speak the protocol themselves.
func nodeSuites() []suite {
	all := []suite{
		{
			Name: "platformatic-kafka", Package: "@platformatic/kafka", Version: "2.7.0", Script: "platformatic-kafka",
			Env: []string{"TESTS=https://github.com/platformatic/kafka", "TAG=v2.7.0", "NODE=24"},
			Settings: []string{"listeners=PLAINTEXT://:9092,SINGLE://:9001,CLUSTER://:9011,CONTROLLER://:9192", // as its compose file has it
				"advertised.listeners=PLAINTEXT://localhost:9092,SINGLE://localhost:9001,CLUSTER://localhost:9011",
				"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SINGLE:PLAINTEXT,CLUSTER:PLAINTEXT,CONTROLLER:PLAINTEXT",
				"group.consumer.heartbeat.interval.ms=200", "group.consumer.min.heartbeat.interval.ms=100"},
			Format: junitOutcome, Limit: 30 * time.Minute,
			What: "tests of clients and connections, of its repository, made for three nodes, on one",
		},
	}
	// kafkajs's are many, and slow: one suite for each of the groups that its authors run them in
	for _, group := range []string{"admin", "broker", "consumer", "producer", "cluster"} {
		all = append(all, suite{
			Name: "kafkajs-" + group, Package: "kafkajs", Version: "2.2.4", Script: "kafkajs",
			Env: []string{"TESTS=https://github.com/tulios/kafkajs", "TAG=v2.2.4", "GROUP=" + group},
			Settings: []string{"num.partitions=2", "node.id=0", "controller.quorum.voters=0@localhost:9192", // as its compose file has it
				"listeners=PLAINTEXT://:9092,SECOND://:9095,THIRD://:9098,CONTROLLER://:9192",
				"advertised.listeners=PLAINTEXT://localhost:9092,SECOND://localhost:9095,THIRD://localhost:9098",
				"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SECOND:PLAINTEXT,THIRD:PLAINTEXT,CONTROLLER:PLAINTEXT"},
			Format: junitOutcome, Limit: 20 * time.Minute,
			What: "tests of its repository under `src/" + group + "`, made for three nodes with TLS, SASL and ACLs, on one without",
		})
	}
	return all
}

// librdkafkaSuites are those of librdkafka and of clients that are built on it.
func librdkafkaSuites() []suite {
	return []suite{
		{
			Name: "librdkafka", Package: "@confluentinc/kafka-javascript", Version: "1.10.1", Script: "librdkafka",
			Settings: []string{"num.partitions=4", "group.initial.rebalance.delay.ms=3000"}, // as its clusters have it; the delay is Kafka's default
			Env:      []string{"LEAVE=017|018"},                                             // share consumers
			Format:   librdkafkaOutcome, Limit: 40 * time.Minute,
			What: "librdkafka 2.15's test-runner, the tests that need a broker, without share consumers; what fails beside others is run once more by itself",
		},
		{
			Name: "librdkafka-noautocreate", Package: "@confluentinc/kafka-javascript", Version: "1.10.1", Script: "librdkafka",
			Settings: []string{"num.partitions=4", "group.initial.rebalance.delay.ms=3000", "auto.create.topics.enable=false"},
			Env:      []string{"FLAGS=-s noautocreate", "LEAVE=017|018"},
			Format:   librdkafkaOutcome, Limit: 20 * time.Minute,
			What: "its tests that want topics not to be created by their first use",
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
			Name: "confluent-kafka-python", Package: "confluent-kafka", Version: "2.15.0", Script: "confluent-kafka-python",
			Env:      []string{"TESTS=https://github.com/confluentinc/confluent-kafka-python", "TAG=v2.15.0", "LEAVE=share_consumer"},
			Settings: []string{"num.partitions=4", "group.share.record.lock.duration.ms=1000", "group.share.min.record.lock.duration.ms=1000"}, // as its clusters have it
			Format:   junitOutcome, Limit: 30 * time.Minute,
			What: "integration tests of its repository (librdkafka 2.15), without schema registry and share consumers",
		},
		{
			Name: "confluent-kafka-python-848", Package: "confluent-kafka", Version: "2.15.0", Script: "confluent-kafka-python",
			Env: []string{"TESTS=https://github.com/confluentinc/confluent-kafka-python", "TAG=v2.15.0",
				"LEAVE=share_consumer", "TEST_CONSUMER_GROUP_PROTOCOL=consumer"},
			Settings: []string{"num.partitions=4", "group.share.record.lock.duration.ms=1000", "group.share.min.record.lock.duration.ms=1000"},
			Format:   junitOutcome, Limit: 30 * time.Minute,
			What: "the same with the new group protocol",
		},
		{
			Name: "kcat", Package: "kcat", Version: "1.7.1", Script: "kcat",
			Env:      []string{"TESTS=https://github.com/edenhill/kcat", "TAG=1.7.1"},
			Settings: []string{"num.partitions=4"}, // as its clusters have it
			Format:   cargoOutcome, Limit: 5 * time.Minute,
			What: "tests of its repository with the program of the distribution (librdkafka 2.0)",
		},
	}
}

// confluentGoSuites are those of Confluent's client for Go, which comes with its librdkafka.
func confluentGoSuites() []suite {
	return []suite{
		{
			Name: "confluent-kafka-go", Package: "github.com/confluentinc/confluent-kafka-go/v2", Version: "v2.15.0", Script: "confluent",
			Env:    []string{"TESTS=https://github.com/confluentinc/confluent-kafka-go", "TAG=v2.15.0"},
			Format: goOutcome, Limit: 20 * time.Minute,
			What: "its tests, those with a broker of its repository (librdkafka 2.15)",
		},
		{
			Name: "confluent-kafka-go-848", Package: "github.com/confluentinc/confluent-kafka-go/v2", Version: "v2.15.0",
			Script: "confluent",
			Env:    []string{"TESTS=https://github.com/confluentinc/confluent-kafka-go", "TAG=v2.15.0", "TEST_CONSUMER_GROUP_PROTOCOL=consumer"},
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
			What: "the same tools on a broker that is restarted whenever it has served for 10 s",
		},
	}
}
