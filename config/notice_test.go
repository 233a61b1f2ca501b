package config

import (
	"errors"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
)

func parseText(t *testing.T, text string) (*Broker, []Notice, error) {
	t.Helper()
	props, err := parseProperties("server.properties", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Parse(props)
}

// composeFile is the kind of file that container images make of their environment.
const composeFile = `node.id=1
process.roles=broker,controller
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,PLAINTEXT_HOST:PLAINTEXT
advertised.listeners=PLAINTEXT_HOST://localhost:9092,PLAINTEXT://broker:19092
controller.quorum.voters=1@broker:29093
listeners=CONTROLLER://:29093,PLAINTEXT_HOST://:9092,PLAINTEXT://:19092
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
cluster.id=4L6g3nShT-eMCtK--X86sw
offsets.topic.replication.factor=3
group.initial.rebalance.delay.ms=0
transaction.state.log.min.isr=2
transaction.state.log.replication.factor=1
zookeeper.connect=localhost:2181
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
create.topic.policy.class.name=com.example.Policy
log.dirs=/tmp/kraft-combined-logs
`

func TestNotices(t *testing.T) {
	b, notices, err := parseText(t, composeFile)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range notices {
		if n.Logger == "" {
			t.Errorf("no logger: %s", n.Text)
		}
		got = append(got, n.Level.String()+" "+n.Text)
	}
	want := []string{
		"INFO One node is broker and controller in one and replicates to nobody, so these settings have no effect: controller.listener.names, " +
			"controller.quorum.voters, inter.broker.listener.name, process.roles",
		"WARN server.properties:10: offsets.topic.replication.factor=3 needs more brokers than this one; 1 is used",
		"WARN server.properties:12: transaction.state.log.min.isr=2 needs more brokers than this one; 1 is used",
		"WARN server.properties:9: unknown setting cluster.id is ignored",
		"WARN server.properties:14: unknown setting zookeeper.connect is ignored",
		"WARN server.properties:17: create.topic.policy.class.name names a Java class, which this broker cannot load; it is ignored",
		"WARN server.properties:15: authorizer.class.name is ignored, everyone may do everything",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if b.Int("offsets.topic.replication.factor") != 1 || b.Int("transaction.state.log.min.isr") != 1 {
		t.Error("internal topics ask for more than one node has")
	}
	entries := Layers{Static: b}.DescribeBroker(true)
	i := slices.IndexFunc(entries, func(e Entry) bool { return e.Name == "offsets.topic.replication.factor" })
	if len(entries[i].Synonyms) != 2 || *entries[i].Synonyms[0].Value != "3" || *entries[i].Value != "1" {
		t.Errorf("%+v", entries[i])
	}
}

func TestNoNotices(t *testing.T) {
	if _, notices, err := parseText(t, "log.dirs=/data\nnum.partitions=3\nlistener.name.plaintext.max.connections=7\n"); err != nil || len(notices) > 0 {
		t.Errorf("%v %v", notices, err)
	}
	_, notices, err := parseText(t, "broker.id=7\n")
	if err != nil || len(notices) != 1 || notices[0].Level != slog.LevelWarn || !strings.HasPrefix(notices[0].Text, "The 'broker.id' configuration is deprecated") {
		t.Errorf("%v %v", notices, err)
	}
}

func TestListenersOfComposeFile(t *testing.T) {
	b, _, err := parseText(t, composeFile)
	if err != nil {
		t.Fatal(err)
	}
	got := b.Listeners()
	want := []Listener{
		{Name: "CONTROLLER", Port: 29093, Protocol: "PLAINTEXT", AdvertisedHost: ownHost(), AdvertisedPort: 29093, Advertised: true, IsController: true},
		{Name: "PLAINTEXT_HOST", Port: 9092, Protocol: "PLAINTEXT", AdvertisedHost: "localhost", AdvertisedPort: 9092, Advertised: true},
		{Name: "PLAINTEXT", Port: 19092, Protocol: "PLAINTEXT", AdvertisedHost: "broker", AdvertisedPort: 19092, Advertised: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

func TestRefusedBecauseNotServed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"listeners=SSL://:9093\n", "server.properties:1: listener SSL uses the security protocol SSL"},
		{"a=1\nauthorizer.class.name=x\n", "server.properties:2: authorizer.class.name asks for access rules"},
		{"remote.log.storage.system.enable=true\n", "server.properties:1: remote.log.storage.system.enable=true needs a remote storage plug-in"},
	} {
		_, _, err := parseText(t, c.text)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || !errors.Is(err, ErrInvalidConfig) {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	b, _, err := parseText(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if b.NodeID() != 1 || b.Int("group.initial.rebalance.delay.ms") != 0 || b.Int("offsets.topic.replication.factor") != 1 || b.Int("num.partitions") != 1 {
		t.Error("the shipped file's settings are not there")
	}
	if got := b.LogDirs(); !slices.Equal(got, []string{"/tmp/kafka-logs"}) || b.MetadataLogDir() != "/tmp/kafka-logs" {
		t.Errorf("data in %v, metadata in %s", got, b.MetadataLogDir())
	}
	if b.Explicit("node.id") || b.Explicit("listeners") {
		t.Error("a default counts as given")
	}
	own, _, err := parseText(t, "process.roles=broker,controller\nlisteners=PLAINTEXT://:1,CONTROLLER://:2\n")
	if err != nil || b.String("inter.broker.listener.name") != "PLAINTEXT" || own.String("inter.broker.listener.name") != "" {
		t.Errorf("between brokers: %q of the shipped file, %q of one's own (%v)", b.String("inter.broker.listener.name"), own.String("inter.broker.listener.name"), err)
	}
	if !b.Bool("auto.create.topics.enable") || b.Double("log.cleaner.min.cleanable.ratio") != 0.5 || b.String("compression.type") != "producer" ||
		!slices.Equal(b.List("log.cleanup.policy"), []string{"delete"}) || b.Long("log.retention.bytes") != -1 ||
		(Layers{Static: b}).Long("replica.alter.log.dirs.io.max.bytes.per.second") != math.MaxInt64 {
		t.Error("typed defaults")
	}
	b, _, err = parseText(t, "broker.id=5\nlog.dirs=/a,/b\nmetadata.log.dir=/m\nlisteners=INSIDE://:1\nlistener.security.protocol.map=INSIDE:PLAINTEXT\n")
	if err != nil {
		t.Fatal(err)
	}
	if b.NodeID() != 5 || b.MetadataLogDir() != "/m" || len(b.LogDirs()) != 2 || b.String("inter.broker.listener.name") != "" || !b.Explicit("node.id") {
		t.Errorf("%d %s %v", b.NodeID(), b.MetadataLogDir(), b.LogDirs())
	}
}
