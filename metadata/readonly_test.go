package metadata

import (
	"errors"
	"slices"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// TestOpenReadOnly: nothing is written, changes are refused, and this node leads what it holds and nothing else.
func TestOpenReadOnly(t *testing.T) {
	mem := vfs.NewMem()
	n := newNode(t, mem, "/d/"+DirName).start()
	orders := n.create("orders", 3)
	n.create("elsewhere", 2)
	n.stop()
	o := n.options()
	o.FS = vfs.NewOverlay(vfs.NewReadOnly(mem)) // the file system below refuses every write
	s, err := OpenReadOnly(o)
	if err != nil {
		t.Fatal(err)
	}
	other := logstore.NewUUID()
	held := []Held{
		{Topic: "orders", ID: orders.ID, Partition: 2, LeaderEpoch: 9},
		{Topic: "orders", Partition: 0},
		{Topic: "elsewhere", ID: logstore.NewUUID(), Partition: 0}, // of an older topic of that name
		{Topic: "found", ID: other, Partition: 1, LeaderEpoch: 4},
	}
	if err := s.ShowHeld(held); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]int32{"orders": {1, -1, 1}, "elsewhere": {-1, -1}, "found": {-1, 1}} {
		topic, ok := s.Image().Topic(name)
		if !ok {
			t.Fatalf("topic %s is not shown", name)
		}
		var leaders []int32
		for _, p := range topic.Partitions {
			leaders = append(leaders, p.Leader)
		}
		if !slices.Equal(leaders, want) {
			t.Errorf("%s is led by %v, want %v", name, leaders, want)
		}
	}
	shown, _ := s.Image().Topic("orders")
	if epoch := shown.Partitions[2].LeaderEpoch; epoch != 9 {
		t.Errorf("leader epoch %d, the log has 9", epoch)
	}
	if found, _ := s.Image().TopicByID(other); found == nil || found.Partitions[1].LeaderEpoch != 4 {
		t.Errorf("found by its id: %+v", found)
	}
	if _, err := s.CreateTopics([]NewTopic{{Name: "new", Partitions: 1}}); !errors.Is(err, logstore.ErrReadOnly) {
		t.Errorf("CreateTopics: %v", err)
	}
	if _, _, err := s.AllocateProducerIDs(); !errors.Is(err, logstore.ErrReadOnly) {
		t.Errorf("AllocateProducerIDs: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := n.start().ShowHeld(nil); !errors.Is(err, ErrInvalidChange) {
		t.Errorf("ShowHeld of a store in use: %v", err)
	}
}

// TestOpenReadOnlyWithoutLog: without a metadata log the directories alone say what there is.
func TestOpenReadOnlyWithoutLog(t *testing.T) {
	mem := vfs.NewMem()
	o := newNode(t, mem, "/d/"+DirName).options()
	o.FS = vfs.NewOverlay(vfs.NewReadOnly(mem))
	if present, err := HasState(o.FS, o.Dir); present || err != nil {
		t.Errorf("HasState of nothing: %v, %v", present, err)
	}
	s, err := OpenReadOnly(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ShowHeld([]Held{{Topic: "a", Partition: mostShown + 1}}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("a partition number that costs gigabytes: %v", err)
	}
	if err := s.ShowHeld([]Held{{Topic: "a"}}); err != nil {
		t.Fatal(err)
	}
	if topic, ok := s.Image().Topic("a"); !ok || topic.ID.IsZero() || topic.Partitions[0].Leader != 1 {
		t.Errorf("shown: %+v", topic)
	}
}

// TestFormerCluster: a node that is left alone of a bigger cluster leads what it was in sync with; what it was not it
// leads where unclean.leader.election.enable says so, and is marked as recovering then.
func TestFormerCluster(t *testing.T) {
	for _, unclean := range []bool{false, true} {
		n := newNode(t, vfs.NewMem(), "/d/"+DirName).start()
		n.create("kept", 1)
		topic := NewTopic{Name: "behind", Assignments: [][]int32{{1, 2}, {1}}}
		if unclean {
			topic.Configs = map[string]string{uncleanKey: "true"}
		}
		created, err := n.CreateTopics([]NewTopic{topic})
		if err != nil {
			t.Fatal(err)
		}
		id := created[0].ID
		change := newPartitionChange(id, 0) // broker 2 went on alone
		change.ISR, change.Leader = []int32{2}, 2
		gone := newPartitionChange(id, 1) // moved away
		gone.Replicas, gone.ISR, gone.Leader = []int32{2}, []int32{2}, 2
		other := &RegisterBrokerRecord{BrokerID: 2, IncarnationID: logstore.NewUUID(), BrokerEpoch: 77, Features: supportedFeatures, LogDirs: []logstore.UUID{{15: 0xee}}}
		if err := n.Append([]Record{other, change, gone}); err != nil {
			t.Fatal(err)
		}
		n.kill()
		image := n.start().Image()
		behind, _ := image.Topic("behind")
		kept, _ := image.Topic("kept")
		if kept.Partitions[0].Leader != 1 {
			t.Errorf("kept is led by %d", kept.Partitions[0].Leader)
		}
		p, want := behind.Partitions[0], NoLeader
		if unclean {
			want = 1
		}
		if p.Leader != want || unclean && (p.RecoveryState != 1 || !slices.Equal(p.ISR, []int32{1})) {
			t.Errorf("unclean election %v: %+v", unclean, p)
		}
		if behind.Partitions[1].Leader != NoLeader {
			t.Errorf("a partition of others is led by %d", behind.Partitions[1].Leader)
		}
		if !unclean {
			n.allowUnclean(id)
		}
	}
}

// allowUnclean changes settings of a running node until a copy that was not in sync may lead, and checks that it does then,
// and not before.
func (n *node) allowUnclean(id logstore.UUID) {
	n.t.Helper()
	set := func(kind ResourceKind, name, value string, want int32) {
		n.t.Helper()
		if err := n.AlterConfigs([]ConfigChange{{Kind: kind, Name: name, Key: uncleanKey, Value: &value}}); err != nil {
			n.t.Fatal(err)
		}
		topic, _ := n.Image().TopicByID(id)
		if p := topic.Partitions[0]; p.Leader != want || want == 1 && p.RecoveryState != 1 {
			n.t.Errorf("after %s=%s of %d %q: %+v", uncleanKey, value, kind, name, p)
		}
		if p := topic.Partitions[1]; p.Leader != NoLeader {
			n.t.Errorf("a partition of others is led by %d", p.Leader)
		}
	}
	set(ResourceBroker, "1", "false", NoLeader)
	set(ResourceTopic, "kept", "true", NoLeader)
	set(ResourceBroker, "", "true", NoLeader) // the node says no
	set(ResourceTopic, "behind", "true", 1)
}
