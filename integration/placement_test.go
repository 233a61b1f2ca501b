package integration

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/metadata"
)

// TestPlacement: new partitions go where the fewest are, and the metadata log names the log dir of each, which is how
// Kafka finds them after a hand-over.
func TestPlacement(t *testing.T) {
	root, addr := t.TempDir(), freeAddr(t)
	dirs := []string{filepath.Join(root, "a"), filepath.Join(root, "b"), filepath.Join(root, "c")}
	data := dirs[0] + "," + dirs[1] + "," + dirs[2]
	p := startProcess(t, data, addr, nil)
	cl := newClient(t, addr)
	for _, name := range []string{"one", "two"} {
		if code, message := newTopic(t, cl, name, 6); code != 0 {
			t.Fatalf("create %s: error %d, %s", name, code, message)
		}
	}
	p.StopDirs(t, dirs)
	fsys := vfs.NewOverlay(vfs.NewReadOnly(vfs.OS()))
	where := map[logstore.UUID]string{}
	var cluster string
	for _, dir := range dirs {
		meta, err := logstore.ReadMetaProperties(fsys, dir)
		if err != nil {
			t.Fatal(err)
		}
		where[meta.DirectoryID], cluster = dir, meta.ClusterID
	}
	store, err := metadata.OpenReadOnly(metadata.Options{FS: fsys, Dir: filepath.Join(dirs[0], metadata.DirName), NodeID: 1, ClusterID: cluster})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, topic := range store.Image().Topics() {
		for _, p := range topic.Partitions {
			dir := where[p.Directories[0]]
			count[dir]++
			if _, err := os.Stat(filepath.Join(dir, topic.Name+"-"+strconv.Itoa(int(p.ID)))); dir == "" || err != nil {
				t.Errorf("%s-%d is not in the directory that the metadata names, %q: %v", topic.Name, p.ID, dir, err)
			}
		}
	}
	for _, dir := range dirs {
		if count[dir] != 4 {
			t.Errorf("%d of 12 partitions in %s, want 4", count[dir], dir)
		}
	}
}
