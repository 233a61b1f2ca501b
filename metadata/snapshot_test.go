package metadata

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

func stateLines(i *Image) []string {
	var lines []string
	for _, r := range i.stateRecords() {
		lines = append(lines, fmt.Sprintf("%s %x", r.Key(), AppendRecord(nil, r, writtenVersion(r, levelMax))))
	}
	return lines
}

// TestSnapshotsAreReadInsteadOfTheLog takes the log away: the newest snapshot
// alone makes the same state, and the log goes on at its end.
func TestSnapshotsAreReadInsteadOfTheLog(t *testing.T) {
	for _, name := range []string{"05-admin-ops", "08-standalone-mixed-group", "09a-two-log-dirs", "10-delegation-tokens"} {
		n := newNode(t, vfs.OS(), unpackGolden(t, name)).start()
		n.create("x", 3, "retention.ms", "5")
		image := n.Image()
		if err := n.snapshot(image); err != nil {
			t.Fatal(err)
		}
		n.kill()
		if err := resetLog(n.fs, n.dir, 0); err != nil {
			t.Fatal(err)
		}
		s := &Store{o: n.options().withDefaults()}
		if err := s.load(); err != nil {
			t.Fatal(err)
		}
		sameLines(t, stateLines(s.next), stateLines(image))
		if s.log.EndOffset() != image.LastOffset+1 || s.log.StartOffset() != image.LastOffset+1 || s.next.lastEpoch != image.lastEpoch {
			t.Errorf("%s: log %d to %d, epoch %d", name, s.log.StartOffset(), s.log.EndOffset(), s.next.lastEpoch)
		}
		if err := s.log.Close(); err != nil {
			t.Fatal(err)
		}
		n.start()
		if got := n.dump(image.LastOffset + 1)[0]; got != fmt.Sprintf("%d e%d LeaderChange", image.LastOffset+1, image.lastEpoch+1) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestADamagedSnapshotIsPassedOver falls back to the one before and the log.
func TestADamagedSnapshotIsPassedOver(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "/d/"+DirName).start()
	n.create("a", 1)
	if err := n.snapshot(n.Image()); err != nil {
		t.Fatal(err)
	}
	n.create("b", 1)
	if err := n.snapshot(n.Image()); err != nil {
		t.Fatal(err)
	}
	n.stop()
	ids, err := listSnapshots(n.fs, n.dir)
	if err != nil || len(ids) != 3 {
		t.Fatal(ids, err)
	}
	newest := filepath.Join(n.dir, ids[2].fileName())
	whole, err := vfs.ReadFile(n.fs, newest)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[200] ^= 1
	for what, data := range map[string][]byte{"no footer": whole[:len(whole)-75], "flipped": flipped, "empty": {}, "cut": whole[:100]} {
		if err := vfs.WriteFileAtomic(n.fs, newest, data, 0o400); err != nil {
			t.Fatal(err)
		}
		var corrupt *logstore.CorruptError
		if err := readSnapshot(n.fs, newest, func(stored) error { return nil }); !errors.As(err, &corrupt) || corrupt.File != newest {
			t.Errorf("%s: %v", what, err)
		}
		n.start()
		if len(n.Image().Topics()) != 2 {
			t.Errorf("%s: %d topics", what, len(n.Image().Topics()))
		}
		n.stop()
	}
}

// TestSnapshotsAndOldSegmentsGo makes a snapshot every few hundred bytes.
func TestSnapshotsAndOldSegmentsGo(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "/d/"+DirName)
	n.adjust = func(o *Options) { o.SnapshotBytes, o.RetentionBytes, o.SegmentBytes = 2000, 30_000, 8000 }
	n.start()
	for k := range 120 {
		n.create(fmt.Sprintf("t%02d", k), 1)
		n.snapshots.working.Wait()
	}
	if n.log.StartOffset() == 0 {
		t.Error("the log start did not move")
	}
	n.stop()
	ids, err := listSnapshots(n.fs, n.dir)
	if err != nil || len(ids) == 0 || ids[0].End == 0 {
		t.Fatal(ids, err)
	}
	if start := n.log.StartOffset(); start != ids[0].End {
		t.Errorf("log starts at %d, snapshots are %v", start, ids)
	}
	n.start()
	if got := len(n.Image().Topics()); got != 120 {
		t.Errorf("%d topics", got)
	}
	n.stop()
	for _, e := range must(n.fs.ReadDir(n.dir)) {
		if strings.HasSuffix(e.Name(), partSuffix) {
			t.Errorf("left over: %s", e.Name())
		}
	}
}

