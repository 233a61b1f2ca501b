package integration

import (
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestOldReleases serves clusters that were formatted with the feature levels of older releases, kills and stops them, and
// lets Kafka decode every record of their metadata logs.
func TestOldReleases(t *testing.T) {
	kafkaLibs(t)
	var files []string
	for _, release := range []string{"3.3-IV3", "3.4", "3.6-IV0", "3.7-IV1", "3.9", "4.0", "4.2"} {
		root, addr := t.TempDir(), freeAddr(t)
		file := formatFor(t, root, addr, freeAddr(t), []string{"--release-version", release})
		data := filepath.Join(root, "data")
		p := startArgs(t, data, addr, []string{file})
		cl := newClient(t, addr)
		createTopic(t, addr, "old", 3, nil)
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "old", Value: []byte(release)}).FirstErr(); err != nil {
			t.Fatalf("%s: %v", release, err)
		}
		commit(t, cl, "billing", "old", 1)
		state := brokerState(t, addr, "billing")
		p.Kill()
		p = startArgs(t, data, addr, []string{file})
		compareStates(t, release+" after a kill", state, brokerState(t, addr, "billing"))
		p.Stop(t)
		p = startArgs(t, data, addr, []string{file})
		compareStates(t, release+" after a clean stop", state, brokerState(t, addr, "billing"))
		p.Stop(t)
		logs, err := filepath.Glob(filepath.Join(data, "__cluster_metadata-0", "*.log"))
		if err != nil || len(logs) != 1 {
			t.Fatalf("%v, %v", logs, err)
		}
		files = append(files, logs...)
	}
	checkMetadataDump(t, files)
}
