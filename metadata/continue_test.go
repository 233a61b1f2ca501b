package metadata

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/record"
)

// batchLines describes batches byte by byte, with what differs from start to
// start taken out: incarnation ids, and the order of partitions and features,
// which with Kafka is that of hash maps.
func batchLines(t *testing.T, l raftLog, from, to int64) []string {
	t.Helper()
	var lines []string
	err := l.replay(from, func(b record.Batch) error {
		if b.BaseOffset() >= to {
			return nil
		}
		var records []string
		err := decodeBatch(b, func(s stored) error {
			switch r := s.record.(type) {
			case nil:
				_, value := encodeControl(s.control, s.version)
				records = append(records, fmt.Sprintf("%T %x", s.control, value))
				return nil
			case *RegisterBrokerRecord:
				r.IncarnationID = logstore.UUID{}
				slices.SortFunc(r.Features, byName)
			case *RegisterControllerRecord:
				r.IncarnationID = logstore.UUID{}
				slices.SortFunc(r.Features, byName)
			}
			records = append(records, fmt.Sprintf("%s %x", s.record.Key(), AppendRecord(nil, s.record, s.version)))
			return nil
		})
		slices.Sort(records)
		lines = append(lines, fmt.Sprintf("%d e%d attributes %x %v", b.BaseOffset(), b.LeaderEpoch(), b.Attributes(), records))
		return err
	})
	if err != nil || len(lines) == 0 {
		t.Fatalf("%d batches from %d to %d: %v", len(lines), from, to, err)
	}
	return lines
}

func byName(a, b FeatureRange) int {
	if a.Name < b.Name {
		return -1
	}
	return 1
}

// likeKafka are the options with which the captures were made.
func likeKafka(o *Options) {
	o.DirectoryIDs = []logstore.UUID{must(logstore.ParseUUID("Hzr3ZMbujteGhZunoXUMsA"))}
	o.Endpoints = func(*Image) []Endpoint { return []Endpoint{{Name: "PLAINTEXT", Host: "127.0.0.1", Port: 21200}} }
	o.ControllerEndpoints = []Endpoint{{Name: "CONTROLLER", Host: "127.0.0.1", Port: 21201}}
}

// TestAStartAfterACleanStopIsKafkas starts where Kafka started too.
func TestAStartAfterACleanStopIsKafkas(t *testing.T) {
	n := newNode(t, vfs.OS(), unpackGolden(t, "05-admin-ops"))
	n.clean, n.adjust = 44, likeKafka
	n.start()
	theirs := goldenLog(t, unpackGolden(t, "06-groups-kill9"))
	sameLines(t, batchLines(t, n.log, 92, 103), batchLines(t, theirs, 92, 103))
	if got := n.log.EndOffset(); got != 103 {
		t.Errorf("the log ends at %d", got)
	}
}

// TestAStartAfterACrashIsKafkas does the same after kill -9. Kafka's log of
// that start is a segment that it was about to delete.
func TestAStartAfterACrashIsKafkas(t *testing.T) {
	n := newNode(t, vfs.OS(), unpackGolden(t, "06-groups-kill9"))
	n.adjust = likeKafka
	n.start()
	dir := filepath.Join(t.TempDir(), DirName)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	segment := goldenFiles(t, "07-restart-snapshots")["00000000000000000139.log.deleted"]
	if err := os.WriteFile(filepath.Join(dir, "00000000000000000139.log"), segment, 0o644); err != nil {
		t.Fatal(err)
	}
	sameLines(t, batchLines(t, n.log, 139, 202), batchLines(t, goldenLog(t, dir), 139, 202))
	if got := n.log.EndOffset(); got != 202 {
		t.Errorf("the log ends at %d", got)
	}
}

