package metadata

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/record"
)

// dumpLog describes a log from an offset on, one line for each batch: base
// offset, leader epoch, records.
func dumpLog(t testing.TB, l raftLog, from int64) []string {
	t.Helper()
	var lines []string
	err := l.replay(from, func(b record.Batch) error {
		line := fmt.Sprintf("%d e%d", b.BaseOffset(), b.LeaderEpoch())
		if err := decodeBatch(b, func(s stored) error {
			line += " " + describe(s)
			return nil
		}); err != nil {
			return err
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// reread describes the log of a stopped node.
func (n *node) reread(from int64) []string {
	n.t.Helper()
	return dumpDir(n.t, n.fs, n.dir, from)
}

func dumpDir(t testing.TB, fsys vfs.FS, dir string, from int64) []string {
	t.Helper()
	l, err := logstore.OpenLog(logstore.LogOptions{FS: fsys, Dir: dir, Config: logstore.DefaultConfig(), Clean: true, KeepIndexes: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return dumpLog(t, raftLog{l}, from)
}

func dumpGolden(t testing.TB, name string) []string {
	return dumpDir(t, vfs.OS(), unpackGolden(t, name), 0)
}

// describe shows what the tests look at in a record.
func describe(s stored) string {
	switch r := s.record.(type) {
	case nil:
		return strings.TrimPrefix(fmt.Sprintf("%T", s.control), "*metadata.")
	case *TopicRecord:
		return fmt.Sprintf("Topic(%s)", r.Name)
	case *PartitionRecord:
		return fmt.Sprintf("Partition(%d leader %d)", r.PartitionID, r.Leader)
	case *RegisterBrokerRecord:
		fenced := ""
		if r.Fenced {
			fenced = " fenced"
		}
		return fmt.Sprintf("RegisterBroker(epoch %d%s)", r.BrokerEpoch, fenced)
	case *BrokerRegistrationChangeRecord:
		text := fmt.Sprintf("RegistrationChange.%d(epoch %d", s.version, r.BrokerEpoch)
		if r.Fenced != 0 {
			text += fmt.Sprint(" fenced ", r.Fenced)
		}
		if r.InControlledShutdown != 0 {
			text += fmt.Sprint(" shutdown ", r.InControlledShutdown)
		}
		if r.CordonedLogDirs != nil {
			text += fmt.Sprint(" cordoned ", r.CordonedLogDirs)
		}
		return text + ")"
	case *PartitionChangeRecord:
		return describeChange(r)
	}
	return s.record.Key().String()
}

func describeChange(r *PartitionChangeRecord) string {
	text := fmt.Sprintf("Change(%d", r.PartitionID)
	if r.ISR != nil {
		text += fmt.Sprint(" isr ", r.ISR)
	}
	if r.Leader != NoLeaderChange {
		text += fmt.Sprint(" leader ", r.Leader)
	}
	if r.LeaderRecoveryState != noRecoveryChange {
		text += fmt.Sprint(" recovery ", r.LeaderRecoveryState)
	}
	if r.EligibleLeaderReplicas != nil {
		text += fmt.Sprint(" elr ", r.EligibleLeaderReplicas)
	}
	if r.LastKnownELR != nil {
		text += fmt.Sprint(" last ", r.LastKnownELR)
	}
	if r.Directories != nil {
		text += fmt.Sprint(" directories ", r.Directories)
	}
	return text + ")"
}

func sameLines(t testing.TB, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
