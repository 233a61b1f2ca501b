package integration

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestReadOnly shows a directory of Kafka's without its clean marker to every client, on files without write permission:
// recovery happens in memory, all that writes is refused, and no file changes.
func TestReadOnly(t *testing.T) {
	c := capture{archives: []string{"11b-makedir-after-takeover"}}
	dirs := c.unpack(t)
	if err := os.Remove(filepath.Join(dirs[0], ".kafka_cleanshutdown")); err != nil {
		t.Fatal(err)
	}
	shown := readOnlyView(t, dirs[0])
	before := hashes(t, dirs)
	addr := freeAddr(t)
	p := startArgs(t, shown, addr, []string{"--read-only", shown, "--listen", addr})
	state := brokerState(t, addr, "billing")
	if !slices.Contains(state, "group billing at orders-0 5") {
		t.Errorf("the group's offset is not shown: %q", state)
	}
	cl := newClient(t, addr)
	refusals(t, cl, addr)
	if groups := ask[*kmsg.ListGroupsResponse](t, cl, kmsg.NewPtrListGroupsRequest()).Groups; len(groups) == 0 {
		t.Error("no groups listed")
	}
	compareStates(t, "after refused writes", state, brokerState(t, addr, "billing"))
	for _, other := range []client{kcatClient{}, javaClient{}} {
		t.Run("read with "+other.name(), func(t *testing.T) {
			other.need(t)
			readAll(t, other, addr, state)
		})
	}
	p.end(t)
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("ended with code %d:\n%s", code, p.Output())
	}
	compareStates(t, "files", before, hashes(t, dirs))
}

// readAll reads every topic that has records with one client and compares the values with those of the state.
func readAll(t *testing.T, reader client, addr string, state []string) {
	t.Helper()
	values := map[string][]string{}
	pattern := regexp.MustCompile(`^record (.+)-\d+ @\d+ \d+ -?\d+/-?\d+ ".*"="(.*)"$`)
	for _, line := range state {
		if m := pattern.FindStringSubmatch(line); m != nil && !strings.HasPrefix(m[2], `\x00\x00`) { // no markers
			values[m[1]] = append(values[m[1]], m[2])
		}
	}
	if len(values) == 0 {
		t.Fatal("no records")
	}
	for topic, want := range values {
		got := reader.consume(t, addr, topic, len(want))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: read %q, want %q", topic, got, want)
		}
	}
}

// writeProtect takes the write permission from a whole tree until the test ends.
func writeProtect(t *testing.T, root string) {
	t.Helper()
	chmod := func(dir, file os.FileMode) {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() {
				return os.Chmod(path, dir)
			}
			return os.Chmod(path, file)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	chmod(0o555, 0o444)
	t.Cleanup(func() { chmod(0o755, 0o644) })
}

// refusals sends what would write and expects POLICY_VIOLATION, with the reason where the answer has room for one.
func refusals(t *testing.T, cl *kgo.Client, addr string) {
	t.Helper()
	const want = int16(44)
	check := func(what string, code int16, message *string) {
		t.Helper()
		if code != want {
			t.Errorf("%s: error %d, want POLICY_VIOLATION", what, code)
		}
		if message != nil && !strings.Contains(*message, "read-only") {
			t.Errorf("%s: message %q", what, *message)
		}
	}
	code, message := newTopic(t, cl, "mine", 1)
	check("CreateTopics", code, &message)
	deletion := kmsg.NewPtrDeleteTopicsRequest()
	name := kmsg.NewDeleteTopicsRequestTopic()
	name.Topic = kmsg.StringPtr("orders")
	deletion.Topics, deletion.TopicNames, deletion.TimeoutMillis = append(deletion.Topics, name), []string{"orders"}, 1000
	deleted := ask[*kmsg.DeleteTopicsResponse](t, cl, deletion).Topics[0]
	check("DeleteTopics", deleted.ErrorCode, deleted.ErrorMessage)
	check("CreatePartitions", morePartitions(t, cl), nil)
	check("DeleteRecords", deleteRecords(t, cl), nil)
	check("OffsetCommit", tryCommit(t, cl), nil)
	init := kmsg.NewPtrInitProducerIDRequest()
	check("InitProducerID", ask[*kmsg.InitProducerIDResponse](t, cl, init).ErrorCode, nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	plain := newClient(t, addr, kgo.DisableIdempotentWrite(), kgo.AllowAutoTopicCreation())
	err := plain.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: []byte("no")}).FirstErr()
	if err != kerr.PolicyViolation {
		t.Errorf("Produce: %v, want POLICY_VIOLATION", err)
	}
}

func morePartitions(t *testing.T, cl *kgo.Client) int16 {
	t.Helper()
	req := kmsg.NewPtrCreatePartitionsRequest()
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = "orders", 9
	req.Topics, req.TimeoutMillis = append(req.Topics, rt), 1000
	return ask[*kmsg.CreatePartitionsResponse](t, cl, req).Topics[0].ErrorCode
}

func deleteRecords(t *testing.T, cl *kgo.Client) int16 {
	t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	rt, rp := kmsg.NewDeleteRecordsRequestTopic(), kmsg.NewDeleteRecordsRequestTopicPartition()
	rt.Topic, rp.Offset = "orders", -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics, req.TimeoutMillis = append(req.Topics, rt), 1000
	return ask[*kmsg.DeleteRecordsResponse](t, cl, req).Topics[0].Partitions[0].ErrorCode
}

func tryCommit(t *testing.T, cl *kgo.Client) int16 {
	t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = "newcomer", -1
	rt, rp := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
	rt.Topic, rt.TopicID = "orders", topicID(t, cl, "orders")
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return ask[*kmsg.OffsetCommitResponse](t, cl, req).Topics[0].Partitions[0].ErrorCode
}

// TestWithoutMetadataLog: a directory whose __cluster_metadata-0 is lost is refused for use, because all its topics would
// count as strays; read-only its topics are read off the directories.
func TestWithoutMetadataLog(t *testing.T) {
	c := capture{archives: []string{"05-admin-ops"}}
	dirs := c.unpack(t)
	whole := showReadOnly(t, dirs, nil)
	if err := os.RemoveAll(filepath.Join(dirs[0], "__cluster_metadata-0")); err != nil {
		t.Fatal(err)
	}
	before := hashes(t, dirs)
	shown := showReadOnly(t, dirs, nil)
	for _, line := range whole {
		if !strings.HasPrefix(line, "setting ") && !slices.Contains(shown, line) {
			t.Errorf("not shown without the metadata log: %s", line)
		}
	}
	compareStates(t, "files", before, hashes(t, dirs))
	out := refusedStart(t, "--data-dir", dirs[0], "--listen", freeAddr(t))
	if !strings.Contains(out, "holds no metadata log, but") || !strings.Contains(out, "--read-only") {
		t.Errorf("refused with: %s", out)
	}
	for _, line := range hashes(t, dirs) {
		if strings.Contains(line, "-stray") {
			t.Errorf("set aside: %s", line)
		}
	}
}
