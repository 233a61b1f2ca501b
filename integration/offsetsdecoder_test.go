package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestOffsetsDecoded has groups of both protocols write every type of record that they know, and lets Kafka's decoders read
// all of __consumer_offsets: kafka-dump-log --offsets-decoder, and the console consumer's formatters.
func TestOffsetsDecoded(t *testing.T) {
	kafkaLibs(t) // skips before a broker is started
	data, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
	settings := append([]string{"offsets.topic.num.partitions=1"}, quickSessions...)
	p := startProcess(t, data, addr, settings)
	writeGroups(t, addr)
	p.Stop(t)
	log := filepath.Join(data, "__consumer_offsets-0", "00000000000000000000.log")
	dump := java(t, "", "org.apache.kafka.tools.DumpLogSegments", "--offsets-decoder", "--print-data-log", "--files", log)
	for _, c := range complaints(dump) {
		t.Errorf("kafka-dump-log: %s", c)
	}
	records := regexp.MustCompile(`(?m)^\| offset: (\d+) .* key: (\{.*?\}) payload: (.*)$`).FindAllStringSubmatch(dump, -1)
	types := map[string]int{}
	for n, r := range records {
		if r[1] != fmt.Sprint(n) {
			t.Fatalf("record %d is at offset %s", n, r[1])
		}
		var key struct{ Type json.Number }
		if err := json.Unmarshal([]byte(r[2]), &key); err != nil || !strings.HasPrefix(r[3], "{") && r[3] != "<DELETE>" {
			t.Fatalf("record %d: key %s, value %s: %v", n, r[2], r[3], err)
		}
		types[key.Type.String()]++
		if r[3] == "<DELETE>" {
			types["-"+key.Type.String()]++
		}
	}
	for _, kind := range []string{"1", "-1", "2", "-2", "3", "-3", "5", "-5", "6", "-6", "7", "-7", "8", "-8", "16", "-16"} {
		if types[kind] == 0 {
			t.Errorf("no record of type %s among %v", kind, types)
		}
	}
	p = startProcess(t, data, addr, settings)
	for formatter, kind := range map[string]string{"OffsetsMessageFormatter": "1", "GroupMetadataMessageFormatter": "2"} {
		out := java(t, "", "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", addr, "--topic", "__consumer_offsets",
			"--partition", "0", "--offset", "earliest", "--max-messages", fmt.Sprint(len(records)), "--formatter", "org.apache.kafka.tools.consumer."+formatter)
		printed := 0
		for values := json.NewDecoder(strings.NewReader(out)); ; printed++ {
			var v struct{ Key, Value any }
			if err := values.Decode(&v); err == io.EOF {
				break
			} else if err != nil || v.Key == nil {
				t.Fatalf("%s printed after %d values: %v", formatter, printed, err)
			}
		}
		if printed != types[kind] {
			t.Errorf("%s printed %d values, there are %d records of type %s", formatter, printed, types[kind], kind)
		}
	}
	t.Logf("%d records decoded, by type %v", len(records), types)
	p.Stop(t)
}

// writeGroups makes groups of both protocols come into being, change their protocol, and go.
func writeGroups(t *testing.T, addr string) {
	t.Helper()
	createTopic(t, addr, "numbers", 4, nil)
	produceNumbers(t, addr, "numbers", 0, 50)
	classic, server := kgo.Balancers(kgo.CooperativeStickyBalancer()), kgo.ServerSideBalancer()
	c := newTally()
	first := startReader(t, addr, "numbers", c, classic, kgo.InstanceID("i1"))
	c.awaitReads(t, 50)
	second := startReader(t, addr, "numbers", c, classic, server) // the group becomes a consumer group
	produceNumbers(t, addr, "numbers", 50, 50)
	c.awaitReads(t, 100)
	second.leave() // and a classic one again
	produceNumbers(t, addr, "numbers", 100, 50)
	c.awaitReads(t, 150)
	first.leave()
	matched := newTally()
	third := startReader(t, addr, "num.*", matched, kgo.ConsumerGroup("matching"), kgo.ConsumeRegex(), server)
	matched.awaitReads(t, 150)
	matched.await(t, "commits", func() bool { return matched.committed >= 150 })
	third.leave()
	cl := newClient(t, addr)
	commit(t, cl, "simple", "numbers", 7)
	del := kmsg.NewPtrDeleteGroupsRequest()
	del.Groups = []string{"simple", "matching"}
	for _, g := range ask[*kmsg.DeleteGroupsResponse](t, cl, del).Groups {
		if g.ErrorCode != 0 {
			t.Errorf("delete group %s: error %d", g.Group, g.ErrorCode)
		}
	}
}
