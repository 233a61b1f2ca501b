package main

// clients are the libraries of the client matrix. The oldest releases were found by trying on Apache Kafka 4.4.0.
func clients() []client {
	py37, py311 := []string{"PYTHON=python3.7"}, []string{"PYTHON=python3"}
	return []client{
		{
			Name: "java", Package: "org.apache.kafka:kafka-clients", Script: "java",
			Below: release{Version: "2.0.1"}, Oldest: release{Version: "2.1.0"}, Newest: release{Version: "4.4.0"},
		},
		{
			Name: "kafka-python", Package: "kafka-python", Script: "python", Env: []string{"PROGRAM=kafka_python"},
			Below: release{Version: "2.0.1", Env: py37}, Oldest: release{Version: "2.0.2", Env: py37}, Newest: release{Version: "3.0.12", Env: py311},
		},
	}
}
