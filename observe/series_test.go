package observe

import (
	"strings"
	"testing"
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
