package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicBenchEnv is the number of topics that TestBenchTopics makes; make topicbench sets it.
const topicBenchEnv = "MINIBROKER_BENCH_TOPICS"

// TestBenchTopics measures how long it takes to create many topics, as many partitions in topics of 1,000, and to start with
// them after kill -9 and after a clean stop, on minibroker and on Apache Kafka 4.4.0 beside it. It asserts nothing about speed.
// Without the environment variable it runs on minibroker alone, with few. That all are there is checked in any case.
func TestBenchTopics(t *testing.T) {
	n := envInt(t, topicBenchEnv, 0)
	if n == 0 {
		benchTopics(t, false, 100)
		return
	}
	own, other := benchTopics(t, false, n), benchTopics(t, true, n)
	for i := range own {
		fmt.Fprintf(os.Stdout, "| %s | %v | %v | %.1f |\n", own[i].what, own[i].took, other[i].took, float64(other[i].took)/float64(own[i].took))
	}
}

// topicFigure is how long something took.
type topicFigure struct {
	what string
	took time.Duration
}

// benchTopics measures one broker that starts with nothing.
func benchTopics(t *testing.T, kafka bool, n int) (figures []topicFigure) {
	t.Helper()
	name := map[bool]string{false: "minibroker", true: "Kafka"}[kafka]
	measure := func(what string, do func()) {
		begun := time.Now()
		do()
		figures = append(figures, topicFigure{what, time.Since(begun).Round(time.Millisecond)})
		t.Logf("%s: %s in %v", name, what, figures[len(figures)-1].took)
	}
	for _, shape := range []struct {
		what               string
		topics, partitions int
	}{{"topics", n, 1}, {"partitions, 1,000 a topic", max(1, n/1000), min(n, 1000)}} {
		root := t.TempDir()
		if said, code := runFormat(t, formatRun{dirs: "data"}.arguments(t, root, 0)); code != 0 {
			t.Fatal(said)
		}
		start := func() *Process {
			if kafka {
				return startKafka(t, []string{filepath.Join(root, "data")}, freeAddr(t))
			}
			return startProcess(t, filepath.Join(root, "data"), freeAddr(t), nil)
		}
		p := start()
		measure(fmt.Sprintf("create %d %s", n, shape.what), func() {
			createMany(t, p.Addr, shape.topics, shape.partitions)
			awaitUsable(t, p.Addr, shape.topics)
		})
		p.Kill()
		measure("start with them after kill -9", func() {
			p = start()
			awaitUsable(t, p.Addr, shape.topics)
		})
		p.end(t)
		measure("start with them after a clean stop", func() {
			p = start()
			awaitUsable(t, p.Addr, shape.topics)
		})
		p.end(t)
	}
	return figures
}

// createMany creates topics, at most 500 and at most 10,000 partitions a request.
func createMany(t *testing.T, addr string, topics, partitions int) {
	t.Helper()
	cl := newClient(t, addr, kgo.RequestTimeoutOverhead(5*time.Minute))
	for have := 0; have < topics; {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.TimeoutMillis = int32((5 * time.Minute).Milliseconds())
		for range min(max(1, 500/partitions), topics-have) {
			rt := kmsg.NewCreateTopicsRequestTopic()
			rt.Topic, rt.NumPartitions, rt.ReplicationFactor = fmt.Sprintf("many-%05d", have), int32(partitions), 1
			req.Topics = append(req.Topics, rt)
			have++
		}
		resp, err := cl.Request(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, made := range resp.(*kmsg.CreateTopicsResponse).Topics {
			if made.ErrorCode != 0 {
				t.Fatalf("create %s: error %d", made.Topic, made.ErrorCode)
			}
		}
	}
}

// awaitUsable returns when every partition tells its end. Kafka answers a creation, and that it is ready, before it has made
// or opened them all.
func awaitUsable(t *testing.T, addr string, want int) {
	t.Helper()
	cl := newClient(t, addr, kgo.RequestTimeoutOverhead(5*time.Minute))
	usable := func() bool {
		req := kmsg.NewPtrListOffsetsRequest()
		for _, topic := range topicsOf(t, cl) {
			rt := kmsg.NewListOffsetsRequestTopic()
			rt.Topic = *topic.Topic
			for _, p := range topic.Partitions {
				rp := kmsg.NewListOffsetsRequestTopicPartition()
				rp.Partition, rp.Timestamp = p.Partition, -1
				rt.Partitions = append(rt.Partitions, rp)
			}
			req.Topics = append(req.Topics, rt)
		}
		resp, err := req.RequestWith(t.Context(), cl)
		if err != nil || len(resp.Topics) != want {
			return false
		}
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				if p.ErrorCode != 0 {
					return false
				}
			}
		}
		return true
	}
	if !usable() && !await(10*time.Minute, usable) {
		t.Fatal("not all partitions are usable")
	}
}
