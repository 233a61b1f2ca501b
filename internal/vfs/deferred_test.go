package vfs

import (
	"os"
	"slices"
	"testing"
)

// TestDeferred writes files in the usual way and expects each file and directory to be synced once, by Flush, under the
// name it has then.
func TestDeferred(t *testing.T) {
	var synced []string
	mem := NewMem()
	if err := mem.MkdirAll("/data", 0o755); err != nil {
		t.Fatal(err)
	}
	d := NewDeferred(NewFaulty(mem, func(op Op) error {
		if op.Kind == OpSync || op.Kind == OpSyncDir {
			synced = append(synced, op.Name)
		}
		return nil
	}))
	for range 2 {
		if err := WriteFileAtomic(d, "/data/a", []byte("one"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	log, err := d.OpenFile("/data/log", os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := log.Sync(); err != nil {
		t.Fatal(err)
	}
	if len(synced) != 0 {
		t.Errorf("synced before Flush: %q", synced)
	}
	if err := d.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := []string{"/data/a", "/data/log", "/data"}; !slices.Equal(synced, want) {
		t.Errorf("Flush synced %q, expected %q", synced, want)
	}
	if err := log.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := d.SyncDir("/data"); err != nil {
		t.Fatal(err)
	}
	if want := []string{"/data/log", "/data"}; !slices.Equal(synced[3:], want) {
		t.Errorf("after Flush synced %q, expected %q", synced[3:], want)
	}
	left, err := ReadFile(mem.CrashClone(KeepSynced), "/data/a")
	if err == nil && string(left) != "one" {
		t.Errorf("after a power loss the file holds %q", left)
	}
}
