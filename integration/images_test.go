//go:build images

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// compatImageEnv names the compatible image that these tests start containers of; make images sets it.
const compatImageEnv = "MINIBROKER_COMPAT_IMAGE"

// compatImage is the image to test.
func compatImage(t *testing.T) string {
	t.Helper()
	image := os.Getenv(compatImageEnv)
	if image == "" {
		t.Fatal(compatImageEnv + " names no image: make images builds and tests it; it needs a Docker daemon")
	}
	return image
}

func docker(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("docker", args...).Output()
	if err != nil {
		t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, stderrOf(err))
	}
	return strings.TrimSpace(string(out))
}

func stderrOf(err error) []byte {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.Stderr
	}
	return nil
}

// containerModule is what one module of Testcontainers does to start Kafka, as its source of mid 2026 says.
type containerModule struct {
	name       string
	port       string // of Kafka in the container
	env        []string
	entrypoint string
	command    []string
	script     string                                 // where the start script goes, "" for none
	text       func(host, port, inside string) string // the script: the mapped address and the container's own name
	byExec     bool                                   // the script is written by a command in the container
	ready      string                                 // regular expression that the log must match
}

// javaEnv is the environment of the Java modules for apache/kafka and confluentinc/cp-kafka.
func javaEnv() []string {
	return []string{"CLUSTER_ID=4L6g3nShT-eMCtK--X86sw", "KAFKA_LISTENERS=PLAINTEXT://0.0.0.0:9092,BROKER://0.0.0.0:9093,CONTROLLER://0.0.0.0:9094",
		"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", "KAFKA_INTER_BROKER_LISTENER_NAME=BROKER",
		"KAFKA_PROCESS_ROLES=broker,controller", "KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER", "KAFKA_NODE_ID=1",
		"KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:9094", "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=1", "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS=1",
		"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR=1", "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR=1",
		"KAFKA_LOG_FLUSH_INTERVAL_MESSAGES=9223372036854775807", "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0"}
}

// cpEnv is the environment that the modules around confluentinc/cp-kafka share.
func cpEnv(more ...string) []string {
	return append([]string{"KAFKA_LISTENERS=PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092,CONTROLLER://0.0.0.0:9094",
		"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", "KAFKA_INTER_BROKER_LISTENER_NAME=BROKER",
		"KAFKA_BROKER_ID=1", "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=1", "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS=1",
		"KAFKA_TRANSACTION_STATE_LOG_MIN_ISR=1", "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES=9223372036854775807",
		"KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0", "KAFKA_NODE_ID=1", "KAFKA_PROCESS_ROLES=broker,controller",
		"KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER", "KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:9094"}, more...)
}

func waitAndRun(script, run string) []string {
	return []string{"-c", "while [ ! -f " + script + " ]; do sleep 0.1; done; " + run}
}

// javaModules are the Java classes and the shapes that differ between them.
func javaModules() []containerModule {
	const start = "/tmp/testcontainers_start.sh"
	recovered := `Transitioning from RECOVERY to RUNNING`
	runs := func(run string) func(host, port, inside string) string {
		return func(host, port, inside string) string {
			return fmt.Sprintf("#!/bin/bash\nexport KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://%s:%s,BROKER://%s:9093\n%s \n", host, port, inside, run)
		}
	}
	command := append([]string{"sh"}, waitAndRun(start, start)...)
	return []containerModule{
		{name: "java org.testcontainers.kafka.KafkaContainer", port: "9092", env: javaEnv(), command: command, script: start, text: runs("/etc/kafka/docker/run"), ready: recovered},
		{name: "java ConfluentKafkaContainer", port: "9092", env: javaEnv(), command: command, script: start, text: runs("/etc/confluent/docker/run"), ready: recovered},
		{name: "java containers.KafkaContainer withKraft", port: "9093", env: cpEnv("CLUSTER_ID=4L6g3nShT-eMCtK--X86sw"), entrypoint: "sh",
			command: waitAndRun("/testcontainers_start.sh", "/testcontainers_start.sh"), script: "/testcontainers_start.sh", ready: recovered,
			text: func(host, port, inside string) string {
				return fmt.Sprintf("#!/bin/bash\nexport KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://%s:%s,BROKER://%s:9092\necho '' > /etc/confluent/docker/ensure \n/etc/confluent/docker/run \n", host, port, inside)
			}},
	}
}

