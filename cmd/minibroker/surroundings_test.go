package main

import (
	"bufio"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"minibroker/config"
)

// environment is what the variables say.
func environment(t *testing.T, vars ...string) surroundings {
	t.Helper()
	settings, err := config.ReadEnvironment(vars, "")
	if err != nil {
		t.Fatal(err)
	}
	return surroundings{settings: settings}
}

// TestPrecedence: flag over environment over file over default.
func TestPrecedence(t *testing.T) {
	file := writeFile(t, kraftFile+"num.partitions=2\nlog.retention.hours=2\nbackground.threads=2\n")
	f := flags{file: file, env: environment(t, "KAFKA_LOG_RETENTION_HOURS=3", "KAFKA_BACKGROUND_THREADS=3"), overrides: []string{"background.threads=4"}}
	props, err := f.properties()
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := config.Parse(props)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"num.io.threads": 8, "num.partitions": 2, "log.retention.hours": 3, "background.threads": 4} {
		if got := b.Int(name); got != want {
			t.Errorf("%s=%d, want %d", name, got, want)
		}
	}
}

// TestPartialEnvironments: sets of variables over no file, among them those with which Kafka's own image does not start.
func TestPartialEnvironments(t *testing.T) {
	for _, c := range []struct {
		what string
		env  surroundings
		want []told
	}{
		{"one variable", environment(t, "KAFKA_AUTO_CREATE_TOPICS_ENABLE=false"), []told{{"PLAINTEXT", "127.0.0.1", 9092, "127.0.0.1", 9092, false}}},
		{"an image's own default", surroundings{listen: "0.0.0.0:19092"}, []told{{"PLAINTEXT", "0.0.0.0", 19092, "localhost", 19092, false}}},
		{"advertised alone", environment(t, "KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://h:1"), []told{{"PLAINTEXT", "0.0.0.0", 1, "h", 1, false}}},
		{"advertised alone over an image's", surroundings{listen: "0.0.0.0:2", settings: environment(t, "KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://h:1").settings},
			[]told{{"PLAINTEXT", "0.0.0.0", 1, "h", 1, false}}},
		{"listeners alone", environment(t, "KAFKA_LISTENERS=PLAINTEXT://127.0.0.1:5"), []told{{"PLAINTEXT", "127.0.0.1", 5, "127.0.0.1", 5, false}}},
		{"a controller without a listener", environment(t, "KAFKA_NODE_ID=1", "KAFKA_PROCESS_ROLES=broker,controller", "KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER",
			"KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:9093", "KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9093"),
			[]told{{"PLAINTEXT", "0.0.0.0", 9093, "localhost", 9093, false}, {"CONTROLLER", "0.0.0.0", 9094, hostname(t), 9094, true}}},
		{"the sample of Kafka's image", environment(t, "KAFKA_NODE_ID=1", "KAFKA_PROCESS_ROLES=broker,controller",
			"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT",
			"KAFKA_ADVERTISED_LISTENERS=PLAINTEXT_HOST://localhost:9092,PLAINTEXT://broker:19092",
			"KAFKA_LISTENERS=CONTROLLER://:29093,PLAINTEXT_HOST://:9092,PLAINTEXT://:19092", "KAFKA_INTER_BROKER_LISTENER_NAME=PLAINTEXT",
			"KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER", "KAFKA_CONTROLLER_QUORUM_VOTERS=1@broker:29093", "KAFKA_LOG_DIRS=/tmp/kraft-combined-logs"),
			[]told{{"CONTROLLER", "", 29093, hostname(t), 29093, true}, {"PLAINTEXT_HOST", "", 9092, "localhost", 9092, false}, {"PLAINTEXT", "", 19092, "broker", 19092, false}}},
		{"Testcontainers for Java", environment(t, "CLUSTER_ID=4L6g3nShT-eMCtK--X86sw", "KAFKA_LISTENERS=CONTROLLER://0.0.0.0:9094,BROKER://0.0.0.0:9093,PLAINTEXT://0.0.0.0:9092",
			"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", "KAFKA_INTER_BROKER_LISTENER_NAME=BROKER",
			"KAFKA_PROCESS_ROLES=broker,controller", "KAFKA_CONTROLLER_LISTENER_NAMES=CONTROLLER", "KAFKA_NODE_ID=1", "KAFKA_CONTROLLER_QUORUM_VOTERS=1@localhost:9094",
			"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=1", "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES=9223372036854775807", "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0",
			"KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:32768,BROKER://4a0c:9093"),
			[]told{{"CONTROLLER", "0.0.0.0", 9094, hostname(t), 9094, true}, {"BROKER", "0.0.0.0", 9093, "4a0c", 9093, false}, {"PLAINTEXT", "0.0.0.0", 9092, "localhost", 32768, false}}},
		{"Testcontainers with one more listener", environment(t, "KAFKA_LISTENERS=PLAINTEXT://0.0.0.0:9092,TC-0://0.0.0.0:19092",
			"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=PLAINTEXT:PLAINTEXT,TC-0:PLAINTEXT", "KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:32768,TC-0://kafka:19092"),
			[]told{{"PLAINTEXT", "0.0.0.0", 9092, "localhost", 32768, false}, {"TC-0", "0.0.0.0", 19092, "kafka", 19092, false}}},
		{"bitnami's image", environment(t, "KAFKA_CFG_NODE_ID=0", "KAFKA_CFG_PROCESS_ROLES=controller,broker", "KAFKA_CFG_CONTROLLER_QUORUM_VOTERS=0@kafka:9093",
			"KAFKA_CFG_LISTENERS=PLAINTEXT://:9092,CONTROLLER://:9093,EXTERNAL://:9094", "KAFKA_CFG_ADVERTISED_LISTENERS=PLAINTEXT://kafka:9092,EXTERNAL://localhost:9094",
			"KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP=CONTROLLER:PLAINTEXT,EXTERNAL:PLAINTEXT,PLAINTEXT:PLAINTEXT", "KAFKA_CFG_CONTROLLER_LISTENER_NAMES=CONTROLLER",
			"KAFKA_KRAFT_CLUSTER_ID=abc", "KAFKA_ENABLE_KRAFT=yes", "ALLOW_PLAINTEXT_LISTENER=yes"),
			[]told{{"PLAINTEXT", "", 9092, "kafka", 9092, false}, {"CONTROLLER", "", 9093, hostname(t), 9093, true}, {"EXTERNAL", "", 9094, "localhost", 9094, false}}},
		{"a file of the days of ZooKeeper", environment(t, "KAFKA_BROKER_ID=1", "KAFKA_ZOOKEEPER_CONNECT=zookeeper:2181", "KAFKA_INTER_BROKER_LISTENER_NAME=PLAINTEXT",
			"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP=PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT", "KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://kafka:29092,PLAINTEXT_HOST://localhost:9092",
			"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=1", "KAFKA_JMX_PORT=9101", "KAFKA_HEAP_OPTS=-Xmx512m", "KAFKA_AUTHORIZER_CLASS_NAME=a.B", "KAFKA_ALLOW_EVERYONE_IF_NO_ACL_FOUND=true"),
			[]told{{"PLAINTEXT", "0.0.0.0", 29092, "kafka", 29092, false}, {"PLAINTEXT_HOST", "0.0.0.0", 9092, "localhost", 9092, false}}},
	} {
		t.Run(c.what, func(t *testing.T) {
			props, err := flags{env: c.env}.properties()
			if err != nil {
				t.Fatal(err)
			}
			b, _, err := config.Parse(props)
			if err != nil {
				t.Fatal(err)
			}
			got := b.Listeners()
			if len(got) != len(c.want) {
				t.Fatalf("%+v, want %+v", got, c.want)
			}
			for i, l := range got {
				if g := (told{l.Name, l.Host, l.Port, l.AdvertisedHost, l.AdvertisedPort, l.IsController}); g != c.want[i] {
					t.Errorf("%+v, want %+v", g, c.want[i])
				}
			}
		})
	}
	if _, err := (flags{env: surroundings{listen: "nonsense"}}).properties(); err == nil || !strings.Contains(err.Error(), listenVariable) {
		t.Errorf("a wrong default address: %v", err)
	}
}

