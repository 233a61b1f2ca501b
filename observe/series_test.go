package observe

import (
	"bufio"
	"bytes"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestDashboards: under load there is every series that Strimzi's dashboards of Kafka ask for, but for the JVM's and those of
// Kubernetes.
func TestDashboards(t *testing.T) {
	o := open(t)
	load(t, o.addr)
	s := o.counted(t, 17, produceCount)
	found := map[string]bool{}
	for key := range s.values {
		found[name(key)] = true
	}
	for _, file := range []string{"strimzi-kafka.series", "strimzi-kafka-exporter.series"} {
		for _, want := range lines(t, file) {
			if !found[want] && (isLinux() || !strings.Contains(want, "linux_") && want != "process_open_fds") {
				t.Errorf("%s: %s is not there", file, want)
			}
		}
	}
}

// TestSeriesAsKafka: what is told under a name of Kafka's has the type and the labels that it has there, and the groups of
// dashboards find what Kafka has.
func TestSeriesAsKafka(t *testing.T) {
	o := open(t)
	load(t, o.addr)
	kafka := map[string]bool{}
	for _, line := range lines(t, "kafka-4.4.0.series") {
		kafka[line] = true
	}
	s := o.counted(t, 17, produceCount)
	same := map[string]bool{}
	for key := range s.values {
		n := name(key)
		if !strings.HasPrefix(n, "kafka_server_") && !strings.HasPrefix(n, "kafka_network_") && !strings.HasPrefix(n, "kafka_controller_") &&
			!strings.HasPrefix(n, "kafka_cluster_") && !strings.HasPrefix(n, "kafka_log_") || strings.HasSuffix(n, "_count") && strings.Contains(n, "requestmetrics") {
			continue // kafka-exporter's, or the exporter's older name of a count
		}
		line := s.types[n] + " " + shape(key)
		if !kafka[line] {
			t.Errorf("Kafka has no %s", line)
		}
		same[line] = true
	}
	if len(same) < 60 {
		t.Errorf("%d series in common", len(same))
	}
	t.Logf("%d of Kafka's %d series", len(same), len(kafka))
}

// TestScrapeText: whatever is in a label, the text is Prometheus' format: help and type first, labels by name.
func TestScrapeText(t *testing.T) {
	lag, count := gauge("lag", "Lag of the group.", "topic", "group"), counter("count_total", "Groups.")
	var text bytes.Buffer
	out := bufio.NewWriter(&text)
	s := newScrape(out)
	s.put(&count, 12345678901)
	s.put(&lag, 1.5, "orders", "a\"b\\c\nd")
	s.put(&lag, math.Inf(1), "orders", "\xff\xfe")
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "# HELP count_total Groups.\n# TYPE count_total counter\ncount_total 1.2345678901e+10\n" +
		"# HELP lag Lag of the group.\n# TYPE lag gauge\n" + `lag{group="a\"b\\c\nd",topic="orders"} 1.5` + "\n" + "lag{group=\"\uFFFD\",topic=\"orders\"} +Inf\n"
	if got := text.String(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestScrapeOfManyPartitions: a scrape allocates what is known of each partition, not the text about it.
func TestScrapeOfManyPartitions(t *testing.T) {
	const partitions = 2000
	o := open(t)
	c := client(t, o.addr)
	request := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "wide", partitions, 1
	request.Topics = append(request.Topics, topic)
	if resp, err := request.RequestWith(t.Context(), c); err != nil || resp.Topics[0].ErrorCode != 0 {
		t.Fatal(resp, err)
	}
	o.counted(t, partitions, `kafka_topic_partitions{topic="wide"}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var size counting
	out := bufio.NewWriterSize(&size, scrapeBuffer)
	o.collector.collect(newScrape(out))
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	allocated := int(after.TotalAlloc - before.TotalAlloc)
	t.Logf("%d bytes of text, %d allocated", size, allocated)
	if allocated > int(size)/3 || size < partitions*1000 {
		t.Errorf("a scrape of %d bytes allocates %d, want at most a third of that", size, allocated)
	}
}

// counting counts what is written.
type counting int

func (c *counting) Write(p []byte) (int, error) {
	*c += counting(len(p))
	return len(p), nil
}

// TestGroupOfAnyName: a group whose name is no UTF-8 is shown, and hides nothing else.
func TestGroupOfAnyName(t *testing.T) {
	o := open(t)
	c := client(t, o.addr, kgo.ConsumerGroup("\xff\"\n"), kgo.ConsumeTopics("orders"))
	createTopics(t, c)
	o.counted(t, 1, "kafka_consumergroup_members{consumergroup=\"\uFFFD\\\"\\n\"}")
}