// otherModules are those of Go, Python, Node and Rust.
func otherModules() []containerModule {
	const goStart, nodeStart, rustStart = "/usr/sbin/testcontainers_start.sh", "/testcontainers_start.sh", "/opt/kafka/testcontainers_start.sh"
	return []containerModule{
		{name: "go modules/kafka", port: "9093", env: cpEnv(), entrypoint: "sh", command: waitAndRun(goStart, "bash "+goStart), script: goStart,
			ready: `.*Transitioning from RECOVERY to RUNNING.*`, text: func(host, port, inside string) string {
				return fmt.Sprintf("#!/bin/bash\nsource /etc/confluent/docker/bash-config\nexport KAFKA_ADVERTISED_LISTENERS=\"PLAINTEXT://%s:%s,BROKER://%s:9092${EXTRA_ADVERTISED_LISTENERS:+,${EXTRA_ADVERTISED_LISTENERS}}\"\necho Starting Kafka KRaft mode\nsed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure\necho 'kafka-storage format --ignore-formatted -t \"$(kafka-storage random-uuid)\" -c /etc/kafka/kafka.properties' >> /etc/confluent/docker/configure\necho '' > /etc/confluent/docker/ensure\n/etc/confluent/docker/configure\n/etc/confluent/docker/launch", host, port, inside)
			}},
		{name: "python KafkaContainer", port: "9093", env: []string{"KAFKA_LISTENERS=PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092",
			"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT", "KAFKA_INTER_BROKER_LISTENER_NAME=BROKER", "KAFKA_BROKER_ID=1",
			"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=1", "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS=1", "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES=10000000", "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0"},
			command: append([]string{"sh"}, waitAndRun("/tc-start.sh", "sh /tc-start.sh")...), script: "/tc-start.sh", ready: `.*\[KafkaServer id=\d+\] started.*`,
			text: pythonScript("echo 'clientPort=2181' > zookeeper.properties\necho 'dataDir=/var/lib/zookeeper/data' >> zookeeper.properties\necho 'dataLogDir=/var/lib/zookeeper/log' >> zookeeper.properties\nzookeeper-server-start zookeeper.properties &\nexport KAFKA_ZOOKEEPER_CONNECT='localhost:2181'")},
		{name: "python KafkaContainer with_kraft", port: "9093", env: cpEnv("CLUSTER_ID=4L6g3nShT-eMCtK--X86sw"),
			command: append([]string{"sh"}, waitAndRun("/tc-start.sh", "sh /tc-start.sh")...), script: "/tc-start.sh", ready: `.*Kafka Server started.*`,
			text: pythonScript("sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure\necho 'kafka-storage format --ignore-formatted -t 4L6g3nShT-eMCtK--X86sw -c /etc/kafka/kafka.properties' >> /etc/confluent/docker/configure")},
		{name: "node KafkaContainer withKraft", port: "9093", env: cpEnv("CLUSTER_ID=4L6g3nShT-eMCtK--X86sw", "KAFKA_CONFLUENT_SUPPORT_METRICS_ENABLE=false", "KAFKA_ADVERTISED_LISTENERS=BROKER://localhost:9092"),
			entrypoint: "sh", command: []string{"-c", "echo 'Waiting for script...'; while [ ! -f " + nodeStart + " ]; do sleep 0.1; done; " + nodeStart}, script: nodeStart, ready: `Kafka Server started`,
			text: func(host, port, inside string) string {
				return fmt.Sprintf("#!/bin/bash\nexport KAFKA_ADVERTISED_LISTENERS=BROKER://%s:9092,PLAINTEXT://%s:%s\nsed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure\necho 'kafka-storage format --ignore-formatted -t \"4L6g3nShT-eMCtK--X86sw\" -c /etc/kafka/kafka.properties' >> /etc/confluent/docker/configure\n/etc/confluent/docker/run \n", inside, host, port)
			}},
		{name: "rust apache", port: "9092", env: []string{"KAFKA_LISTENERS=PLAINTEXT://0.0.0.0:9092,BROKER://0.0.0.0:9093,CONTROLLER://0.0.0.0:9094", "CLUSTER_ID=5L6g3nShT-eMCtK--X86sw",
			"KAFKA_PROCESS_ROLES=broker,controller", "KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER", "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
			"KAFKA_INTER_BROKER_LISTENER_NAME=BROKER", "KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092,BROKER://localhost:9092", "KAFKA_BROKER_ID=1",
			"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=1", "KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:9094"}, entrypoint: "bash", byExec: true, script: rustStart, ready: `Kafka Server started`,
			command: []string{"-c", "while [ ! -f " + rustStart + "  ]; do sleep 0.1; done; chmod 755 " + rustStart + " && " + rustStart},
			text: func(_, port, _ string) string {
				return fmt.Sprintf("echo '#!/usr/bin/env bash\nexport KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://127.0.0.1:%s,BROKER://localhost:9093\n/etc/kafka/docker/run \n' > %s", port, rustStart)
			}},
	}
}