func TestASnapshotThatCannotBeWrittenLeavesNothing(t *testing.T) {
	full := errors.New("disk is full")
	inner := vfs.NewMem()
	fail := false
	n := newNode(t, vfs.NewFaulty(inner, func(op vfs.Op) error {
		if fail && op.Kind == vfs.OpRename {
			return full
		}
		return nil
	}), "/d/"+DirName).start()
	fail = true
	if err := n.snapshot(n.Image()); !errors.Is(err, full) {
		t.Fatal(err)
	}
	names := must(inner.ReadDir(n.dir))
	if slices.ContainsFunc(names, func(e fs.DirEntry) bool { return strings.Contains(e.Name(), partSuffix) }) {
		t.Errorf("left over: %v", names)
	}
}

// TestOldLevelsWriteOldRecords takes a cluster of metadata.version 7, without
// eligible leader replicas, through a clean stop and a crash.
func TestOldLevelsWriteOldRecords(t *testing.T) {
	fsys := vfs.NewMem()
	dir := "/d/" + DirName
	if err := fsys.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	data, err := encodeSnapshot(SnapshotID{}, nil, []Record{&FeatureLevelRecord{Name: featureMetadataVersion, Level: 7}}, 7, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeSnapshot(fsys, dir, SnapshotID{}, data); err != nil {
		t.Fatal(err)
	}
	n := newNode(t, fsys, dir).start()
	sameLines(t, n.dump(0), []string{
		"0 e1 LeaderChange", "1 e1 FeatureLevel", "2 e1 RegisterBroker(epoch 2 fenced)", "3 e1 RegistrationChange.0(epoch 2 fenced -1)",
	})
	n.create("t", 1)
	n.stop()
	sameLines(t, n.reread(6), []string{"6 e1 RegistrationChange.1(epoch 2 shutdown 1) Change(0 leader -1)", "8 e1 RegistrationChange.0(epoch 2 fenced 1)"})
	n.start()
	sameLines(t, n.dump(9), []string{
		"9 e2 LeaderChange", "10 e2 RegisterBroker(epoch 10 fenced)", "11 e2 RegistrationChange.0(epoch 10 fenced -1) Change(0 leader 1)",
	})
	n.kill()
	n.start()
	sameLines(t, n.dump(13), []string{
		"13 e3 LeaderChange", "14 e3 Change(0 leader -1) RegistrationChange.0(epoch 10 fenced 1)", "16 e3 RegisterBroker(epoch 16 fenced)",
		"17 e3 RegistrationChange.0(epoch 16 fenced -1) Change(0 leader 1)",
	})
	if i := n.Image(); i.brokers[1].LogDirs != nil {
		t.Errorf("%+v", i.brokers[1])
	}
}

// TestPartitionsOfOtherBrokers: a former cluster's other brokers are fenced,
// and what only they have stays without a leader.
func TestPartitionsOfOtherBrokers(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "/d/"+DirName).start()
	other := &RegisterBrokerRecord{BrokerID: 2, IncarnationID: logstore.UUID{2}, BrokerEpoch: 14}
	if err := n.Append([]Record{other}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.CreateTopics([]NewTopic{{Name: "both", Assignments: [][]int32{{2, 1}, {2}, {1, 2}}}}); err != nil {
		t.Fatal(err)
	}
	n.kill()
	n.start()
	both, _ := n.Image().Topic("both")
	got := ""
	for _, p := range both.Partitions {
		got += fmt.Sprintf("%d/%d isr %v elr %v last %v; ", p.Leader, p.LeaderEpoch, p.ISR, p.ELR, p.LastKnownELR)
	}
	// The node itself is fenced first, then the other one.
	if got != "-1/1 isr [] elr [2] last [2]; -1/1 isr [] elr [2] last [2]; -1/2 isr [] elr [2] last [2]; " {
		t.Error(got)
	}
	if !n.Image().Brokers()[2].Fenced {
		t.Error("the other broker is not fenced")
	}
}

func TestLogDirsAreAssigned(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "/d/"+DirName)
	a, b := logstore.UUID{15: 0xaa}, logstore.UUID{15: 0xbb}
	n.adjust = func(o *Options) { o.DirectoryIDs = []logstore.UUID{a, b} }
	n.start()
	topic := n.create("t", 2)
	if dirs := topic.Partitions[0].Directories; !slices.Equal(dirs, []logstore.UUID{{15: 1}}) {
		t.Errorf("directories %v", dirs)
	}
	end := n.log.EndOffset()
	if err := n.AssignDirectories([]DirectoryAssignment{{topic.ID, 0, a}, {topic.ID, 1, b}, {topic.ID, 9, b}, {logstore.UUID{9}, 0, b}}); err != nil {
		t.Fatal(err)
	}
	if err := n.AssignDirectories([]DirectoryAssignment{{topic.ID, 0, a}}); err != nil {
		t.Fatal(err)
	}
	if n.log.EndOffset() != end+2 {
		t.Errorf("%v", n.dump(end))
	}
	n.stop()
	n.start()
	now, _ := n.Image().Topic("t")
	if p := now.Partitions[1]; !slices.Equal(p.Directories, []logstore.UUID{b}) || p.Leader != 1 {
		t.Errorf("%+v", p)
	}
}
