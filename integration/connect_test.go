package integration

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	connectRoundsEnv = "MINIBROKER_CONNECT_ROUNDS" // default 4 with one worker; with it, two workers, and Apache Kafka has its turn, too
	connectSeedEnv   = "MINIBROKER_CONNECT_SEED"
	connectLines     = 600 // that each file grows by in each round
	connectNumbers   = 400 // that each lane grows by in each round
	connectLanes     = 3
	connectBatch     = 20
)

// connectRun is a cluster of Connect workers with exactly-once sources: two files, each copied to a topic of its own, and numbers
// in three lanes, one for each partition of a topic. One sink appends the files' topics to one file, another writes a file for
// each partition of all three topics.
type connectRun struct {
	t       *testing.T
	rand    *rand.Rand
	start   func() *Process
	broker  *Process
	addr    string
	root    string // of all files
	workers []*connectWorker
	lines   map[string][]string // by topic, what was written to its file
	numbers int64               // count of each lane
	kills   map[string]int
	said    strings.Builder // what connectScript told
}

// connectWorker is a worker that is started again whenever it ends.
type connectWorker struct {
	*pipelineClient
	rest string // address of its REST API
}

// connectTopics are the topics that sources write to, with their partitions.
func connectTopics() map[string]int32 {
	return map[string]int32{"lines-a": 1, "lines-b": 1, "numbers": connectLanes}
}

