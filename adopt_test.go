package minibroker

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
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

// TestLostPartitionDirectory: a partition whose directory is gone after a clean stop begins empty, as in Kafka 4.4.0, which
// says nothing of it; here a warning does.
func TestLostPartitionDirectory(t *testing.T) {
	mem, p := vfs.NewMem(), &promise{topics: map[string]topicPromise{}}
	lines := new(bytes.Buffer)
	start := func() *Broker {
		t.Helper()
		lines.Reset()
		b, err := Open(t.Context(), Options{Config: memConfig(t), FS: mem, Logger: slog.New(slog.NewTextHandler(lines, nil))})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := start()
	if err := p.script(t, b); err != nil {
		t.Fatal(err)
	}
	for _, lost := range []bool{false, true} {
		if err := b.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if lost {
			if err := mem.RemoveAll("/data/a-0"); err != nil {
				t.Fatal(err)
			}
		}
		b = start()
		part, err := b.partitions.Get(logstore.TopicPartition{Topic: "a"})
		if err != nil {
			t.Fatal(err)
		}
		if empty := part.EndOffset() == 0; empty != lost {
			t.Errorf("lost %v: the log ends at %d", lost, part.EndOffset())
		}
		if said := strings.Contains(lines.String(), "a-0 has no directory"); said != lost {
			t.Errorf("lost %v:\n%s", lost, lines)
		}
	}
	if err := p.append(t, b, "a", 1); err != nil {
		t.Error(err)
	}
	if err := b.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if found, err := logstore.Verify(mem, "/data"); err != nil || len(found) > 0 {
		t.Errorf("after the stop: %v, %v", found, err)
	}
}