func pythonScript(boot string) func(host, port, inside string) string {
	return func(host, port, _ string) string {
		return fmt.Sprintf("#!/bin/bash\n%s\nexport KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://%s:%s,BROKER://$(hostname -i):9092\n. /etc/confluent/docker/bash-config\n/etc/confluent/docker/configure\n/etc/confluent/docker/launch", boot, host, port)
	}
}

// TestContainerModules starts the compatible image as each module of Testcontainers does, waits for the line that the
// module waits for, and does the module's own check: a topic, records in, records out of a group.
func TestContainerModules(t *testing.T) {
	image := compatImage(t)
	for _, m := range append(javaModules(), otherModules()...) {
		t.Run(m.name, func(t *testing.T) { m.try(t, image) })
	}
}

func (m containerModule) try(t *testing.T, image string) {
	args := []string{"create", "-p", "127.0.0.1::" + m.port}
	for _, e := range m.env {
		args = append(args, "-e", e)
	}
	if m.entrypoint != "" {
		args = append(args, "--entrypoint", m.entrypoint)
	}
	id := docker(t, append(append(args, image), m.command...)...)
	t.Cleanup(func() { exec.Command("docker", "rm", "-f", "-v", id).Run() })
	docker(t, "start", id)
	host, port, _ := strings.Cut(strings.Fields(docker(t, "port", id, m.port))[0], ":")
	var inside []struct{ Config struct{ Hostname string } }
	if err := json.Unmarshal([]byte(docker(t, "inspect", id)), &inside); err != nil {
		t.Fatal(err)
	}
	text := m.text(host, port, inside[0].Config.Hostname)
	if m.byExec {
		docker(t, "exec", id, "sh", "-c", text)
	} else {
		script := filepath.Join(t.TempDir(), "start.sh")
		if err := os.WriteFile(script, []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(script, 0o777); err != nil {
			t.Fatal(err)
		}
		docker(t, "cp", script, id+":"+m.script)
	}
	awaitLog(t, id, m.ready)
	produceAndConsume(t, host+":"+port)
}

// awaitLog waits until a container's log matches.
func awaitLog(t *testing.T, id, pattern string) {
	t.Helper()
	matches := regexp.MustCompile(pattern)
	var log []byte
	if !await(patience, func() bool {
		log, _ = exec.Command("docker", "logs", id).CombinedOutput()
		return matches.Match(log)
	}) {
		t.Fatalf("no line %q in the log:\n%s", pattern, log)
	}
}

// produceAndConsume sends three records to a new topic and reads them back as a consumer group.
func produceAndConsume(t *testing.T, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	topic := "check-" + strings.NewReplacer("/", "-", " ", "-", ".", "-", "#", "-").Replace(t.Name())
	client := newClient(t, addr, kgo.AllowAutoTopicCreation(), kgo.ConsumeTopics(topic), kgo.ConsumerGroup("group-"+topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	for i := range 3 {
		r := &kgo.Record{Topic: topic, Key: []byte("testcontainers"), Value: fmt.Appendf(nil, "rulezzz-%d", i)}
		if err := client.ProduceSync(ctx, r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for got := 0; got < 3; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		for _, r := range fetches.Records() {
			if want := fmt.Sprintf("rulezzz-%d", got); string(r.Value) != want {
				t.Fatalf("got %q, want %q", r.Value, want)
			}
			got++
		}
	}
}