// TestConnect has distributed Connect workers with exactly-once sources move records from files and counters to topics and to
// files again, while workers and the broker are stopped and killed. Every topic must hold every record once, every file each at
// least once. Then it goes through the REST API of Connect, and what that answers must be what it answers on Apache Kafka 4.4.0,
// which is recorded with recordToolsEnv.
func TestConnect(t *testing.T) {
	rounds, seed := envInt(t, connectRoundsEnv, 4), uint64(envInt(t, connectSeedEnv, 1))
	brokers := []string{"minibroker"}
	if os.Getenv(connectRoundsEnv) != "" {
		brokers = append(brokers, "Apache Kafka")
	} else if os.Getenv(recordToolsEnv) != "" {
		brokers = []string{"Apache Kafka"}
	}
	frameworkLibs(t) // skips before a broker is started
	told := map[string]string{}
	for _, name := range brokers {
		t.Run(name, func(t *testing.T) {
			x := newConnectRun(t, name, seed)
			for round := range rounds {
				x.round(round)
			}
			x.arrived()
			x.script()
			x.finish()
			told[name] = x.said.String()
		})
	}
	compareTold := func(want string) {
		compareLines(t, "answers", strings.Split(want, "\n"), strings.Split(told["minibroker"], "\n"))
	}
	recording := filepath.Join("testdata", "connect", "recorded.txt")
	switch {
	case t.Failed():
	case len(brokers) > 1:
		if theirs, ran := told["Apache Kafka"]; ran { // unless -run left it out
			compareTold(theirs)
		}
	case brokers[0] == "Apache Kafka":
		if err := os.WriteFile(recording, []byte(told["Apache Kafka"]), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		want, err := os.ReadFile(recording)
		if err != nil {
			t.Fatal(err)
		}
		compareTold(string(want))
	}
}

func newConnectRun(t *testing.T, broker string, seed uint64) *connectRun {
	t.Helper()
	x := &connectRun{t: t, rand: rand.New(rand.NewPCG(seed, 4)), addr: freeAddr(t), root: t.TempDir(), lines: map[string][]string{}, kills: map[string]int{}}
	data := filepath.Join(x.root, "data")
	settings := []string{"group.min.session.timeout.ms=500", "group.initial.rebalance.delay.ms=0", "offsets.topic.num.partitions=2",
		"transaction.state.log.num.partitions=2", "log.initial.task.delay.ms=20"}
	x.start = func() *Process { return startProcess(t, data, x.addr, settings) }
	if broker == "Apache Kafka" {
		x.start().Stop(t) // formats
		x.start = func() *Process { return startKafka(t, []string{data}, x.addr, settings...) }
	}
	for _, folder := range []string{"plugins", "lines"} {
		if err := os.Mkdir(filepath.Join(x.root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	x.plugin()
	x.broker = x.start()
	createTopic(t, x.addr, "lines-a", 1, nil)
	createTopic(t, x.addr, "lines-b", 1, nil)
	x.startWorkers()
	x.grow()
	for _, name := range []string{"file-a", "file-b", "numbers", "copy", "lines"} {
		x.configure(name)
	}
	return x
}

// plugin makes the connectors of testdata/java/Connectors.java a plugin of the workers.
func (x *connectRun) plugin() {
	x.t.Helper()
	folder := filepath.Join(x.root, "plugins", "test")
	services := filepath.Join(folder, "META-INF", "services")
	if err := os.Rename(compiled(x.t, "Connectors"), folder); err != nil {
		x.t.Fatal(err)
	}
	if err := os.MkdirAll(services, 0o700); err != nil {
		x.t.Fatal(err)
	}
	for name, classes := range map[string]string{"source.SourceConnector": "Connectors$FileSource\nConnectors$Numbers\n", "sink.SinkConnector": "Connectors$FileSink\nConnectors$Lines\n"} {
		if err := os.WriteFile(filepath.Join(services, "org.apache.kafka.connect."+name), []byte(classes), 0o600); err != nil {
			x.t.Fatal(err)
		}
	}
}

func (x *connectRun) startWorkers() {
	x.t.Helper()
	count := 1 // does for a look
	if os.Getenv(connectRoundsEnv) != "" {
		count = 2
	}
	for n := range count {
		w := &connectWorker{rest: freeAddr(x.t)}
		properties := filepath.Join(x.root, fmt.Sprintf("worker-%d.properties", n+1))
		if err := os.WriteFile(properties, []byte(strings.Join(x.workerProperties(w.rest), "\n")+"\n"), 0o600); err != nil {
			x.t.Fatal(err)
		}
		w.pipelineClient = &pipelineClient{name: fmt.Sprintf("worker %d", n+1), done: make(chan struct{}), command: func() *exec.Cmd {
			return javaCommand(x.t, x.root, "org.apache.kafka.connect.cli.ConnectDistributed", properties)
		}}
		x.workers = append(x.workers, w)
		go w.run()
		x.t.Cleanup(w.stop)
	}
}

// workerProperties are the settings of a worker whose group notices a killed one soon.
func (x *connectRun) workerProperties(rest string) []string {
	settings := []string{"bootstrap.servers=" + x.addr, "group.id=connect", "listeners=http://" + rest,
		"plugin.path=" + filepath.Join(x.root, "plugins"), "plugin.discovery=service_load",
		"config.storage.topic=connect-configs", "offset.storage.topic=connect-offsets", "status.storage.topic=connect-status",
		"config.storage.replication.factor=1", "offset.storage.replication.factor=1", "status.storage.replication.factor=1",
		"offset.storage.partitions=2", "status.storage.partitions=1", "exactly.once.source.support=enabled",
		"connector.client.config.override.policy=All", "offset.flush.interval.ms=500", "rebalance.timeout.ms=10000", "scheduled.rebalance.max.delay.ms=0"}
	for _, converter := range []string{"key.converter", "value.converter"} {
		settings = append(settings, converter+"=org.apache.kafka.connect.storage.StringConverter")
	}
	for _, of := range []string{"", "consumer."} {
		settings = append(settings, of+"session.timeout.ms=3000", of+"heartbeat.interval.ms=300")
	}
	for _, of := range []string{"", "consumer.", "producer.", "admin."} {
		settings = append(settings, of+"reconnect.backoff.max.ms=200")
	}
	return append(settings, "consumer.isolation.level=read_committed", "consumer.auto.offset.reset=earliest")
}

// connector is the configuration of a connector.
func (x *connectRun) connector(name string) map[string]string {
	file := func(name string) string { return filepath.Join(x.root, name) }
	switch name {
	case "file-a", "file-b":
		return map[string]string{"connector.class": "Connectors$FileSource", "file": file(name), "topic": "lines-" + name[len(name)-1:],
			"tasks.max": "1", "exactly.once.support": "required"}
	case "numbers":
		return map[string]string{"connector.class": "Connectors$Numbers", "topic": "numbers", "lanes": strconv.Itoa(connectLanes), "count": strconv.FormatInt(x.numbers, 10),
			"batch": strconv.Itoa(connectBatch), "tasks.max": "2", "exactly.once.support": "required", "transaction.boundary": "connector",
			"topic.creation.default.partitions": strconv.Itoa(connectLanes), "topic.creation.default.replication.factor": "-1",
			"topic.creation.default.retention.ms": "-1"}
	case "copy":
		return map[string]string{"connector.class": "Connectors$FileSink", "file": file("copy"), "topics": "lines-a,lines-b", "tasks.max": "1"}
	case "lines":
		return map[string]string{"connector.class": "Connectors$Lines", "folder": file("lines"), "topics.regex": "numbers|lines-.", "tasks.max": "2",
			"consumer.override.metadata.max.age.ms": "500"} // notices topic numbers when it comes
	}
	x.t.Fatalf("no connector %s", name)
	return nil
}

// grow has more to read for every source; the caller configures numbers.
func (x *connectRun) grow() {
	x.t.Helper()
	for _, of := range []string{"a", "b"} {
		x.growFile(of, connectLines)
	}
	x.numbers += connectNumbers
}

func (x *connectRun) growFile(of string, count int) {
	x.t.Helper()
	f, err := os.OpenFile(filepath.Join(x.root, "file-"+of), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		x.t.Fatal(err)
	}
	defer f.Close()
	topic, text := "lines-"+of, ""
	for range count {
		line := fmt.Sprintf("%s%06d", of, len(x.lines[topic]))
		x.lines[topic] = append(x.lines[topic], line)
		text += line + "\n"
	}
	if _, err := f.WriteString(text); err != nil {
		x.t.Fatal(err)
	}
}

// expected are the values that a topic must hold, sorted; of numbers all but those whose transaction is aborted.
func (x *connectRun) expected(topic string) []string {
	if topic != "numbers" {
		return x.lines[topic]
	}
	var values []string
	for lane := range connectLanes {
		for n := range x.numbers {
			if n/connectBatch%7 != 0 {
				values = append(values, fmt.Sprintf("%d-%d", lane, n))
			}
		}
	}
	slices.Sort(values)
	return values
}

// sunkLines are the lines in files of the sink lines, by partition and in the order of arrival.
func (x *connectRun) sunkLines() map[string][]string {
	lines := map[string][]string{}
	for topic, partitions := range connectTopics() {
		for p := range partitions {
			name := fmt.Sprintf("%s-%d", topic, p)
			text, err := os.ReadFile(filepath.Join(x.root, "lines", name))
			if err != nil {
				continue // not there yet
			}
			lines[name] = strings.Split(strings.TrimSpace(string(text)), "\n")
		}
	}
	return lines
}

// sunk are the values in files of the sink lines, by topic.
func (x *connectRun) sunk() (values map[string][]string, count int) {
	values = map[string][]string{}
	for partition, lines := range x.sunkLines() {
		topic := partition[:strings.LastIndex(partition, "-")]
		for _, line := range lines {
			_, value, _ := strings.Cut(line, " ")
			values[topic] = append(values[topic], value)
			count++
		}
	}
	return values, count
}

// round lets the sources grow, waits until a part of it is through, and ends a worker or the broker.
func (x *connectRun) round(round int) {
	x.t.Helper()
	_, before := x.sunk()
	if round > 0 {
		x.grow()
		x.configure("numbers")
	}
	enough := before + 1 + x.rand.IntN(connectLines)
	x.await(fmt.Sprintf("round %d: more than %d records in files", round, enough), func() bool {
		_, count := x.sunk()
		return count > enough
	})
	kind := round
	if round >= 4 {
		kind = x.rand.IntN(5)
	}
	w := x.workers[x.rand.IntN(len(x.workers))]
	switch kind {
	case 0:
		w.kill()
		x.kills[w.name+" killed"]++
	case 1:
		x.broker.Kill()
		x.kills["broker killed"]++
		x.broker = x.start()
	case 2:
		w.terminate()
		x.kills[w.name+" ended"]++
	case 3:
		x.broker.end(x.t)
		x.kills["broker ended"]++
		x.broker = x.start()
	case 4:
		for _, w := range x.workers {
			w.kill()
			x.kills[w.name+" killed"]++
		}
		x.broker.Kill()
		x.kills["broker killed"]++
		x.broker = x.start()
	}
}

func (x *connectRun) await(what string, cond func() bool) {
	x.t.Helper()
	if await(4*patience, cond) {
		return
	}
	_, count := x.sunk()
	x.fail("%s: not within %v; %v; %d records in files", what, 4*patience, x.kills, count)
}

// fail ends the test with what the workers printed last.
func (x *connectRun) fail(format string, args ...any) {
	x.t.Helper()
	if status, err := x.once(http.MethodGet, "/connectors?expand=status", nil); err == nil {
		x.t.Logf("connectors: %s", strings.ReplaceAll(status.body, `\n`, "\n"))
	}
	for _, w := range x.workers {
		w.stop()
		x.t.Logf("%s ended %d times by itself:\n%s\nat last:\n%s", w.name, w.ended, w.said.String(), w.last)
	}
	x.t.Logf("told so far:\n%s", x.said.String())
	x.t.Fatalf(format, args...)
}

// arrived waits until everything is where it must be, and compares.
func (x *connectRun) arrived() {
	x.t.Helper()
	x.awaitOffsets("numbers", x.numbersOffsets())
	for _, of := range []string{"a", "b"} {
		x.awaitOffsets("file-"+of, map[string]int64{"map[filename:FILES/file-" + of + "] position": 8 * int64(len(x.lines["lines-"+of]))})
	}
	again := 0
	for _, topic := range slices.Sorted(maps.Keys(connectTopics())) {
		want, partitions := x.expected(topic), connectTopics()[topic]
		got, written := allCommitted(x.t, x.addr, topic, partitions)
		if !slices.Equal(got, want) {
			x.t.Errorf("%s: %d values are committed, not the %d of the source once each", topic, len(got), len(want))
		}
		x.tell("%s holds %d values once each, SHA-256 %x", topic, len(got), sha256.Sum256([]byte(strings.Join(got, "\n"))))
		x.t.Logf("%s: %d values once each, %d records of aborted transactions", topic, len(got), written-len(got))
		x.await("all of "+topic+" in files, and nothing else", func() bool { return slices.Equal(x.different(topic), want) })
		values, _ := x.sunk()
		again += len(values[topic]) - len(want)
	}
	x.t.Logf("%v; the sink wrote %d records again", x.kills, again)
	x.await("all lines in the copy", func() bool { return slices.Equal(x.copied(), slices.Concat(x.lines["lines-a"], x.lines["lines-b"])) })
}

// connectLine is a line of a file. Kafka's sink of files may leave half a line behind when it is killed.
var connectLine = regexp.MustCompile(`[ab]\d{6}`)

// copied are the different lines in the file of the sink copy, sorted.
func (x *connectRun) copied() []string {
	text, err := os.ReadFile(filepath.Join(x.root, "copy"))
	if err != nil {
		return nil // not there yet
	}
	lines := connectLine.FindAllString(string(text), -1)
	slices.Sort(lines)
	return slices.Compact(lines)
}

// different are the different values of a topic in files, sorted.
func (x *connectRun) different(topic string) []string {
	values, _ := x.sunk()
	slices.Sort(values[topic])
	return slices.Compact(values[topic])
}

func (x *connectRun) finish() {
	x.t.Helper()
	for _, w := range x.workers {
		w.stop()
		x.t.Logf("%s ended %d times by itself\n%s", w.name, w.ended, w.said.String())
	}
	x.broker.end(x.t)
	verifyStore(x.t, x.broker.Data)
}
