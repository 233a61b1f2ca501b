package integration

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// deleteTopic deletes a topic by name.
func deleteTopic(t *testing.T, cl *kgo.Client, name string) {
	t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.Topic = kmsg.StringPtr(name)
	req.Topics, req.TopicNames, req.TimeoutMillis = append(req.Topics, rt), []string{name}, 10_000
	if code := ask[*kmsg.DeleteTopicsResponse](t, cl, req).Topics[0].ErrorCode; code != 0 {
		t.Fatalf("delete %s: error %d", name, code)
	}
}

// newTopicSoon creates a topic whose name was just given up; Kafka may need a moment before it takes the name again.
func newTopicSoon(t *testing.T, cl *kgo.Client, name string) (code int16, message string) {
	t.Helper()
	await(patience, func() bool {
		code, message = newTopic(t, cl, name, 2)
		return code == 0
	})
	return code, message
}

// TestTopicNameAtOnce: what an answer reports is so: a created topic takes records at once, a deleted one is gone from all
// answers, and its name can be used again without waiting.
func TestTopicNameAtOnce(t *testing.T) {
	data, addr := t.TempDir(), freeAddr(t)
	p := startProcess(t, data, addr, nil)
	cl := newClient(t, addr)
	seen := map[[16]byte]bool{}
	for round := range 20 {
		if code, message := newTopic(t, cl, "again", 3); code != 0 {
			t.Fatalf("round %d: create: error %d, %s", round, code, message)
		}
		topics := topicsOf(t, cl)
		if len(topics) != 1 || len(topics[0].Partitions) != 3 || seen[topics[0].TopicID] {
			t.Fatalf("round %d: the new topic is not there: %+v", round, topics)
		}
		seen[topics[0].TopicID] = true
		if ends := endOffsets(t, cl, topics); ends["again"][0]+ends["again"][1]+ends["again"][2] != 0 {
			t.Fatalf("round %d: the new topic has the records of the old one: %v", round, ends)
		}
		goClient{}.produce(t, addr, "again", []string{"first"})
		deleteTopic(t, cl, "again")
		if topics := topicsOf(t, cl); len(topics) != 0 {
			t.Fatalf("round %d: deleted and still there: %+v", round, topics)
		}
	}
	p.StopDirs(t, []string{data})
}

// checkMetadataDump runs kafka-dump-log with the decoder of metadata over files of a metadata log.
func checkMetadataDump(t *testing.T, files []string) {
	t.Helper()
	out := java(t, "", "org.apache.kafka.tools.DumpLogSegments", "--cluster-metadata-decoder", "--files", strings.Join(files, ","))
	for line := range strings.Lines(out) {
		for _, word := range []string{"Error at", "Could not", "isvalid: false", "Exception", "not a valid", "corrupt"} {
			if strings.Contains(line, word) {
				t.Errorf("kafka-dump-log: %s", strings.TrimSpace(line))
			}
		}
	}
	if n := strings.Count(out, `payload: {"type":`); n < 50 {
		t.Errorf("kafka-dump-log decoded %d metadata records", n)
	}
}
