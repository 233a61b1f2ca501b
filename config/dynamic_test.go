package config

import (
	"errors"
	"strconv"
	"strings"
	"testing"
)

// TestCheckBroker holds changes at run time against what a running Kafka answered to them.
func TestCheckBroker(t *testing.T) {
	l := recordedLayers(t)
	const invalid = "Invalid value org.apache.kafka.common.config.ConfigException: "
	const dynamic = " for configuration Invalid dynamic configuration"
	for _, c := range []struct {
		perBroker   bool
		name, value string
		want        string
	}{
		{true, "node.id", "7", "Cannot update these configs dynamically: [node.id]"},
		{false, "log.dirs", "/elsewhere", "Cannot update these configs dynamically: [log.dirs]"},
		{true, "no.such.name", "x", ""},
		{true, "log.cleaner.threads", "zero", "Invalid value zero for configuration log.cleaner.threads: Not a number of type INT"},
		{true, "log.cleaner.threads", "0", "/ by zero"},
		{true, "log.cleaner.threads", "9", invalid + "Log cleaner threads cannot be increased to more than double the current value 1" + dynamic},
		{true, "log.cleaner.threads", "2", ""},
		{false, "listeners", "PLAINTEXT://:1", "Cannot update these configs at default cluster level, broker id must be specified: [listeners]"},
		{true, "listeners", "PLAINTEXT://127.0.0.1:9092", "requirement failed: controller.listener.names must contain at least one value appearing in the " +
			"'listeners' configuration when running the KRaft controller role"},
		{true, "num.io.threads", "100", invalid + "Dynamic thread count update validation failed for num.io.threads=100, value should not be greater than " +
			"double the current value 8" + dynamic},
		{true, "num.io.threads", "2", invalid + "Dynamic thread count update validation failed for num.io.threads=2, value should be at least half the " +
			"current value 8" + dynamic},
		{true, "num.io.threads", "0", "Invalid value 0 for configuration num.io.threads: Value must be at least 1"},
		{true, "num.network.threads", "50", invalid + "Dynamic thread count update validation failed for num.network.threads=50, value should not be " +
			"greater than double the current value 3" + dynamic},
		{false, "log.retention.ms", "0", "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1"},
		{false, "log.retention.ms", "5000", ""},
		{true, "ssl.keystore.password", "x", "These security configs can be dynamically updated only per-listener using the listener prefix: [ssl.keystore.password]"},
		{true, "listener.name.x.ssl.keystore.password", "x", ""},
		{false, "listener.name.x.ssl.keystore.password", "x", "Cannot update these configs at default cluster level, broker id must be specified: " +
			"[listener.name.x.ssl.keystore.password]"},
		{false, "min.insync.replicas", "2", ""},
		{false, "max.connections.per.ip", "0", "requirement failed: max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set."},
		{false, "log.cleaner.dedupe.buffer.size", "10", "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."},
		{false, "log.cleaner.io.buffer.size", "5", ""},
		{true, "producer.id.expiration.ms", "0", "Invalid value 0 for configuration producer.id.expiration.ms: Value must be at least 1"},
		{true, "principal.builder.class", "no.such.Class", "Invalid value no.such.Class for configuration principal.builder.class: Class no.such.Class could not be found."},
		{true, "cordoned.log.dirs", "/nope", "requirement failed: All entries in cordoned.log.dirs must be present in log.dirs or log.dir. Missing entries : /nope"},
	} {
		set := map[string]string{c.name: c.value}
		err := l.CheckBroker(set, c.perBroker)
		if got := errorText(err); got != c.want {
			t.Errorf("%s=%s:\n got %q\nwant %q", c.name, c.value, got, c.want)
		}
		if err != nil && !errors.Is(err, ErrInvalidRequest) {
			t.Errorf("%s=%s is no invalid request", c.name, c.value)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestValidateBroker(t *testing.T) {
	for _, c := range []struct {
		name, value string
		perBroker   bool
		want        string
	}{
		{"num.io.threads", "100", true, ""}, // what runs is not asked here
		{"num.io.threads", "x", true, "Invalid value x for configuration num.io.threads: Not a number of type INT"},
		{"node.id", "1", true, "Cannot update these configs dynamically: [node.id]"},
		{"leader.replication.throttled.rate", "-1", false, "Invalid value -1 for configuration leader.replication.throttled.rate: Value must be at least 0"},
	} {
		if got := errorText(ValidateBroker(c.name, c.value, c.perBroker)); got != c.want {
			t.Errorf("%s=%s: %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

func TestCheckBrokerChange(t *testing.T) {
	for _, c := range []struct {
		name               string
		removed, perBroker bool
		want               string
	}{
		{"min.insync.replicas", false, true, "Broker-level min.insync.replicas cannot be altered while ELR is enabled."},
		{"min.insync.replicas", true, false, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."},
		{"min.insync.replicas", false, false, ""},
		{"log.retention.ms", true, true, ""},
	} {
		if got := errorText(CheckBrokerChange(c.name, c.removed, c.perBroker)); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestDynamicValuesTakeEffect(t *testing.T) {
	l := recordedLayers(t)
	l.Static = mustParse(t, testProperties+"log.retention.hours=24\nlog.flush.scheduler.interval.ms=7\n")
	if got := l.Topic(nil).RetentionMs; got != 24*3600*1000 {
		t.Errorf("hours of the file: %d", got)
	}
	l.ClusterDefault = map[string]string{"log.retention.ms": "5000", "message.max.bytes": "77", "num.partitions": "9", "log.segment.bytes": "abc"}
	l.Node = map[string]string{"message.max.bytes": "88"}
	topic := l.Topic(map[string]string{"segment.ms": "6"})
	if topic.RetentionMs != 5000 || topic.MaxMessageBytes != 88 || topic.SegmentMs != 6 || topic.FlushMs != 7 {
		t.Errorf("%+v", topic)
	}
	if topic.SegmentBytes != 1<<30 {
		t.Errorf("a value that is no number counts: %d", topic.SegmentBytes)
	}
	if l.Int("num.partitions") != 1 {
		t.Error("a setting of the file was changed at run time")
	}
	if l.Long("log.retention.hours") != 168 {
		t.Error("a dynamic value does not push the file's aside") // recorded: kafka-configs shows the default then
	}
}

func TestCheckGroupAndClientMetrics(t *testing.T) {
	l := recordedLayers(t)
	for _, c := range []struct {
		set  map[string]string
		kind error
		want string
	}{
		{map[string]string{"consumer.session.timeout.ms": "50000"}, nil, ""},
		{map[string]string{"consumer.session.timeout.ms": "1"}, ErrInvalidConfig, "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive."},
		{map[string]string{"no.such": "1"}, ErrInvalidConfig, "Unknown group config name: no.such"},
		{map[string]string{"share.auto.offset.reset": "never"}, ErrInvalidConfig, "Invalid value never for configuration share.auto.offset.reset: Invalid value " +
			"`never` for configuration share.auto.offset.reset. The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."},
		{map[string]string{"streams.assignor.name": "x"}, ErrInvalidConfig, "streams.assignor.name 'x' is not a registered task assignor. Registered assignors are: [sticky]."},
		{map[string]string{"errors.deadletterqueue.topic.name": "__x"}, ErrInvalidConfig, "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'"},
	} {
		if err := l.CheckGroup(c.set); errorText(err) != c.want || !errors.Is(err, c.kind) {
			t.Errorf("%v: %q", c.set, errorText(err))
		}
	}
	for _, c := range []struct {
		set  map[string]string
		kind error
		want string
	}{
		{map[string]string{"metrics": "org.apache.kafka.", "match": "client_id=x"}, nil, ""},
		{map[string]string{"match": "client_id=(?!b)a*+,client_source_port=\\d+"}, nil, ""},
		{map[string]string{"match": "client_id=("}, ErrInvalidConfig, "Illegal client matching pattern: client_id=("},
		{map[string]string{"match": "client_id=a)"}, ErrInvalidConfig, "Illegal client matching pattern: client_id=a)"},
		{map[string]string{"match": "client_id=[a"}, ErrInvalidConfig, "Illegal client matching pattern: client_id=[a"},
		{map[string]string{"match": "client_id=[b-a]"}, ErrInvalidConfig, "Illegal client matching pattern: client_id=[b-a]"},
		{map[string]string{"match": "client_id=x,client_id=*a"}, ErrInvalidConfig, "Illegal client matching pattern: client_id=*a"},
		{map[string]string{"match": "client_id=a\\"}, ErrInvalidConfig, "Illegal client matching pattern: client_id=a\\"},
		{map[string]string{"match": "bad=x"}, ErrInvalidConfig, "Illegal client matching pattern: bad=x"},
		{map[string]string{"interval.ms": "10"}, ErrInvalidRequest, "Invalid value 10 for interval.ms, interval must be between 100 and 3600000 (1 hour)"},
		{map[string]string{"no.such": "10"}, ErrInvalidRequest, "Unknown client metrics configuration: no.such"},
	} {
		if err := l.CheckClientMetrics(c.set); errorText(err) != c.want || !errors.Is(err, c.kind) {
			t.Errorf("%v: %q", c.set, errorText(err))
		}
	}
}

// TestListenersChangeAtRunTime: the texts are those of Apache Kafka 4.4.0 (DynamicListenerConfig).
func TestListenersChangeAtRunTime(t *testing.T) {
	const head = "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@h:9093\ncontroller.listener.names=CONTROLLER\n" +
		"listeners=PLAINTEXT://h:9092,OTHER://h:9094,CONTROLLER://h:9093\n"
	const mapped = "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT,NEW:PLAINTEXT,SAFE:SSL,CONTROLLER:PLAINTEXT"
	for _, c := range []struct{ file, key, value, want string }{
		{"", "listeners", "PLAINTEXT://h:9092,OTHER://h:9094,NEW://h:9095,CONTROLLER://h:9093", ""},
		{"", "listeners", "PLAINTEXT://h:9099,OTHER://h:9094,CONTROLLER://h:9093", ""},
		{"", "listeners", "PLAINTEXT://h:9092,NEW://h:9095,CONTROLLER://h:9093", "Invalid value org.apache.kafka.common.config.ConfigException: Advertised listeners " +
			"'Set(ListenerName(PLAINTEXT), ListenerName(OTHER))' must be a subset of listeners 'Set(ListenerName(PLAINTEXT), ListenerName(NEW), ListenerName(CONTROLLER))' " +
			"for configuration Invalid dynamic configuration"},
		{"", "listeners", "PLAINTEXT://h:9092,OTHER://h:9094,SAFE://h:9095,CONTROLLER://h:9093", // our own text
			"listener SAFE uses the security protocol SSL, which this broker does not serve yet; only PLAINTEXT is served"},
		{"advertised.listeners=PLAINTEXT://h:9092\n", "listeners", "PLAINTEXT://h:9092,CONTROLLER://h:9093", ""},
		{"advertised.listeners=PLAINTEXT://h:9092,OTHER://h:9094\n", "listeners", "PLAINTEXT://h:9092,CONTROLLER://h:9093", "requirement failed: advertised.listeners " +
			"listener names must be equal to or a subset of the ones defined in listeners. Found PLAINTEXT,OTHER. The valid options based on the current configuration are PLAINTEXT,CONTROLLER"},
		{"", "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,OTHER:SSL,NEW:PLAINTEXT,CONTROLLER:PLAINTEXT", "Invalid value org.apache.kafka.common.config.ConfigException: " +
			"Security protocol cannot be updated for existing listener ListenerName(OTHER) for configuration Invalid dynamic configuration"},
	} {
		l := Layers{Static: mustParse(t, head+c.file+"listener.security.protocol.map="+mapped+"\n")}
		if got := errorText(l.CheckBroker(map[string]string{c.key: c.value}, true)); got != c.want {
			t.Errorf("%s%s=%s:\n got %q\nwant %q", c.file, c.key, c.value, got, c.want)
		}
	}
}

// TestListenersInForce: those of the node's dynamic settings, unless they no longer fit the file.
func TestListenersInForce(t *testing.T) {
	const file = "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@h:9093\ncontroller.listener.names=CONTROLLER\n" +
		"listeners=PLAINTEXT://h:9092,CONTROLLER://h:9093\nlistener.security.protocol.map=PLAINTEXT:PLAINTEXT,NEW:PLAINTEXT,SAFE:SSL,CONTROLLER:PLAINTEXT\n"
	for _, c := range []struct{ node, want, refused string }{
		{"", "PLAINTEXT:9092 CONTROLLER:9093", ""},
		{"CONTROLLER://h:9093,NEW://h:9095,PLAINTEXT://h:9096", "CONTROLLER:9093 NEW:9095 PLAINTEXT:9096", ""},
		{"PLAINTEXT://h:9092", "", "controller.listener.names must contain at least one value"},
		{"PLAINTEXT://h:9092,CONTROLLER://h:9093,SAFE://h:9095", "", "listener SAFE uses the security protocol SSL"},
	} {
		l := Layers{Static: mustParse(t, file)}
		if c.node != "" {
			l.Node = map[string]string{"listeners": c.node}
		}
		all, err := l.Listeners()
		var got []string
		for _, one := range all {
			got = append(got, one.Name+":"+strconv.Itoa(one.Port))
		}
		if strings.Join(got, " ") != c.want || !strings.Contains(errorText(err), c.refused) || (err == nil) != (c.refused == "") {
			t.Errorf("%q: listeners %q, error %v", c.node, got, err)
		}
	}
}
