package metadata

import (
	"errors"
	"fmt"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// TestUpgradeWritesWhatKafkaWrites raises the levels of an old cluster to the newest: the voters first, in a batch of control
// records, then the levels with a NoOp in the place of kraft.version. Measured on Apache Kafka 4.4.0.
func TestUpgradeWritesWhatKafkaWrites(t *testing.T) {
	mem := vfs.NewMem()
	f, err := NewFormat("3.9", nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(mem.MkdirAll("/d", 0o755), f.Write(mem, "/d")); err != nil {
		t.Fatal(err)
	}
	directory := logstore.UUID{15: 0xdd}
	n := newNode(t, mem, "/d/"+DirName)
	n.adjust = func(o *Options) { o.DirectoryID = directory }
	n.start()
	if level, kraft := n.Image().level(), n.Image().KRaftVersion(); level != 21 || kraft != 0 {
		t.Fatalf("metadata.version %d, kraft.version %d", level, kraft)
	}
	before := n.Image().LastOffset + 1
	levels := []FeatureLevelRecord{{Name: featureELR, Level: 1}, {Name: featureKRaftVersion, Level: 1}, {Name: featureMetadataVersion, Level: levelMax}}
	if err := n.UpdateFeatures(levels); err != nil {
		t.Fatal(err)
	}
	sameLines(t, n.dump(before), []string{"7 e1 KRaftVersion KRaftVoters", "9 e1 FeatureLevel NoOp FeatureLevel Config"})
	check := func(when string) {
		t.Helper()
		i := n.Image()
		if i.level() != levelMax || !i.elrEnabled() || i.KRaftVersion() != 1 || len(i.Voters()) != 1 || i.Voters()[0].DirectoryID != directory ||
			fmt.Sprint(i.Voters()[0].Endpoints) != "[{CONTROLLER 127.0.0.1 9093 []}]" {
			t.Errorf("%s: features %v, kraft.version %d, voters %+v", when, i.Features, i.KRaftVersion(), i.Voters())
		}
	}
	check("at once")
	end := n.Image().LastOffset
	if err := n.UpdateFeatures([]FeatureLevelRecord{{Name: featureKRaftVersion, Level: 1}}); err != nil {
		t.Fatal(err)
	}
	if got := n.Image().LastOffset; got != end+1 {
		t.Errorf("raised again to the same level: %d records, want a NoOp", got-end)
	}
	n.kill()
	n.start()
	check("after a kill")
	if err := n.snapshot(n.Image()); err != nil {
		t.Fatal(err)
	}
	n.stop()
	n.start()
	check("from a snapshot")
	if q, err := readQuorumState(mem, n.dir); err != nil || q.DataVersion != 1 {
		t.Errorf("quorum-state %+v, %v", q, err)
	}
}

// TestUpgradeNeedsADirectory: without an id of the directory nobody could say who the voter is.
func TestUpgradeNeedsADirectory(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "/d/"+DirName).start()
	if err := n.UpdateFeatures([]FeatureLevelRecord{{Name: featureKRaftVersion, Level: 1}}); !errors.Is(err, ErrInvalidChange) {
		t.Error(err)
	}
}
