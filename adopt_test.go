package minibroker

import (
	"context"
	"testing"

	"minibroker/internal/vfs"
)

// TestPartitionMetadataWrittenAgain: a partition whose partition.metadata is gone, or cannot be understood, is still the
// topic's as long as the metadata log knows it. Kafka 4.4.0 puts its records aside.
func TestPartitionMetadataWrittenAgain(t *testing.T) {
	for name, damage := range map[string]func(*vfs.Mem, string) error{
		"missing":   func(mem *vfs.Mem, path string) error { return mem.Remove(path) },
		"malformed": func(mem *vfs.Mem, path string) error { return vfs.WriteFileAtomic(mem, path, []byte("hello"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			mem, p := vfs.NewMem(), &promise{topics: map[string]topicPromise{}}
			b, err := Open(t.Context(), Options{Config: memConfig(t), FS: mem})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.script(t, b); err != nil {
				t.Fatal(err)
			}
			if err := b.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			const path = "/data/a-0/partition.metadata"
			before, err := vfs.ReadFile(mem, path)
			if err != nil {
				t.Fatal(err)
			}
			if err := damage(mem, path); err != nil {
				t.Fatal(err)
			}
			if err := restart(t, mem, p.now(), false); err != nil {
				t.Fatal(err)
			}
			if after, err := vfs.ReadFile(mem, path); err != nil || string(after) != string(before) {
				t.Errorf("partition.metadata is %q, was %q (%v)", after, before, err)
			}
		})
	}
}
