package integration

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestTopicMadeAgain deletes a topic and creates one of its name at once: nothing of the old one lives on, neither records nor
// committed offsets nor producers' sequences; its files go, also when the broker is killed right after.
func TestTopicMadeAgain(t *testing.T) {
	data, addr := t.TempDir(), freeAddr(t)
	p := startProcess(t, data, addr, []string{"log.segment.delete.delay.ms=600000"})
	cl := newClient(t, addr, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	var ids [][16]byte
	for round := range 3 {
		if code, message := newTopic(t, cl, "again", 1); code != 0 {
			t.Fatalf("round %d: create: error %d, %s", round, code, message)
		}
		id := topicID(t, cl, "again")
		if slices.Contains(ids, id) {
			t.Errorf("round %d: the id of an older topic", round)
		}
		ids = append(ids, id)
		if end := endOffsets(t, cl, topicsOf(t, cl))["again"][0]; end != 0 {
			t.Errorf("round %d: the new topic ends at %d", round, end)
		}
		if left := committed(t, cl, "billing"); len(left) > 0 {
			t.Errorf("round %d: committed offsets of the old topic: %q", round, left)
		}
		// The same idempotent producer goes on, in the second round in the middle of its sequence.
		cl.PurgeTopicsFromClient("again")
		for n := range 3 {
			r, err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "again", Value: []byte("record")}).First()
			if err != nil || r.Offset != int64(n) {
				t.Fatalf("round %d: record %d at offset %d, %v", round, n, r.Offset, err)
			}
		}
		commit(t, cl, "billing", "again", 2)
		deleteTopic(t, cl, "again")
	}
	gone := func() int {
		found, err := filepath.Glob(filepath.Join(data, "again-0.*-delete"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	if n := gone(); n != 3 {
		t.Errorf("%d directories wait for their removal, want 3", n)
	}
	p.Kill()
	p = startProcess(t, data, addr, []string{"log.segment.delete.delay.ms=0", "log.initial.task.delay.ms=0"})
	if !await(patience, func() bool { return gone() == 0 }) {
		t.Errorf("%d directories of deleted topics are left after a restart", gone())
	}
	entries, err := os.ReadDir(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "again") {
			t.Errorf("left: %s", e.Name())
		}
	}
	p.Stop(t)
}
