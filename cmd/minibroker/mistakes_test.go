package main

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// mistake is something that people do wrong, with what a command must say about it: the cause and the remedy.
type mistake struct {
	what    string
	command []string
	env     []string
	code    int
	cause   string
	remedy  string
}

// run runs the command in the environment and holds what it prints against the mistake.
func (m mistake) run(t *testing.T) {
	t.Helper()
	for _, pair := range m.env {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	var stdout, stderr strings.Builder
	code := execute(m.command, &stdout, &stderr)
	m.check(t, code, stdout.String()+stderr.String())
}

func (m mistake) check(t *testing.T, code int, out string) {
	t.Helper()
	if code != m.code {
		t.Errorf("exit code %d, want %d", code, m.code)
	}
	for _, want := range []string{m.cause, m.remedy} {
		if want == "" || !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

// withMeta makes a data directory of a cluster.
func withMeta(t *testing.T, clusterID string) string {
	t.Helper()
	dir := t.TempDir()
	if err := logstore.WriteMetaProperties(vfs.OS(), dir, logstore.MetaProperties{NodeID: 1, ClusterID: clusterID, DirectoryID: logstore.NewUUID(), Version: 1}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// listening is a port that is taken, by a program that answers nothing.
func listening(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// web is a server that answers as web servers answer nonsense.
func web(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { l.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n") // the other side may be gone
			_ = conn.Close()
		}
	}()
	return l.Addr().String()
}

// TestMistakesInSettings: check-config names the cause and the remedy of what people do wrong before a start.
func TestMistakesInSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a-file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	taken := listening(t)
	_, port, _ := net.SplitHostPort(taken)
	check := func(args ...string) []string {
		return append([]string{"check-config", "--given", "--override", "log.dirs=" + filepath.Join(t.TempDir(), "data")}, args...)
	}
	one, other := withMeta(t, "cluster-one"), withMeta(t, "cluster-two")
	for _, m := range []mistake{
		{"wrong advertised address", check(), []string{"KAFKA_LISTENERS=PLAINTEXT://0.0.0.0:0"}, 1,
			"ERROR  environment variable KAFKA_LISTENERS: requirement failed: advertised.listeners cannot use the nonroutable meta-address 0.0.0.0.",
			"set advertised.listeners (KAFKA_ADVERTISED_LISTENERS, --advertise) to a name that clients reach"},
		{"advertised name that nobody knows", check("--listen", "127.0.0.1:0", "--advertise", "no-such-host.invalid:9092"), nil, 0,
			"listener PLAINTEXT tells clients no-such-host.invalid:9092: no-such-host.invalid does not resolve here", "advertise a name or address that clients can reach"},
		{"port taken", check("--listen", taken), nil, 1, "ERROR  listener PLAINTEXT: " + taken + ": bind: address already in use", "stop what uses port " + port},
		{"host of another machine", check("--listen", "192.0.2.1:0"), nil, 1, "cannot assign requested address", "bind an address of this machine"},
		{"volume that is a file", []string{"check-config", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(file, "data")}, nil, 1, "not a directory", "choose a directory"},
		{"factor 3", check("--listen", "127.0.0.1:0"), []string{"KAFKA_DEFAULT_REPLICATION_FACTOR=3"}, 0,
			"default.replication.factor=3 needs more brokers than this one, so topics that do not name their own number of replicas cannot be created", "set default.replication.factor=1"},
		{"two replicas in sync", check("--listen", "127.0.0.1:0", "--override", "min.insync.replicas=2"), nil, 0, "writes with acks=all are refused", "set min.insync.replicas=1"},
		{"factor 3 of an internal topic", check("--listen", "127.0.0.1:0"), []string{"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR=3"}, 0,
			"offsets.topic.replication.factor=3 needs more brokers than this one; 1 is used", "offsets.topic.replication.factor=1"},
		{"unknown setting", check("--listen", "127.0.0.1:0"), []string{"KAFKA_LOG_RETENTION_HOUR=1"}, 0, "unknown setting log.retention.hour is ignored", "write log.retention.hours, or remove it"},
		{"setting of long ago", check("--listen", "127.0.0.1:0"), []string{"KAFKA_ZOOKEEPER_CONNECT=zookeeper:2181"}, 0, "unknown setting zookeeper.connect is ignored", "remove it"},
		{"wrong type", check(), []string{"KAFKA_NUM_PARTITIONS=many"}, 1,
			"ERROR  environment variable KAFKA_NUM_PARTITIONS: Invalid value many for configuration num.partitions: Not a number of type INT", "correct num.partitions, or remove it: the default is 1"},
		{"out of range", check("--override", "log.segment.bytes=10"), nil, 1, "Value must be at least 1048576", "the default is 1073741824"},
		{"log dirs of two clusters", []string{"check-config", "--listen", "127.0.0.1:0", "--data-dir", one + "," + other}, nil, 1,
			other + ": it belongs to cluster cluster-two, " + one + " to cluster cluster-one", "put log dirs of one cluster together"},
		{"cluster id of another directory", []string{"check-config", "--listen", "127.0.0.1:0", "--data-dir", one}, []string{"CLUSTER_ID=cluster-three"}, 0,
			"environment variable CLUSTER_ID: cluster id cluster-three is not used: " + one + " belongs to cluster cluster-one", "set CLUSTER_ID=cluster-one"},
		{"node id of another directory", []string{"check-config", "--listen", "127.0.0.1:0", "--data-dir", one, "--override", "node.id=7"}, nil, 1,
			"it was made for node.id 1, and node.id is 7", "set node.id=1"},
		{"listener without a protocol", check(), []string{"KAFKA_LISTENERS=INTERNAL://:0", "KAFKA_ADVERTISED_LISTENERS=INTERNAL://h:1"}, 1,
			"No security protocol defined for listener INTERNAL", "add INTERNAL:PLAINTEXT to listener.security.protocol.map"},
		{"the same port twice", check("--override", "listeners=PLAINTEXT://:9092,CONTROLLER://:9092", "--override", "controller.listener.names=CONTROLLER"), nil, 1,
			"Each listener must have a different port", "give each listener, the controller's too, a port of its own"},
		{"no such file", []string{"check-config", filepath.Join(t.TempDir(), "absent.properties")}, nil, 1, "no such file", "1 errors"},
		{"wrong topic", check("--listen", "127.0.0.1:0"), []string{"KAFKA_CREATE_TOPICS=a:b"}, 1, `KAFKA_CREATE_TOPICS: topic "a:b"`, "want a number from 1 on"},
	} {
		t.Run(m.what, m.run)
	}
}

// TestMistakesWithRunningBrokers: check-config and doctor on brokers that run.
func TestMistakesWithRunningBrokers(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	cmd, lines := start(t, "command", "--listen", "127.0.0.1:0", "--data-dir", data, "--override", "num.replica.fetchers=2", "--override", "queued.max.requests=7")
	good := boundAddress(t, await(t, lines, "Kafka Server started"))
	defer stopCleanly(t, cmd)
	_, port, _ := net.SplitHostPort(good)
	nowhere := runningBroker(t, "--advertise", "127.0.0.1:1")
	unknown := runningBroker(t, "--advertise", "no-such-host.invalid:9092")
	elsewhere := runningBroker(t, "--advertise", good)
	notBound := listening(t)
	for _, m := range []mistake{
		{"locked directory", []string{"check-config", "--listen", "127.0.0.1:0", "--data-dir", data}, nil, 1, "log.dirs " + data + ": it is locked: another Kafka or minibroker uses it", "stop that one"},
		{"port of another broker", []string{"check-config", "--listen", good, "--data-dir", filepath.Join(t.TempDir(), "x")}, nil, 1, "; a broker of cluster ", "stop what uses port " + port},
		{"a healthy broker", []string{"doctor", good}, nil, 0, "ok     " + good + ": answers as node 1 of cluster ", "and tells clients " + good + ", which answers in "},
		{"settings without effect", []string{"doctor", good}, nil, 0, "note   setting num.replica.fetchers: has no effect in minibroker: it is about other nodes, and there are none",
			"note   setting queued.max.requests: has no effect in minibroker: nothing in this broker depends on it"},
		{"advertised port that nobody listens on", []string{"doctor", nowhere}, nil, 1, "and tells clients 127.0.0.1:1, which cannot be reached from here: 127.0.0.1:1: connect: connection refused",
			"advertise a name and port that clients reach"},
		{"advertised name that nobody knows", []string{"doctor", unknown}, nil, 1, "and tells clients no-such-host.invalid:9092, which cannot be reached from here", "make the name no-such-host.invalid known here"},
		{"advertised address of another broker", []string{"doctor", elsewhere}, nil, 1, "and tells clients " + good + ", where node 1 of cluster ", "advertise an address of this broker"},
		{"doctor of settings", []string{"doctor", "--listen", good}, nil, 0, "ok     listener PLAINTEXT at " + good, "0 errors"},
		{"doctor of other settings", []string{"doctor", "--listen", good, "--advertise", "localhost:9"}, nil, 0, "and these settings say localhost:9: the broker runs with others", "start the broker with these settings"},
		{"doctor of settings that are wrong", []string{"doctor", "--override", "num.partitions=x"}, nil, 1, "Not a number of type INT", "the default is 1"},
		{"broker that does not run", []string{"doctor", "--listen", "127.0.0.1:1"}, nil, 1, "ERROR  listener PLAINTEXT at 127.0.0.1:1: 127.0.0.1:1: connect: connection refused", "nothing listens there: start the broker"},
		{"ping where nobody listens", []string{"ping", "127.0.0.1:1"}, nil, 1, "connection refused", "try: nothing listens there"},
		{"ping of another program", []string{"ping", web(t)}, nil, 1, "what answers there is no Kafka broker", "try: another program has this port"},
		{"ping of silence", []string{"ping", notBound, "--timeout", "50ms"}, nil, 1, "i/o timeout", "try: nothing answers in time"},
		{"doctor of another program", []string{"doctor", web(t)}, nil, 1, "what answers there is no Kafka broker", "another program has this port"},
		{"doctor of silence", []string{"doctor", notBound, "--timeout", "50ms"}, nil, 1, "context deadline exceeded", "nothing answers in time"},
		{"start on a wrong setting", []string{"--override", "num.partitions=x"}, nil, 1, "Not a number of type INT", "try: correct num.partitions, or remove it: the default is 1"},
	} {
		t.Run(m.what, m.run)
	}
}

// TestUnwritableVolume: the usual mistake with volumes is one that belongs to another user.
func TestUnwritableVolume(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	volume := filepath.Join(dir, "volume")
	if err := os.Mkdir(volume, 0o555); err != nil {
		t.Fatal(err)
	}
	m := mistake{code: 1, cause: "log.dirs " + volume + "/data: " + volume + " cannot be written by user ", remedy: "try: chown -R "}
	program := filepath.Join(dir, "minibroker")
	own, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, own, 0o755); err != nil {
		t.Fatal(err)
	}
	m.tryAs(t, program, "check-config", "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(volume, "data"))
	m.cause = filepath.Join(volume, "data") + ": permission denied"
	m.tryAs(t, program, "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(volume, "data"))
}

// tryAs runs the program as a user who may write nothing of the test's.
func (m mistake) tryAs(t *testing.T, program string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), roleEnv+"=command")
	cmd.Dir = "/"
	if os.Getuid() == 0 { // root may write anywhere, so somebody else tries
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := cmd.CombinedOutput()
	m.check(t, exitCode(err), string(out))
}
