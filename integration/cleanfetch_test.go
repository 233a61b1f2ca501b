package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/record"
)

// cleanedLog is a compacted partition as Kafka left it, and what Kafka answered to a Fetch with a limit of one byte at each
// of its offsets, one line each.
type cleanedLog struct {
	topic   string
	files   map[string]Content
	answers []string
}

// cleanedLogs reads them from the cases of package cleaner: for each list of answers the capture before it.
func cleanedLogs(t *testing.T) []cleanedLog {
	t.Helper()
	archives, err := filepath.Glob(filepath.Join("..", "cleaner", "testdata", "kafka", "*.tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	var all []cleanedLog
	for _, archive := range archives {
		tree := readArchive(t, archive)
		var c struct {
			Steps []struct{ Do, Topic, Name string }
		}
		if err := json.Unmarshal(tree["case.json"].Data, &c); err != nil {
			t.Fatal(err)
		}
		latest := map[string]map[string]Content{} // by topic
		for _, s := range c.Steps {
			switch s.Do {
			case "capture":
				for topic, files := range partitionsIn(tree, s.Name) {
					latest[topic] = files
				}
			case "fetch_each":
				all = append(all, cleanedLog{s.Topic, latest[s.Topic], strings.Split(strings.TrimSpace(string(tree[s.Name].Data)), "\n")})
			}
		}
	}
	return all
}

// partitionsIn is the files of each topic in a capture.
func partitionsIn(tree Tree, capture string) map[string]map[string]Content {
	found := map[string]map[string]Content{}
	for path, content := range tree {
		rest, ok := strings.CutPrefix(path, capture+"/")
		dir, file, inDir := strings.Cut(rest, "-0/")
		if !ok || !inDir || file == "" {
			continue
		}
		if found[dir] == nil {
			found[dir] = map[string]Content{}
		}
		found[dir][file] = content
	}
	return found
}

// TestFetchAtEveryOffset shows the compacted logs that Kafka left, read-only, and asks for each offset: the answers are
// Kafka's, gone offsets and holes in batches included.
func TestFetchAtEveryOffset(t *testing.T) {
	logs := cleanedLogs(t)
	lines := 0
	for round := 0; len(logs) > 0; round++ {
		dir := filepath.Join(t.TempDir(), fmt.Sprint(round))
		var here, later []cleanedLog
		starts, taken := "", map[string]bool{}
		for _, l := range logs {
			if taken[l.topic] {
				later = append(later, l) // another state of a log that is here already
				continue
			}
			taken[l.topic] = true
			here = append(here, l)
			l.lay(t, dir)
			if start, ok := strings.CutPrefix(l.answers[len(l.answers)-1][strings.LastIndex(l.answers[len(l.answers)-1], " ")+1:], "start="); ok && start != "0" {
				starts += l.topic + " 0 " + start + "\n"
			}
		}
		checkpoint := fmt.Sprintf("0\n%d\n%s", strings.Count(starts, "\n"), starts)
		if err := os.WriteFile(filepath.Join(dir, "log-start-offset-checkpoint"), []byte(checkpoint), 0o600); err != nil {
			t.Fatal(err)
		}
		addr := freeAddr(t)
		p := startArgs(t, dir, addr, []string{"--read-only", dir, "--listen", addr})
		conn, err := dial(addr)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range here {
			for offset, want := range l.answers {
				if got := fetchLine(t, conn, l.topic, int64(offset)); got != strings.TrimSuffix(want, " compressed") {
					t.Errorf("%s:\nhere  %s\nKafka %s", l.topic, got, want)
				}
				lines++
			}
		}
		conn.Close()
		p.end(t)
		logs = later
	}
	t.Logf("%d answers compared", lines)
	if lines < 5000 {
		t.Errorf("only %d answers compared", lines)
	}
}

// lay writes the files of a log into a data directory.
func (l cleanedLog) lay(t *testing.T, data string) {
	t.Helper()
	dir := filepath.Join(data, l.topic+"-0")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range l.files {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, content.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, content.Size); err != nil {
			t.Fatal(err)
		}
	}
}

// fetchLine asks for one byte at an offset and words the answer as the cases do.
func fetchLine(t *testing.T, conn *Conn, topic string, offset int64) string {
	t.Helper()
	p := fetchOne(t, conn, topic, offset)
	word := map[int16]string{0: "ok", 1: "OFFSET_OUT_OF_RANGE(1)"}[p.ErrorCode]
	if word == "" {
		word = strconv.Itoa(int(p.ErrorCode))
	}
	var batches []string
	for rest := p.RecordBatches; len(rest) > 0; {
		b, next, err := record.Next(rest)
		if err != nil {
			t.Fatalf("%s at %d: %v", topic, offset, err)
		}
		rest = next
		batches = append(batches, fmt.Sprintf("%d-%d/%d", b.BaseOffset(), b.LastOffset(), b.Count()))
	}
	return fmt.Sprintf("%d: %s bytes=%d batches=[%s] partial=0 HW=%d LSO=%d start=%d", offset, word, len(p.RecordBatches),
		strings.Join(batches, " "), p.HighWatermark, p.LastStableOffset, p.LogStartOffset)
}

// fetchOne asks for one byte at an offset; the answer is a whole batch.
func fetchOne(t *testing.T, conn *Conn, topic string, offset int64) kmsg.FetchResponseTopicPartition {
	t.Helper()
	r := kmsg.NewPtrFetchRequest()
	r.ReplicaID, r.MaxBytes, r.SessionEpoch = -1, 1, -1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.FetchOffset, rp.PartitionMaxBytes, rp.CurrentLeaderEpoch = offset, 1, -1
	rt.Partitions = append(rt.Partitions, rp)
	r.Topics = append(r.Topics, rt)
	resp, err := conn.Request(r, 12)
	if err != nil {
		t.Fatal(err)
	}
	return resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
}
