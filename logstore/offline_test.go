package logstore

import (
	"errors"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"minibroker/internal/vfs"
)

// twoDirs opens a store over two directories, the second of which fails while broken is set.
func twoDirs(mem vfs.FS, broken *atomic.Bool) (*Store, error) {
	faulty := vfs.NewFaulty(mem, func(op vfs.Op) error {
		if broken.Load() && strings.HasPrefix(op.Name, "/b") && op.Kind != vfs.OpClose && op.Kind != vfs.OpLock {
			return syscall.EIO
		}
		return nil
	})
	cfg := DefaultConfig()
	cfg.SegmentBytes, cfg.IndexBytes, cfg.RetentionMs = 1500, 1200, -1
	return Open(Options{FS: faulty, Dirs: []string{"/a", "/b"}, NodeID: 1, ClusterID: NewUUID().String(), Default: cfg})
}

// TestDirFailsAtWork: the logs of a directory that fails answer ErrStorage, those of the other go on; the stop is clean
// for the good one only, and nothing acknowledged is lost.
func TestDirFailsAtWork(t *testing.T) {
	mem, broken := vfs.NewMem(), new(atomic.Bool)
	s, err := twoDirs(mem, broken)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	var logs []*Log
	for i, d := range s.Dirs() {
		l, err := s.Create(TopicPartition{"t", int32(i)}, UUID{1}, d, s.o.Default)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
	}
	for i := range 60 {
		broken.Store(i >= 30)
		for n, l := range logs {
			_, err := l.Append(numbered(t, int(l.EndOffset()), 1), AppendOptions{})
			if failed := n == 1 && i >= 30; failed != errors.Is(err, ErrStorage) || !failed && err != nil {
				t.Fatalf("append %d to log %d: %v", i, n, err)
			}
		}
	}
	if _, err := logs[0].ApplyRetention(logs[0].EndOffset(), time.Now()); err != nil {
		t.Error(err)
	}
	if err := s.CheckpointRecoveryPoints(); !errors.Is(err, ErrStorage) {
		t.Errorf("checkpoint: %v", err)
	}
	if err := s.Close(CleanStop{}); err == nil {
		t.Error("the stop says nothing of the broken directory")
	}
	for dir, want := range map[string]bool{"/a": true, "/b": false} {
		if _, found, err := readCleanShutdown(mem, dir); err != nil || found != want {
			t.Errorf("marker in %s: %v, %v", dir, found, err)
		}
	}
	endsAfterFailure(t, mem)
}

func endsAfterFailure(t *testing.T, mem *vfs.Mem) {
	t.Helper()
	id, err := ReadMetaProperties(mem, "/a")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(Options{FS: mem, Dirs: []string{"/a", "/b"}, NodeID: 1, ClusterID: id.ClusterID})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, end := range []int64{60, 30} {
		if l := s.Log(TopicPartition{"t", int32(i)}); l.EndOffset() != end {
			t.Errorf("log %d ends at %d, %d were acknowledged", i, l.EndOffset(), end)
		}
	}
	if err := s.Close(CleanStop{}); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{"/a", "/b"} {
		if found, err := Verify(mem, dir); err != nil || len(found) > 0 {
			t.Errorf("%s: %v, %v", dir, found, err)
		}
	}
}

// TestDirFailsAtStart: a directory that cannot be read, or whose logs cannot, is left out; the last one is not.
func TestDirFailsAtStart(t *testing.T) {
	for _, when := range []string{"open", "load"} {
		mem, broken := vfs.NewMem(), new(atomic.Bool)
		s, err := twoDirs(mem, broken)
		if err != nil {
			t.Fatal(err)
		}
		for i, d := range s.Dirs() {
			if _, err := s.Create(TopicPartition{"t", int32(i)}, UUID{1}, d, s.o.Default); err != nil {
				t.Fatal(err)
			}
		}
		cluster := s.ClusterID()
		if err := s.Abort(); err != nil {
			t.Fatal(err)
		}
		only := path.Join("/b", "t-1")
		faulty := vfs.NewFaulty(mem, func(op vfs.Op) error {
			if strings.HasPrefix(op.Name, "/b") && (when == "open" || strings.HasPrefix(op.Name, only)) && op.Kind != vfs.OpClose {
				return syscall.EIO
			}
			return nil
		})
		s, err = Open(Options{FS: faulty, Dirs: []string{"/a", "/b"}, NodeID: 1, ClusterID: cluster})
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if err := s.Load(t.Context()); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if !slices.Equal(s.OfflineDirs(), []string{"/b"}) || len(s.Dirs()) != 1 || s.Log(TopicPartition{"t", 0}) == nil || s.Log(TopicPartition{"t", 1}) != nil {
			t.Errorf("%s: offline %v, logs %v", when, s.OfflineDirs(), s.Logs())
		}
		if err := s.Close(CleanStop{}); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		s, err = Open(Options{FS: faulty, Dirs: []string{"/b"}, NodeID: 1, ClusterID: cluster})
		if err == nil {
			if err = s.Load(t.Context()); err == nil {
				t.Errorf("%s: started on nothing but a broken directory", when)
			}
			_ = s.Abort()
		}
	}
}

