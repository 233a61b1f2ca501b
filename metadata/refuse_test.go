package metadata

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/record"
)

func TestWhatCannotBeWorkedWithIsRefusedWithASentence(t *testing.T) {
	frame := func(key, version byte) record.Batch {
		b := record.NewBuilder(record.BuilderOptions{})
		if err := b.Append(record.Record{Timestamp: 1, Value: []byte{1, key, version, 0}}); err != nil {
			t.Fatal(err)
		}
		batch, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		return batch
	}
	of := func(r Record) record.Batch {
		b, err := buildBatch([]Record{r}, levelMax, 1)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for what, tc := range map[string]struct {
		batch record.Batch
		want  error
		says  string
	}{
		"unknown key":     {frame(99, 0), ErrUnsupported, "record type 99 is unknown"},
		"unused key":      {frame(6, 0), ErrUnsupported, "record type 6 is unknown"},
		"newer version":   {frame(2, 1), ErrUnsupported, "Topic record in version 1, known up to 0"},
		"newer level":     {of(&FeatureLevelRecord{Name: "metadata.version", Level: 34}), ErrUnsupported, "metadata.version level 34, this version can work with 7 to 33"},
		"older level":     {of(&FeatureLevelRecord{Name: "metadata.version", Level: 6}), ErrUnsupported, "metadata.version level 6"},
		"unknown feature": {of(&FeatureLevelRecord{Name: "new.version", Level: 1}), ErrUnsupported, "feature new.version at level 1"},
		"no topic":        {of(&RemoveTopicRecord{TopicID: [16]byte{1}}), ErrMalformed, "RemoveTopic of"},
		"gap":             {of(&PartitionChangeRecord{TopicID: [16]byte{1}}), ErrMalformed, "PartitionChange record of topic"},
		"cut record":      {frame(2, 0), ErrMalformed, "offset 15: Topic record"},
	} {
		n := newNode(t, vfs.NewMem(), "/d/"+DirName).start()
		n.stop()
		appendForeign(t, n, tc.batch)
		_, err := Open(n.options())
		if !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "offset 15") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAForeignQuorumIsRefused(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "/d/"+DirName).start()
	n.stop()
	if err := writeQuorumState(n.fs, n.dir, QuorumState{LeaderID: 2, LeaderEpoch: 1, VotedID: -1, Voters: []int32{1, 2, 3}}); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(n.options()); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "controller 2 has a vote") {
		t.Error(err)
	}
	dir := unpackGolden(t, "03-format-no-initial-controllers")
	n = newNode(t, vfs.OS(), dir)
	if _, err := Open(n.options()); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "names no voters") {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "00000000000000000000-0000000000.checkpoint")); err != nil {
		t.Fatal(err)
	}
	if err := writeQuorumState(n.fs, dir, QuorumState{LeaderID: 1, LeaderEpoch: 5, VotedID: -1, Voters: []int32{1}}); err != nil {
		t.Fatal(err)
	}
	for _, e := range must(os.ReadDir(dir)) {
		if isSegmentFile(e.Name()) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := Open(n.options()); !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), "neither a snapshot nor a log is there") {
		t.Error(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestATornTailIsCut(t *testing.T) {
	dir := unpackGolden(t, "05-admin-ops")
	path := filepath.Join(dir, "00000000000000000000.log")
	info := must(os.Stat(path))
	if err := os.Truncate(path, info.Size()-10); err != nil {
		t.Fatal(err)
	}
	n := newNode(t, vfs.OS(), dir).start()
	sameLines(t, n.dump(90)[1:3], []string{"91 e3 LeaderChange", "92 e3 RegisterController"})
	if len(n.Image().Topics()) != 3 {
		t.Error("topics are missing")
	}
}

// TestKafkasDirectoriesAreTakenOver opens each directory, changes it and opens
// it again.
func TestKafkasDirectoriesAreTakenOver(t *testing.T) {
	for _, name := range goldenDirs() {
		if name == "03-format-no-initial-controllers" {
			continue
		}
		before := replayGolden(t, unpackGolden(t, name))
		n := newNode(t, vfs.OS(), unpackGolden(t, name))
		n.clean = before.BrokerEpoch
		n.start()
		for _, topic := range before.Topics() {
			now, ok := n.Image().Topic(topic.Name)
			if !ok || len(now.Partitions) != len(topic.Partitions) {
				t.Fatalf("%s: topic %s is %+v", name, topic.Name, now)
			}
			for i, p := range now.Partitions {
				old := topic.Partitions[i]
				raised := int32(2)
				if old.Leader == NoLeader {
					raised = 1
				}
				if p.Leader != 1 || p.LeaderEpoch != old.LeaderEpoch+raised {
					t.Errorf("%s: %s-%d is %+v, was %+v", name, topic.Name, i, p, old)
				}
			}
		}
		n.create("made.here", 1)
		n.stop()
		n.start()
		if _, ok := n.Image().Topic("made.here"); !ok || n.Image().acls.len() != before.acls.len() || n.Image().tokens.len() != before.tokens.len() {
			t.Errorf("%s: something is lost", name)
		}
		n.stop()
	}
}
