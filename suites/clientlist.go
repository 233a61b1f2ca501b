package main

import "slices"

// clients are the libraries of the client matrix. The oldest releases were found by trying, on Apache Kafka 4.4.0 where results/ says so, else
// on minibroker; where below is empty, the registry has nothing older, or nothing that builds and has these calls.
func clients() []client {
	return slices.Concat(javaClients(), pythonClients(), goClients(), nodeClients(), rustAndC())
}

func javaClients() []client {
	return []client{{
		Name: "java", Package: "org.apache.kafka:kafka-clients", Script: "java",
		Below: release{Version: "0.10.2.2"}, Oldest: release{Version: "0.11.0.0"}, Newest: release{Version: "4.4.0"},
	}}
}

func pythonClients() []client {
	old, now := []string{"PYTHON=python3.7"}, []string{"PYTHON=python3"}
	return []client{
		{
			Name: "kafka-python", Package: "kafka-python", Script: "python", Env: []string{"PROGRAM=kafka_python"},
			Below: release{Version: "1.4.4", Env: old}, Oldest: release{Version: "1.4.5", Env: old}, Newest: release{Version: "3.0.12", Env: now},
		},
		{
			Name: "confluent-kafka", Package: "confluent-kafka", Script: "python", Env: []string{"PROGRAM=confluent"},
			Below: release{Version: "1.7.0", Env: old}, Oldest: release{Version: "1.8.2", Env: old}, Newest: release{Version: "2.16.1", Env: now},
		},
		{
			Name: "aiokafka", Package: "aiokafka", Script: "python", Env: []string{"PROGRAM=aiokafka_"},
			Below:  release{Version: "0.4.3", Env: []string{"PYTHON=python3.6"}},
			Oldest: release{Version: "0.5.2", Env: old}, Newest: release{Version: "0.14.0", Env: now},
		},
	}
}

func goClients() []client {
	return []client{
		{
			Name: "franz-go", Package: "github.com/twmb/franz-go", Script: "go", Env: []string{"PROGRAM=franz"},
			Oldest: release{Version: "v1.0.0"}, Newest: release{Version: "v1.22.3"},
		},
		{
			Name: "sarama", Package: "github.com/IBM/sarama", Script: "go", Env: []string{"PROGRAM=sarama"},
			Below: release{Version: "v1.40.1"}, Oldest: release{Version: "v1.41.2"}, Newest: release{Version: "v1.61.1"},
		},
		{
			Name: "kafka-go", Package: "github.com/segmentio/kafka-go", Script: "go", Env: []string{"PROGRAM=segmentio"},
			Oldest: release{Version: "v0.4.42"}, Newest: release{Version: "v0.4.51"},
		},
		{
			Name: "confluent-kafka-go", Package: "github.com/confluentinc/confluent-kafka-go/v2", Script: "go", Env: []string{"PROGRAM=confluent"},
			Oldest: release{Version: "v1.9.1", Package: "github.com/confluentinc/confluent-kafka-go"}, Newest: release{Version: "v2.15.0"},
		},
	}
}

func nodeClients() []client {
	return []client{
		{
			Name: "kafkajs", Package: "kafkajs", Script: "node", Env: []string{"PROGRAM=kafkajs"},
			Below: release{Version: "1.7.0"}, Oldest: release{Version: "1.8.0"}, Newest: release{Version: "2.2.4"},
		},
		{
			Name: "platformatic", Package: "@platformatic/kafka", Script: "node", Env: []string{"PROGRAM=platformatic"},
			Oldest: release{Version: "1.11.0"}, Newest: release{Version: "2.12.1"},
		},
		{
			Name: "node-rdkafka", Package: "node-rdkafka", Script: "node", Env: []string{"PROGRAM=rdkafka"},
			Below: release{Version: "2.12.0"}, Oldest: release{Version: "2.13.0"}, Newest: release{Version: "3.6.1"},
		},
		{
			Name: "confluent-kafka-javascript", Package: "@confluentinc/kafka-javascript", Script: "node", Env: []string{"PROGRAM=kafkajs"},
			Oldest: release{Version: "0.1.9-devel"}, Newest: release{Version: "1.10.1"},
		},
	}
}

func rustAndC() []client {
	return []client{
		{
			Name: "rskafka", Package: "rskafka", Script: "rust", Env: []string{"PROGRAM=rskafka", "WITH=chrono = \"0.4\""},
			Newest: release{Version: "0.6.0"},
		},
		{
			Name: "rdkafka", Package: "rdkafka", Script: "rust", Env: []string{"PROGRAM=rdkafka"},
			// with the bindings, and so the librdkafka, of their time: cargo takes the newest to old releases too
			Below:  release{Version: "0.27.0", Env: []string{`WITH=rdkafka-sys = "=4.1.0"`}}, // librdkafka 1.7
			Oldest: release{Version: "0.28.0", Env: []string{`WITH=rdkafka-sys = "=4.2.0"`}}, // 1.8
			Newest: release{Version: "0.39.0"},
		},
		{
			Name: "kcat", Package: "kcat", Script: "kcat", // Debian's
			Newest: release{Version: "1.7.1-2"},
		},
	}
}
