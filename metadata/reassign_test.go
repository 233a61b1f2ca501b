package metadata

import (
	"errors"
	"slices"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// partitionOf is a partition as a record of a cluster of three brokers would make it.
func partitionOf(replicas, isr []int32) *Partition {
	return &Partition{Leader: isr[0], Replicas: replicas, ISR: isr, Adding: []int32{}, Removing: []int32{},
		Directories: make([]logstore.UUID, len(replicas))}
}

func TestReassignmentRecords(t *testing.T) {
	one := logstore.UUID{1}
	for _, c := range []struct {
		name                     string
		replicas, isr, target    []int32
		wantReplicas, wantISR    []int32
		wantAdding, wantRemoving []int32
	}{
		{name: "as it is", replicas: []int32{1}, isr: []int32{1}, target: []int32{1}},
		{name: "fewer, all in sync", replicas: []int32{1, 2, 3}, isr: []int32{1}, target: []int32{1}, wantReplicas: []int32{1}},
		{name: "fewer, of those in sync", replicas: []int32{1, 2}, isr: []int32{2, 1}, target: []int32{1}, wantReplicas: []int32{1}, wantISR: []int32{1}},
		{name: "more", replicas: []int32{1}, isr: []int32{1}, target: []int32{1, 2}, wantReplicas: []int32{1, 2}, wantAdding: []int32{2}},
		{name: "away", replicas: []int32{1}, isr: []int32{1}, target: []int32{2}, wantReplicas: []int32{2, 1}, wantAdding: []int32{2}, wantRemoving: []int32{1}},
		{name: "another order", replicas: []int32{1, 2}, isr: []int32{1}, target: []int32{2, 1}, wantReplicas: []int32{2, 1}},
	} {
		p := partitionOf(c.replicas, c.isr)
		r := p.reassign(one, c.target)
		if !slices.Equal(r.Replicas, c.wantReplicas) || !slices.Equal(r.ISR, c.wantISR) || !slices.Equal(r.AddingReplicas, c.wantAdding) ||
			!slices.Equal(r.RemovingReplicas, c.wantRemoving) || len(r.Directories) != len(r.Replicas) {
			t.Errorf("%s: %+v", c.name, r)
		}
		p.change(r)
		if len(p.Adding) == 0 {
			continue
		}
		if p.change(p.cancelReassignment(one)); !slices.Equal(p.Replicas, c.replicas) || len(p.Adding)+len(p.Removing) > 0 {
			t.Errorf("%s, cancelled: %+v", c.name, p)
		}
	}
}

func TestUncleanElectionAndLeavingBroker(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "/d/"+DirName).start()
	defer n.stop()
	topic := n.create("t", 1)
	// What a cluster of two left behind: broker 2 led last and is gone.
	gone := newPartitionChange(topic.ID, 0)
	gone.Replicas, gone.ISR, gone.Leader = []int32{1, 2}, []int32{2}, NoLeader
	gone.Directories = []logstore.UUID{topic.Partitions[0].Directories[0], {}}
	two := &RegisterBrokerRecord{BrokerID: 2, BrokerEpoch: 7, Fenced: true}
	if err := n.Store.Append([]Record{two, gone}); err != nil {
		t.Fatal(err)
	}
	if err := n.Store.UnregisterBroker(1); !errors.Is(err, ErrInvalidChange) {
		t.Errorf("unregister this node: %v", err)
	}
	if err := n.Store.UnregisterBroker(2); err != nil {
		t.Fatal(err)
	}
	image := n.Store.Image()
	now, _ := image.TopicByID(topic.ID)
	if _, there := image.Brokers()[2]; there || slices.Contains(now.Partitions[0].ISR, 2) {
		t.Errorf("after broker 2 left: %+v", now.Partitions[0])
	}
	if err := n.Store.ElectUnclean([]PartitionID{{topic.ID, 0}}); err != nil {
		t.Fatal(err)
	}
	now, _ = n.Store.Image().TopicByID(topic.ID)
	if p := now.Partitions[0]; p.Leader != 1 || !slices.Equal(p.ISR, []int32{1}) || p.RecoveryState != 1 {
		t.Errorf("after the election: %+v", p)
	}
	if err := n.Store.ElectUnclean([]PartitionID{{topic.ID, 9}}); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("elect for a partition that is not there: %v", err)
	}
}
