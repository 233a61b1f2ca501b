package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// addressesBy asks, over one listener, all requests that answer with the node's address, and returns the answers line by line.
func addressesBy(t *testing.T, listener, addr string) string {
	t.Helper()
	c, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ask := func(r kmsg.Request, version int16) kmsg.Response {
		resp, err := c.Request(r, version)
		if err != nil {
			t.Fatalf("%s: %v", listener, err)
		}
		return resp
	}
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, listener+" "+format+"\n", args...) }
	for _, version := range []int16{1, 13} {
		m := kmsg.NewPtrMetadataRequest()
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr("words")
		m.Topics = append(m.Topics, topic)
		meta := ask(m, version).(*kmsg.MetadataResponse)
		for _, b := range meta.Brokers {
			say("Metadata %d: broker %d at %s:%d", version, b.NodeID, b.Host, b.Port)
		}
		for _, topic := range meta.Topics {
			say("Metadata %d: controller %d, topic error %d", version, meta.ControllerID, topic.ErrorCode)
			for _, p := range topic.Partitions {
				say("Metadata %d: leader %d, replicas %v, in sync %v, offline %v, error %d", version, p.Leader, p.Replicas, p.ISR, p.OfflineReplicas, p.ErrorCode)
			}
		}
	}
	for _, kind := range []int8{1, 2} {
		d := kmsg.NewPtrDescribeClusterRequest()
		d.EndpointType = kind
		cluster := ask(d, 2).(*kmsg.DescribeClusterResponse)
		say("DescribeCluster %d: controller %d, error %d %s", kind, cluster.ControllerID, cluster.ErrorCode, text(cluster.ErrorMessage))
		for _, b := range cluster.Brokers {
			say("DescribeCluster %d: broker %d at %s:%d", kind, b.NodeID, b.Host, b.Port)
		}
	}
	for kind, key := range []string{"readers", "writer"} {
		f := kmsg.NewPtrFindCoordinatorRequest()
		f.CoordinatorType, f.CoordinatorKeys = int8(kind), []string{key}
		var found kmsg.FindCoordinatorResponseCoordinator
		await(patience, func() bool { // where there is an address the first request has the topic made
			found = ask(f, 6).(*kmsg.FindCoordinatorResponse).Coordinators[0]
			return found.ErrorCode != 15 || listener == "HIDDEN"
		})
		say("FindCoordinator %s: node %d at %s:%d, error %d %s", key, found.NodeID, found.Host, found.Port, found.ErrorCode, text(found.ErrorMessage))
	}
	say("DescribeTopicPartitions: %s", leaders(ask, "words"))
	return out.String()
}

// leaders is what DescribeTopicPartitions says of a topic.
func leaders(ask func(kmsg.Request, int16) kmsg.Response, topic string) string {
	r := kmsg.NewPtrDescribeTopicPartitionsRequest()
	t := kmsg.NewDescribeTopicPartitionsRequestTopic()
	t.Topic = topic
	r.Topics = append(r.Topics, t)
	var said []string
	for _, t := range ask(r, 0).(*kmsg.DescribeTopicPartitionsResponse).Topics {
		said = append(said, fmt.Sprint("error ", t.ErrorCode))
		for _, p := range t.Partitions {
			said = append(said, fmt.Sprintf("leader %d, in sync %v, offline %v, error %d", p.LeaderID, p.ISR, p.OfflineReplicas, p.ErrorCode))
		}
	}
	return strings.Join(said, "; ")
}

// TestAddressOfEachListener asks over each of three listeners where the node is: clients are told the address of the listener that
// they came by, those of one that is not advertised none. The answers are those of Apache Kafka 4.4.0; with recordToolsEnv they
// are recorded.
func TestAddressOfEachListener(t *testing.T) {
	files := t.TempDir()
	data, file := filepath.Join(files, "data"), filepath.Join(files, "server.properties")
	inside, outside, hidden := freeAddr(t), freeAddr(t), freeAddr(t)
	plain := slices.DeleteFunc(kafkaProperties([]string{data}, inside, freeAddr(t)), func(p string) bool { return strings.HasPrefix(p, "advertised.") })
	props := append(plain, "transaction.state.log.num.partitions=2", "inter.broker.listener.name=inside",
		"listener.security.protocol.map=INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,HIDDEN:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"advertised.listeners=INSIDE://"+inside+",OUTSIDE://out.example:19094")
	for i, p := range props {
		if rest, ok := strings.CutPrefix(p, "listeners=PLAINTEXT"); ok {
			props[i] = "listeners=OUTSIDE://" + outside + ",HIDDEN://" + hidden + ",INSIDE" + rest
		}
	}
	if err := os.WriteFile(file, []byte(strings.Join(props, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, code := runFormat(t, []string{"format", "-t", formatCluster, "-c", file}); code != 0 {
		t.Fatal(said)
	}
	record := os.Getenv(recordToolsEnv) != ""
	var p *Process
	if record {
		p = startKafkaWith(t, file, data, inside)
	} else {
		p = startArgs(t, data, inside, []string{file})
	}
	createTopic(t, inside, "words", 1, nil)
	got := addressesBy(t, "INSIDE", inside) + addressesBy(t, "OUTSIDE", outside) + addressesBy(t, "HIDDEN", hidden)
	_, port, _ := strings.Cut(inside, ":")
	got = strings.ReplaceAll(got, ":"+port, ":PORT")
	recording := filepath.Join("testdata", "admin", "recorded", "listeners.txt")
	if record {
		p.end(t)
		if err := os.WriteFile(recording, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(recording)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("answers\n%s\nof Kafka\n%s", got, want)
	}
	p.StopDirs(t, []string{data})
}