func TestLogLevelsOfEnvironment(t *testing.T) {
	levels := newLoggers(slog.LevelInfo)
	env := environment(t, "KAFKA_LOG4J_ROOT_LOGLEVEL=warn", "KAFKA_LOG4J_LOGGERS=kafka.server.KafkaApis=DEBUG, a.b=OFF,c=loud")
	ignored := env.setLevels(levels)
	if len(ignored) != 1 || !strings.Contains(ignored[0], `KAFKA_LOG4J_LOGGERS: "loud" is no log level`) {
		t.Errorf("%q", ignored)
	}
	for logger, want := range map[string]slog.Level{"root": slog.LevelWarn, "kafka.server.KafkaApis": slog.LevelDebug, "a.b": levelOff} {
		if got := levels.Levels()[logger]; got != want {
			t.Errorf("%s has %v, want %v", logger, got, want)
		}
	}
	if levels.lets("other", slog.LevelInfo) || levels.lets("a.b", slog.LevelError) || !levels.lets("kafka.server.KafkaApis", slog.LevelDebug) {
		t.Error("the levels are not in force")
	}
}

// TestStartByEnvironment is a life of a process whose settings, cluster id and topics come from variables, with its ports in a file
// and its log in JSON.
func TestStartByEnvironment(t *testing.T) {
	dir := t.TempDir()
	data, ports := filepath.Join(dir, "data"), filepath.Join(dir, "ports")
	t.Setenv("KAFKA_LISTENERS", "A://127.0.0.1:0,B://localhost:0")
	t.Setenv("KAFKA_LISTENER_SECURITY_PROTOCOL_MAP", "A:PLAINTEXT,B:PLAINTEXT")
	t.Setenv("KAFKA_LOG_DIRS", data)
	t.Setenv("KAFKA_CREATE_TOPICS", "made:2:1:compact")
	t.Setenv("CLUSTER_ID", "4L6g3nShT-eMCtK--X86sw")
	cmd, lines := start(t, "command", "--ports-file", ports, "--log-format", "json", "--topic", "more:3")
	awaitJSON(t, lines, "[KafkaRaftServer nodeId=1] Kafka Server started", "kafka.server.KafkaRaftServer")
	text, err := os.ReadFile(ports)
	if err != nil {
		t.Fatal(err)
	}
	told := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(told) != 2 || !strings.HasPrefix(told[0], "A=127.0.0.1:") || !strings.HasPrefix(told[1], "B=localhost:") {
		t.Fatalf("ports file: %q", text)
	}
	for _, line := range told {
		_, addr, _ := strings.Cut(line, "=")
		var stdout, stderr strings.Builder
		if code := execute([]string{"ping", addr}, &stdout, &stderr); code != 0 {
			t.Errorf("ping %s: %d %s", line, code, stderr.String())
		}
	}
	for _, partition := range []string{"made-1", "more-2"} {
		if _, err := os.Stat(filepath.Join(data, partition)); err != nil {
			t.Error(err)
		}
	}
	meta, err := os.ReadFile(filepath.Join(data, "meta.properties"))
	if err != nil || !strings.Contains(string(meta), "cluster.id=4L6g3nShT-eMCtK--X86sw\n") {
		t.Errorf("meta.properties: %s, %v", meta, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitJSON(t, lines, "[BrokerServer id=1] shut down completed", "kafka.server.BrokerServer")
	if code := exitCode(cmd.Wait()); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Stat(ports); !os.IsNotExist(err) {
		t.Errorf("the ports file is still there: %v", err)
	}
	var stdout, stderr strings.Builder
	if code := execute([]string{"verify", data}, &stdout, &stderr); code != 0 {
		t.Errorf("%s%s", stdout.String(), stderr.String())
	}
}

// awaitJSON reads lines, all of which must be JSON, up to one with the text.
func awaitJSON(t *testing.T, lines *bufio.Scanner, text, logger string) {
	t.Helper()
	for lines.Scan() {
		var line struct{ Time, Level, Msg, Logger string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil || line.Time == "" || line.Level == "" {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if line.Msg == text && line.Logger == logger {
			return
		}
	}
	t.Fatalf("no line with %q", text)
}
