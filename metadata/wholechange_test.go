package metadata

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
)

// described lists what clients see of an image, without epochs, which every start raises.
func described(i *Image) string {
	var lines []string
	for _, t := range i.Topics() {
		lines = append(lines, fmt.Sprintf("topic %s %s, %d partitions", t.Name, t.ID, len(t.Partitions)))
		for n := range t.Partitions {
			lines = append(lines, fmt.Sprintf("partition %d %v %v", n, t.Partitions[n].Replicas, t.Partitions[n].Directories))
		}
	}
	for r, settings := range i.Configs() {
		for _, key := range slices.Sorted(maps.Keys(settings)) {
			lines = append(lines, fmt.Sprintf("setting %d %q %s=%s", r.Kind, r.Name, key, settings[key]))
		}
	}
	for key, q := range i.quotas.all() {
		lines = append(lines, fmt.Sprintf("quota %q %v", key, q.Limits))
	}
	for user := range i.ScramCredentials() {
		lines = append(lines, fmt.Sprintf("user %v", user))
	}
	for _, name := range slices.Sorted(maps.Keys(i.Features)) {
		lines = append(lines, fmt.Sprintf("feature %s %d", name, i.Features[name]))
	}
	lines = append(lines, fmt.Sprintf("next producer id %d", i.NextProducerID))
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// wholeChanges are changes of every kind, each of several records where it can have them.
func wholeChanges(n *node) []func() error {
	value := func(s string) *string { return &s }
	limit := func(name string, v float64) Record {
		return &ClientQuotaRecord{Entity: []QuotaEntity{{Type: "user", Name: value("u")}}, Name: name, Value: v}
	}
	idOf := func(name string) logstore.UUID {
		t, _ := n.Image().Topic(name)
		return t.ID
	}
	return []func() error{
		func() error {
			_, err := n.CreateTopics([]NewTopic{{Name: "a", Partitions: 3, Configs: map[string]string{"retention.ms": "1", "segment.ms": "2"}}, {Name: "b", Partitions: 2}})
			return err
		},
		func() error { return n.CreatePartitions("a", 7) },
		func() error {
			return n.AlterConfigs([]ConfigChange{{ResourceTopic, "a", "retention.ms", nil}, {ResourceTopic, "a", "retention.bytes", value("7")},
				{ResourceTopic, "b", minISRKey, value("2")}, {ResourceBroker, "", "log.cleaner.threads", value("2")}})
		},
		func() error {
			return n.Append([]Record{limit("producer_byte_rate", 1), limit("consumer_byte_rate", 2)})
		},
		func() error { _, _, err := n.AllocateProducerIDs(); return err },
		func() error {
			return n.Append([]Record{&UserScramCredentialRecord{Name: "u", Mechanism: ScramSHA256}, &UserScramCredentialRecord{Name: "v", Mechanism: ScramSHA512}})
		},
		func() error {
			return n.Append([]Record{&FeatureLevelRecord{Name: "group.version", Level: 0}, &FeatureLevelRecord{Name: "streams.version", Level: 0}})
		},
		func() error { return n.DeleteTopics([]logstore.UUID{idOf("a"), idOf("b")}) },
		func() error { _, err := n.CreateTopics([]NewTopic{{Name: "a", Partitions: 1}}); return err },
	}
}

// TestChangesAreWholeOrAbsent ends the machine, or the process, before each file operation of changes of every kind, with
// snapshots in between that cut the log: the next start shows the state before the change or after it, and what was answered
// is there.
func TestChangesAreWholeOrAbsent(t *testing.T) {
	mem := vfs.NewMem()
	if err := errors.Join(mem.MkdirAll("/d", 0o755), mem.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	n := newNode(t, mem, "/d/"+DirName)
	n.adjust = func(o *Options) { o.SegmentBytes, o.RetentionBytes = 1<<10, 1 }
	n.start()
	states := []string{described(n.Image())}
	type crash struct {
		op   string
		left *vfs.Mem
		done int // changes answered
	}
	var crashes []crash
	var mu sync.Mutex // a roll flushes in the background
	mem.SetHook(func(op vfs.Op) error {
		mu.Lock()
		defer mu.Unlock()
		for _, model := range []vfs.CrashModel{vfs.KeepSynced, vfs.KeepAll} {
			crashes = append(crashes, crash{fmt.Sprint(op, " ", model), mem.CrashClone(model), len(states) - 1})
		}
		return nil
	})
	for k, change := range wholeChanges(n) {
		if err := change(); err != nil {
			t.Fatalf("change %d: %v", k, err)
		}
		now := described(n.Image())
		if now == states[len(states)-1] {
			t.Fatalf("change %d changed nothing that is described", k)
		}
		mu.Lock()
		states = append(states, now)
		mu.Unlock()
		if k%2 == 1 {
			if err := n.snapshot(n.Image()); err != nil {
				t.Fatal(err)
			}
		}
	}
	n.stop()
	mem.SetHook(nil)
	before, after := 0, 0
	for _, c := range crashes {
		s, err := Open(newNode(t, c.left, "/d/"+DirName).options())
		if err != nil {
			t.Errorf("crash before %s: %v", c.op, err)
			continue
		}
		switch got := described(s.Image()); {
		case got == states[c.done]:
			before++
		case c.done+1 < len(states) && got == states[c.done+1]:
			after++
		default:
			t.Errorf("crash before %s: after %d changes there is\n%s\nbefore it was\n%s", c.op, c.done, got, states[c.done])
		}
		if err := s.Close(); err != nil {
			t.Errorf("crash before %s: close: %v", c.op, err)
		}
	}
	if before < 50 || after == 0 {
		t.Errorf("%d crashes with the change absent, %d with it whole", before, after)
	}
	t.Logf("%d changes, %d crash states: %d without the change under way, %d with it", len(states)-1, len(crashes), before, after)
}
