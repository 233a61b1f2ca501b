package metadata

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/record"
)

const goldenCluster = "5L6g3nShT-eMCtK--X86sw"

// goldenDirs are the archives with a metadata log or snapshot of Kafka's.
func goldenDirs() []string {
	return []string{
		"01-format-voters", "02-format-standalone", "03-format-no-initial-controllers", "04-first-start-clean-stop", "05-admin-ops",
		"06-groups-kill9", "07-restart-snapshots", "08-standalone-mixed-group", "09a-two-log-dirs", "10-delegation-tokens", "11a-makedir-before",
	}
}

// unpackGolden unpacks an archive's metadata directory and returns its path.
// Index files stay out: they are rebuilt.
func unpackGolden(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), DirName)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, data := range goldenFiles(t, name) {
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// goldenFiles reads the files of an archive's metadata directory.
func goldenFiles(t testing.TB, name string) map[string][]byte {
	t.Helper()
	packed, err := os.ReadFile(filepath.Join("testdata", name+".tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for archive := tar.NewReader(unzipped); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Base(head.Name)
		inside := filepath.Base(filepath.Dir(head.Name)) == DirName
		if !inside || head.Typeflag == tar.TypeDir || strings.Contains(file, "index") {
			continue
		}
		if files[file], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
	if len(files) == 0 {
		t.Fatalf("%s has no metadata directory", name)
	}
	return files
}

// goldenBatches calls fn for each batch of each segment and snapshot.
func goldenBatches(t testing.TB, name string, fn func(file string, b record.Batch)) {
	t.Helper()
	for file, data := range goldenFiles(t, name) {
		file, removed := strings.CutSuffix(file, ".deleted")
		if !strings.HasSuffix(file, ".log") && !strings.HasSuffix(file, checkpointSuffix) {
			continue
		}
		n := 0
		for rest := data; len(rest) > 0; n++ {
			b, tail, err := record.Next(rest)
			if err != nil {
				t.Fatalf("%s %s batch %d: %v", name, file, n, err)
			}
			fn(file, b)
			rest = tail
		}
		if n == 0 && !removed {
			t.Fatalf("%s %s: no batches", name, file)
		}
	}
}

func TestEveryRecordOfKafkaEncodesToTheSameBytes(t *testing.T) {
	keys, controls := map[RecordKey]int{}, map[ControlType]int{}
	for _, name := range goldenDirs() {
		goldenBatches(t, name, func(file string, b record.Batch) {
			if !b.ChecksumOK() {
				t.Fatalf("%s %s at %d: checksum", name, file, b.BaseOffset())
			}
			err := b.ForEach(maxBatchBytes, func(r *record.Record) error {
				if b.IsControl() {
					c, version, err := DecodeControl(r.Key, r.Value)
					if err != nil {
						return err
					}
					key, value := encodeControl(c, version)
					if !bytes.Equal(key, r.Key) || !bytes.Equal(value, r.Value) {
						return fmt.Errorf("control %d: % x % x, want % x % x", c.Type(), key, value, r.Key, r.Value)
					}
					controls[c.Type()]++
					return nil
				}
				decoded, version, err := DecodeRecord(r.Value)
				if err != nil {
					return err
				}
				if got := AppendRecord(nil, decoded, version); !bytes.Equal(got, r.Value) {
					return fmt.Errorf("%s: % x, want % x", decoded.Key(), got, r.Value)
				}
				if want := writtenVersion(decoded, levelMax); version != want && name != "11a-makedir-before" {
					return fmt.Errorf("%s: Kafka wrote version %d, we would write %d", decoded.Key(), version, want)
				}
				keys[decoded.Key()]++
				return nil
			})
			if err != nil {
				t.Fatalf("%s %s batch at %d: %v", name, file, b.BaseOffset(), err)
			}
		})
	}
	if len(keys) < 20 || len(controls) != 5 {
		t.Fatalf("records seen: %v, control records: %v", keys, controls)
	}
}

// TestEveryBatchOfKafkaBuildsToTheSameBytes rebuilds whole batches, headers
// and checksums included, from what was decoded.
func TestEveryBatchOfKafkaBuildsToTheSameBytes(t *testing.T) {
	batches := 0
	for _, name := range goldenDirs() {
		if name == "11a-makedir-before" {
			continue // not Kafka's
		}
		goldenBatches(t, name, func(file string, b record.Batch) {
			var records []Record
			var control []ControlRecord
			if err := decodeBatch(b, func(s stored) error {
				if s.control != nil {
					control = append(control, s.control)
				} else {
					records = append(records, s.record)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			built, err := buildControl(control, b.BaseTimestamp())
			if len(records) > 0 {
				built, err = buildBatch(records, levelMax, b.BaseTimestamp())
			}
			if err != nil {
				t.Fatal(err)
			}
			built.SetBaseOffset(b.BaseOffset())
			built.SetLeaderEpoch(b.LeaderEpoch())
			if !bytes.Equal(built, b) {
				t.Fatalf("%s %s batch at %d:\n% x, want\n% x", name, file, b.BaseOffset(), built, b)
			}
			batches++
		})
	}
	if batches < 200 {
		t.Fatalf("only %d batches", batches)
	}
}

func TestFormatWritesKafkasBootstrapCheckpoint(t *testing.T) {
	want := goldenFiles(t, "01-format-voters")["00000000000000000000-0000000000.checkpoint"]
	var header, times []int64
	if _, err := decodeSnapshot(want, func(s stored) error {
		if h, ok := s.control.(*SnapshotHeader); ok {
			header = append(header, h.LastContainedLogTimestamp)
		}
		times = append(times, s.timestamp)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	got, err := encodeBootstrap(header[0], times[0])
	if err != nil {
		t.Fatal(err)
	}
	// Kafka looks at the clock for each batch; put its times into ours.
	var patched []byte
	for rest, n := got, 0; len(rest) > 0; n++ {
		b, tail, err := record.Next(rest)
		if err != nil {
			t.Fatal(err)
		}
		at := []int64{times[0], times[1], times[len(times)-1]}[n]
		var rebuilt record.Batch
		switch n {
		case 0:
			rebuilt, err = buildControl([]ControlRecord{&SnapshotHeader{LastContainedLogTimestamp: header[0]}}, at)
		case 1:
			rebuilt, err = buildBatch(initialRecords(), levelMax, at)
		default:
			rebuilt, err = buildControl([]ControlRecord{&SnapshotFooter{}}, at)
		}
		if err != nil {
			t.Fatal(err)
		}
		rebuilt.SetBaseOffset(b.BaseOffset())
		patched = append(patched, rebuilt...)
		rest = tail
	}
	if len(got) != 411 || !bytes.Equal(patched, want) {
		t.Fatalf("%d bytes\n% x, want\n% x", len(got), patched, want)
	}
}

// replayGolden makes the image that a directory of Kafka's ends with.
func replayGolden(t testing.TB, dir string) *Image {
	t.Helper()
	o := Options{FS: vfs.OS(), Dir: dir, NodeID: 1, ClusterID: goldenCluster}
	s := &Store{o: o.withDefaults()}
	if err := s.load(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.log.Close() })
	return s.next
}

func TestImagesOfKafkasDirectories(t *testing.T) {
	i := replayGolden(t, unpackGolden(t, "05-admin-ops"))
	var names []string
	for _, topic := range i.Topics() {
		names = append(names, fmt.Sprintf("%s/%d", topic.Name, len(topic.Partitions)))
	}
	if got := strings.Join(names, " "); got != "t1/2 t2/3 t4/1" {
		t.Errorf("topics %s", got)
	}
	t1, _ := i.Topic("t1")
	want := Partition{ID: 1, Leader: -1, LeaderEpoch: 1, PartitionEpoch: 1, Replicas: []int32{1}, ISR: []int32{}, ELR: []int32{1}, LastKnownELR: []int32{1}}
	if p := t1.Partitions[1]; p.Leader != want.Leader || p.LeaderEpoch != 1 || p.PartitionEpoch != 1 || !slices.Equal(p.ELR, want.ELR) || len(p.ISR) > 0 || len(p.Directories) != 1 {
		t.Errorf("t1-1 %+v", p)
	}
	if byID, ok := i.TopicByID(t1.ID); !ok || byID != t1 {
		t.Error("t1 is not found by id")
	}
	if got := fmt.Sprint(i.Config(ResourceTopic, "t1")); got != "map[cleanup.policy:compact segment.ms:60000]" {
		t.Errorf("settings of t1: %s", got)
	}
	if got := fmt.Sprint(i.Config(ResourceBroker, "1"), i.Config(ResourceBroker, ""), i.Config(ResourceTopic, "t3")); got != "map[max.connections:1000] map[min.insync.replicas:1] map[]" {
		t.Errorf("settings: %s", got)
	}
	if i.NextProducerID != 1000 || i.BrokerEpoch != 44 || i.LastOffset != 91 || i.level() != 33 || len(i.Features) != 6 {
		t.Errorf("%d %d %d %v", i.NextProducerID, i.BrokerEpoch, i.LastOffset, i.Features)
	}
	if b := i.Brokers()[1]; !b.Fenced || !b.InControlledShutdown || b.CordonedLogDirs == nil {
		t.Errorf("broker %+v", b)
	}
	if i.acls.len() != 1 || i.scram.len() != 1 || i.quotas.len() != 1 {
		t.Errorf("%d entries, %d credentials, %d quotas", i.acls.len(), i.scram.len(), i.quotas.len())
	}
	if _, ok := i.ScramCredential(ScramUser{"alice", 1}); !ok {
		t.Error("alice has no credential")
	}
	i = replayGolden(t, unpackGolden(t, "08-standalone-mixed-group"))
	if i.kraftVersion != 1 || i.voters == nil || i.lastEpoch != 3 {
		t.Errorf("kraft.version %d, voters %v, epoch %d", i.kraftVersion, i.voters, i.lastEpoch)
	}
}

// TestStateRecordsAreThoseOfKafkasSnapshots replays Kafka's log to where its
// newest snapshot ends and compares records, in any order.
func TestStateRecordsAreThoseOfKafkasSnapshots(t *testing.T) {
	dir := unpackGolden(t, "07-restart-snapshots")
	lines := func(records []Record) []string {
		var out []string
		for _, r := range records {
			out = append(out, fmt.Sprintf("%x", AppendRecord(nil, r, writtenVersion(r, levelMax))))
		}
		slices.Sort(out)
		return out
	}
	const newest = "00000000000000000245-0000000004.checkpoint"
	var theirs []Record
	if err := readSnapshot(vfs.OS(), filepath.Join(dir, newest), func(s stored) error {
		if s.record != nil {
			theirs = append(theirs, s.record)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	image := replayGolden(t, dir)
	if err := os.Remove(filepath.Join(dir, newest)); err != nil {
		t.Fatal(err)
	}
	older := replayGolden(t, dir) // by the snapshot before and the log behind it, which holds one record more
	for what, i := range map[string]*Image{"snapshot": image, "log": older} {
		if i.LastOffset != 245 || i.BrokerEpoch != 161 {
			t.Errorf("%s: %d %d", what, i.LastOffset, i.BrokerEpoch)
		}
	}
	if a, b := lines(image.stateRecords()), lines(older.stateRecords()); !slices.Equal(a, b) {
		t.Errorf("state by snapshot and by log differ:\n%s\n\n%s", strings.Join(a, "\n"), strings.Join(b, "\n"))
	}
	undo := lines(image.stateRecords())
	for n, line := range lines(theirs) {
		if undo[n] != line && !strings.HasPrefix(line, "010004") { // the record after the snapshot fences the broker
			t.Errorf("record %d: %s, want %s", n, undo[n], line)
		}
	}
}

var _ = logstore.UUID{}
