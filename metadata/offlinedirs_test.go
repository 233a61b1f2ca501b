package metadata

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// TestDirectoryOffline: the records are those that Apache Kafka 4.4.0 wrote when the second of two log dirs was lost, and
// the partitions there get their leader back with the directory, not before.
func TestDirectoryOffline(t *testing.T) {
	dirs := []logstore.UUID{{0: 0xaa}, {0: 0xbb}}
	n := newNode(t, vfs.NewMem(), "/d/"+DirName)
	n.adjust = func(o *Options) { o.DirectoryIDs = dirs }
	n.start()
	topic := n.create("t", 3)
	var assigned []DirectoryAssignment
	for i := range int32(3) {
		assigned = append(assigned, DirectoryAssignment{TopicID: topic.ID, Partition: i, Directory: dirs[i%2]})
	}
	if err := n.AssignDirectories(assigned); err != nil {
		t.Fatal(err)
	}
	from := n.Image().LastOffset + 1
	for range 2 { // the second time there is nothing to do
		if err := n.DirectoryOffline(dirs[1]); err != nil {
			t.Fatal(err)
		}
	}
	var records []Record
	lost := newPartitionChange(topic.ID, 1)
	lost.ISR, lost.Leader, lost.EligibleLeaderReplicas, lost.LastKnownELR = []int32{}, NoLeader, []int32{1}, []int32{1}
	records = append(records, lost, &BrokerRegistrationChangeRecord{BrokerID: 1, BrokerEpoch: n.BrokerEpoch(), LogDirs: dirs[:1]})
	var want []string
	for _, r := range records {
		want = append(want, fmt.Sprintf("%s %x", r.Key(), AppendRecord(nil, r, 2)))
	}
	if have := batchLines(t, n.log, from, n.Image().LastOffset+1); len(have) != 1 ||
		have[0] != fmt.Sprintf("%d e%d attributes 0 %v", from, n.epoch, slices.Sorted(slices.Values(want))) {
		t.Errorf("records %v, want %v", have, want)
	}
	offline := func() (numbers []int32) {
		now, _ := n.Image().Topic("t")
		for i := range now.Partitions {
			p := &now.Partitions[i]
			if n.Image().InOfflineDirectory(p) != (p.Leader == NoLeader) {
				t.Errorf("partition %+v", p)
			}
			if p.Leader == NoLeader {
				numbers = append(numbers, p.ID)
			}
		}
		return numbers
	}
	if got := offline(); !slices.Equal(got, []int32{1}) {
		t.Errorf("without a leader: %v", got)
	}
	yes := "true"
	if err := errors.Join(n.ElectUnclean([]PartitionID{{topic.ID, 1}}), n.AlterConfigs([]ConfigChange{{ResourceTopic, "t", uncleanKey, &yes}})); err != nil {
		t.Fatal(err)
	}
	if got := offline(); !slices.Equal(got, []int32{1}) {
		t.Errorf("without a leader after elections: %v", got)
	}
	n.stop()
	n.adjust = func(o *Options) { o.DirectoryIDs, o.DirectoriesFailed = dirs[:1], true }
	if n.start(); !slices.Equal(offline(), []int32{1}) {
		t.Errorf("without a leader after a restart: %v", offline())
	}
	n.stop()
	n.adjust = func(o *Options) { o.DirectoryIDs = dirs }
	if n.start(); len(offline()) > 0 {
		t.Errorf("without a leader after the directory came back: %v", offline())
	}
	n.stop()
}