// TestAStopIsKafkas stops a node in the state in which Kafka stopped.
func TestAStopIsKafkas(t *testing.T) {
	dir := unpackGolden(t, "05-admin-ops")
	path := filepath.Join(dir, "00000000000000000000.log")
	theirs := batchLines(t, goldenLog(t, dir), 84, 92)
	const stopAt = 7376 // where the batch of offset 84 begins
	if err := os.Truncate(path, stopAt); err != nil {
		t.Fatal(err)
	}
	n := newNode(t, vfs.OS(), dir)
	n.adjust = likeKafka
	s := &Store{o: n.options().withDefaults()}
	if err := s.load(); err != nil {
		t.Fatal(err)
	}
	s.epoch = s.next.lastEpoch
	s.image.Store(s.next)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sameLines(t, batchLines(t, goldenLog(t, dir), 84, 92), theirs)
}

// TestCreatedTopicsAreKafkas writes the batches of topics and settings that the
// captured admin client asked for.
func TestCreatedTopicsAreKafkas(t *testing.T) {
	dir := unpackGolden(t, "05-admin-ops")
	theirs := goldenLog(t, dir)
	want := batchLines(t, theirs, 47, 70)
	ids := map[string]logstore.UUID{}
	if err := theirs.replay(47, func(b record.Batch) error {
		return decodeBatch(b, func(s stored) error {
			if r, ok := s.record.(*TopicRecord); ok {
				ids[r.Name] = r.TopicID
			}
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "00000000000000000000.log"), 4093); err != nil {
		t.Fatal(err)
	}
	n := newNode(t, vfs.OS(), dir)
	n.adjust = likeKafka
	s := &Store{o: n.options().withDefaults()}
	if err := s.load(); err != nil {
		t.Fatal(err)
	}
	s.epoch = s.next.lastEpoch
	s.image.Store(s.next)
	topic := func(name string, partitions int, configs map[string]string) NewTopic {
		return NewTopic{Name: name, ID: ids[name], Partitions: partitions, Configs: configs}
	}
	set := func(kind ResourceKind, name, key, value string) ConfigChange {
		return ConfigChange{Kind: kind, Name: name, Key: key, Value: &value}
	}
	create := func(topics ...NewTopic) error { _, err := s.CreateTopics(topics); return err }
	alter := func(changes ...ConfigChange) error { return s.AlterConfigs(changes) }
	for i, step := range []func() error{
		func() error {
			return create(topic("t1", 2, map[string]string{"segment.ms": "60000", "cleanup.policy": "compact"}))
		},
		func() error { return create(topic("t2", 1, nil)) },
		func() error {
			return create(topic("t3", 1, map[string]string{"retention.ms": "5000"}), topic("t4", 1, nil))
		},
		func() error { return s.CreatePartitions("t2", 3) },
		func() error { return alter(set(ResourceTopic, "t1", "retention.ms", "123456")) },
		func() error { return alter(ConfigChange{Kind: ResourceTopic, Name: "t1", Key: "retention.ms"}) },
		func() error { return alter(set(ResourceBroker, "1", "max.connections", "1000")) },
		func() error { return alter(set(ResourceBroker, "", "log.retention.ms", "86400000")) },
		func() error { return alter(ConfigChange{Kind: ResourceBroker, Key: "log.retention.ms"}) },
		func() error {
			return alter(set(ResourceClientMetrics, "sub1", "interval.ms", "30000"), set(ResourceClientMetrics, "sub1", "metrics", "org.apache.kafka.producer."))
		},
		func() error { return alter(set(ResourceGroup, "gconf", "consumer.session.timeout.ms", "50000")) },
		func() error { return s.DeleteTopics([]logstore.UUID{ids["t3"]}) },
	} {
		if err := step(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	sameLines(t, batchLines(t, s.log, 47, 70), want)
	if _, _, err := s.AllocateProducerIDs(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// goldenLog opens the segments of a directory of Kafka's.
func goldenLog(t *testing.T, dir string) raftLog {
	t.Helper()
	l, err := openRaftLog(vfs.OS(), dir, 1<<30, weekMs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
