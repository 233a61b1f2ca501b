package minibroker

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/metadata"
)

// TestMetadataFailureEndsTheBroker: a broker whose metadata log cannot be written says so and is to be ended, as Kafka ends. What was
// answered before is there at the next start.
func TestMetadataFailureEndsTheBroker(t *testing.T) {
	var failing atomic.Bool
	mem := vfs.NewMem()
	fsys := vfs.NewFaulty(mem, func(op vfs.Op) error {
		if failing.Load() && op.Kind == vfs.OpSync && strings.Contains(op.Name, metadata.DirName) {
			return &fs.PathError{Op: "fsync", Path: op.Name, Err: syscall.EIO}
		}
		return nil
	})
	var said bytes.Buffer
	open := func() *Broker {
		t.Helper()
		b, err := Open(t.Context(), Options{Config: memConfig(t), FS: fsys, Logger: slog.New(slog.NewTextHandler(&said, nil))})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := open()
	if _, err := b.meta.CreateTopics([]metadata.NewTopic{{Name: "before", Partitions: 1}}); err != nil {
		t.Fatal(err)
	}
	failing.Store(true)
	if _, err := b.meta.CreateTopics([]metadata.NewTopic{{Name: "late", Partitions: 1}}); !errors.Is(err, syscall.EIO) {
		t.Fatalf("created: %v", err)
	}
	if err := <-b.Failed(); !errors.Is(err, syscall.EIO) {
		t.Errorf("failed with %v", err)
	}
	b.Abort()
	if want := "Encountered fatal fault: Unexpected error in raft IO thread"; !strings.Contains(said.String(), want) {
		t.Errorf("not said: %s\n%s", want, said.String())
	}
	failing.Store(false)
	b = open()
	if _, ok := b.meta.Image().Topic("before"); !ok {
		t.Error("a topic that was created is gone")
	}
	if err := b.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if found, err := logstore.Verify(mem, "/data"); err != nil || len(found) > 0 {
		t.Errorf("%v, %v", found, err)
	}
}
