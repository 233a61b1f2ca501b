package config

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// recorded is one row of the recordings in testdata.
type recorded struct {
	Name      string   `json:"name"`
	Type      string   `json:"type"`
	Value     *string  `json:"value"`
	Source    string   `json:"source"`
	ReadOnly  bool     `json:"readOnly"`
	Sensitive bool     `json:"sensitive"`
	Synonyms  []string `json:"synonyms"`
}

var sourceNames = [...]string{"UNKNOWN", "DYNAMIC_TOPIC_CONFIG", "DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG", "STATIC_BROKER_CONFIG",
	"DEFAULT_CONFIG", "DYNAMIC_BROKER_LOGGER_CONFIG", "CLIENT_METRICS_CONFIG", "GROUP_CONFIG"}

// testProperties is the file of the broker that was recorded.
const testProperties = `process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:9093
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
advertised.listeners=PLAINTEXT://127.0.0.1:9092
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
`

func mustParse(t testing.TB, text string) *Broker {
	t.Helper()
	props, err := parseProperties("server.properties", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := Parse(props)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func recordedLayers(t testing.TB) Layers {
	return Layers{Static: mustParse(t, testProperties), ClusterDefault: map[string]string{"min.insync.replicas": "1"}}
}

func readRecorded(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("<host>:<port>", "127.0.0.1:9092", "<host>:<controller port>", "127.0.0.1:9093", "<log dir>", "/data").Replace(string(data))
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

func deref(s *string) string {
	if s == nil {
		return "(null)"
	}
	return *s
}

func asRecorded(e Entry) recorded {
	r := recorded{Name: e.Name, Type: e.Type.String(), Value: e.Value, Source: sourceNames[e.Source], ReadOnly: e.ReadOnly, Sensitive: e.Sensitive}
	for _, y := range e.Synonyms {
		r.Synonyms = append(r.Synonyms, sourceNames[y.Source]+" "+y.Name+"="+deref(y.Value))
	}
	return r
}

func compareEntries(t *testing.T, want []recorded, got []Entry) {
	t.Helper()
	byName := map[string]Entry{}
	for _, e := range got {
		if _, twice := byName[e.Name]; twice {
			t.Errorf("%s stands twice", e.Name)
		}
		byName[e.Name] = e
	}
	for _, w := range want {
		e, ok := byName[w.Name]
		if !ok {
			t.Errorf("%s is missing", w.Name)
			continue
		}
		delete(byName, w.Name)
		g := asRecorded(e)
		if g.Type != w.Type || deref(g.Value) != deref(w.Value) || g.Source != w.Source || g.ReadOnly != w.ReadOnly || g.Sensitive != w.Sensitive ||
			!slices.Equal(g.Synonyms, w.Synonyms) {
			t.Errorf("%s:\n got %+v %s\nwant %+v %s", w.Name, g, deref(g.Value), w, deref(w.Value))
		}
		if e.IsDefault != (w.Source == "DEFAULT_CONFIG") {
			t.Errorf("%s: default %v with source %s", w.Name, e.IsDefault, w.Source)
		}
	}
	for name := range byName {
		t.Errorf("%s is not in the recording", name)
	}
	if !slices.IsSortedFunc(got, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the entries are not sorted by name")
	}
}

func TestDescribeBrokerAsRecorded(t *testing.T) {
	var want []recorded
	readRecorded(t, "configs-broker.json", &want)
	if len(want) != 350 {
		t.Fatalf("%d rows in the recording", len(want))
	}
	compareEntries(t, want, recordedLayers(t).DescribeBroker(true))
}

func TestDescribeTopicAsRecorded(t *testing.T) {
	var want []recorded
	readRecorded(t, "configs-topic.json", &want)
	if len(want) != 37 {
		t.Fatalf("%d rows in the recording", len(want))
	}
	compareEntries(t, want, recordedLayers(t).DescribeTopic(nil))
}

func TestDescribeOthersAsRecorded(t *testing.T) {
	var want map[string][]recorded
	readRecorded(t, "configs-other.json", &want)
	l := recordedLayers(t)
	for _, c := range []struct {
		section string
		rows    int
		got     []Entry
	}{{"default broker", 1, l.DescribeBroker(false)}, {"client metrics", 3, l.DescribeClientMetrics(nil)}, {"group", 21, l.DescribeGroup(nil)}} {
		if len(want[c.section]) != c.rows {
			t.Fatalf("%s: %d rows in the recording", c.section, len(want[c.section]))
		}
		compareEntries(t, want[c.section], c.got)
	}
}

// TestDescribeLayers holds a broker with all layers against what kafka-configs.sh printed of it.
func TestDescribeLayers(t *testing.T) {
	data, err := os.ReadFile("testdata/describe-layers.txt")
	if err != nil {
		t.Fatal(err)
	}
	l := Layers{
		Static: mustParse(t, strings.NewReplacer("9092", "19500", "9093", "19501", "/data", "/recorded").Replace(testProperties)+`
no.such.key=5
zookeeper.connect=localhost:2181
log.retention.hours=24
listener.name.plaintext.max.connections=7
broker.rack=r1
ssl.keystore.password=secret
my.password=abc
log.roll.jitter.ms=5
 num.partitions = 3`+" "+`
auto.create.topics.enable=TRUE
log.cleanup.policy=delete , compact
log.initial.task.delay.ms=40000
log.cleaner.min.cleanable.ratio=0.25
offsets.topic.segment.bytes=00104857600
`),
		ClusterDefault: map[string]string{"min.insync.replicas": "2", "log.cleaner.min.compaction.lag.ms": "100", "log.cleaner.max.compaction.lag.ms": "50",
			"log.cleaner.io.buffer.size": "5"},
		Node: map[string]string{"log.retention.ms": "5000", "foo.bar": "baz"},
	}
	var got []string
	for _, e := range l.DescribeBroker(true) {
		line := "  " + e.Name + "=" + javaNull(e.Value) + " sensitive=" + javaString(e.Sensitive) + " synonyms={"
		for i, y := range e.Synonyms {
			if i > 0 {
				line += ", "
			}
			line += sourceNames[y.Source] + ":" + y.Name + "=" + javaNull(y.Value)
		}
		got = append(got, line+"}")
	}
	text, _, _ := strings.Cut(string(data), "\n") // the heading
	want := strings.Split(strings.TrimSuffix(strings.TrimPrefix(string(data), text+"\n"), "\n"), "\n")
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("missing: %s", w)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			t.Errorf("too many: %s", g)
		}
	}
}

func javaNull(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func TestDescribeTopicLayers(t *testing.T) {
	l := recordedLayers(t)
	entries := l.DescribeTopic(map[string]string{"retention.ms": " 5000 ", "internal.segment.bytes": "2000", "cleanup.policy": "delete , compact"})
	if len(entries) != 38 {
		t.Errorf("%d entries, want internal.segment.bytes with the others", len(entries))
	}
	for _, want := range []struct{ name, value, synonyms string }{
		{"retention.ms", "5000", "1 retention.ms=5000"}, // recorded: no default of hours behind it
		{"cleanup.policy", "delete,compact", "1 cleanup.policy=delete,compact 5 log.cleanup.policy=delete"},
		{"internal.segment.bytes", "2000", "1 internal.segment.bytes=2000"},
		{"min.insync.replicas", "1", "3 min.insync.replicas=1 5 min.insync.replicas=1"},
	} {
		i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == want.name })
		if i < 0 {
			t.Errorf("%s is missing", want.name)
			continue
		}
		var synonyms []string
		for _, y := range entries[i].Synonyms {
			synonyms = append(synonyms, javaString(int64(y.Source))+" "+y.Name+"="+deref(y.Value))
		}
		if got := strings.Join(synonyms, " "); deref(entries[i].Value) != want.value || got != want.synonyms {
			t.Errorf("%s: %s, %s; want %s, %s", want.name, deref(entries[i].Value), got, want.value, want.synonyms)
		}
	}
}