// TestTakeOffline: an error of the device in use is told once for the directory it is in, a full disk is not; the directory
// taken offline is left as it is, and the rest of the store goes on.
func TestTakeOffline(t *testing.T) {
	mem := vfs.NewMem()
	var failure atomic.Pointer[error]
	faulty := vfs.NewFaulty(mem, func(op vfs.Op) error {
		if err := failure.Load(); err != nil && strings.HasPrefix(op.Name, "/b/") && op.Kind == vfs.OpWrite {
			return *err
		}
		return nil
	})
	var suspected []*Dir
	var cause error
	s, err := Open(Options{FS: faulty, Dirs: []string{"/a", "/b"}, NodeID: 1, ClusterID: NewUUID().String(),
		OnSuspect: func(d *Dir, err error) { suspected, cause = append(suspected, d), err }})
	if err != nil {
		t.Fatal(err)
	}
	must(t, s.Load(t.Context()))
	dirs := s.Dirs()
	var logs []*Log
	for i, d := range dirs {
		l, err := s.Create(TopicPartition{"t", int32(i)}, UUID{1}, d, DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		mustAppend(t, l, numbered(t, 0, 1), AppendOptions{})
		logs = append(logs, l)
	}
	for _, c := range []struct {
		err  error
		told bool
	}{{syscall.ENOSPC, false}, {syscall.EMFILE, false}, {syscall.EIO, true}} {
		failure.Store(&c.err)
		if _, err := logs[1].Append(numbered(t, 1, 1), AppendOptions{}); !errors.Is(err, ErrStorage) {
			t.Fatalf("%v: %v", c.err, err)
		}
		if told := len(suspected) > 0; told != c.told {
			t.Errorf("%v: suspected %v", c.err, suspected)
		}
	}
	if suspected[0] != dirs[1] || !dirs[1].Failed(cause) || dirs[0].Failed(syscall.EACCES) {
		t.Errorf("suspected %v for %v", suspected, cause)
	}
	if gone := s.TakeOffline(dirs[1]); !slices.Equal(gone, []TopicPartition{{"t", 1}}) || s.TakeOffline(dirs[1]) != nil {
		t.Errorf("gone %v", gone)
	}
	if s.Log(TopicPartition{"t", 1}) != nil || !slices.Equal(s.OfflineDirs(), []string{"/b"}) || !slices.Equal(s.Dirs(), dirs[:1]) {
		t.Errorf("offline %v, dirs %v", s.OfflineDirs(), s.Dirs())
	}
	if _, err := s.Create(TopicPartition{"t", 2}, UUID{1}, dirs[1], DefaultConfig()); !errors.Is(err, ErrStorage) {
		t.Errorf("create in a directory that is offline: %v", err)
	}
	if l, err := s.Create(TopicPartition{"t", 3}, UUID{1}, nil, DefaultConfig()); err != nil || !strings.HasPrefix(l.Dir(), "/a/") {
		t.Errorf("create: %v", err)
	}
	mustAppend(t, logs[0], numbered(t, 1, 1), AppendOptions{})
	must(t, s.CheckpointRecoveryPoints(), s.Close(CleanStop{}))
	if _, err := mem.Stat("/b/" + cleanShutdownName); err == nil {
		t.Error("the directory that is offline counts as cleanly stopped")
	}
	failure.Store(nil)
	if s, err = Open(Options{FS: mem, Dirs: []string{"/a", "/b"}, NodeID: 1}); err != nil {
		t.Fatal(err)
	}
	must(t, s.Load(t.Context()))
	if l := s.Log(TopicPartition{"t", 1}); l == nil || l.EndOffset() != 1 {
		t.Errorf("after the directory came back: %v", l)
	}
	must(t, s.Close(CleanStop{}))
}
