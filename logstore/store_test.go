package logstore

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"minibroker/internal/vfs"
)

func openStore(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Abort(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStoreRefusesForeignDirectories(t *testing.T) {
	mem := vfs.NewMem()
	s := openStore(t, Options{FS: mem, Dirs: []string{"/a"}, NodeID: 1, ClusterID: "one"})
	if _, err := Open(Options{FS: mem, Dirs: []string{"/a"}, NodeID: 1}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "/a") {
		t.Errorf("locked: %v", err)
	}
	if err := s.Close(CleanStop{BrokerEpoch: 17}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(CleanStop{}); err != nil {
		t.Errorf("second close: %v", err)
	}
	for _, o := range []Options{
		{NodeID: 2, Dirs: []string{"/a"}},
		{NodeID: 1, Dirs: []string{"/a"}, ClusterID: "two"},
		{NodeID: 1},
	} {
		o.FS = mem
		if s, err := Open(o); err == nil {
			t.Errorf("%+v: opened", o)
			_ = s.Abort()
		} else {
			t.Log(err)
		}
	}
	again := openStore(t, Options{FS: mem, Dirs: []string{"/a", "/b"}, NodeID: 1})
	if again.ClusterID() != "one" {
		t.Errorf("cluster %q", again.ClusterID())
	}
	dirs := again.Dirs()
	if dirs[0].BrokerEpoch != -1 && !dirs[0].Clean {
		t.Errorf("first directory: %+v", dirs[0])
	}
	if dirs[1].Clean || dirs[1].DirectoryID.IsZero() || dirs[1].DirectoryID == dirs[0].DirectoryID {
		t.Errorf("second directory: %+v", dirs[1])
	}
}

// TestFailedOpenKeepsTheMarker: a start that is refused for another node must
// not turn the stop into an unclean one.
func TestFailedOpenKeepsTheMarker(t *testing.T) {
	mem := vfs.NewMem()
	s := openStore(t, Options{FS: mem, Dirs: []string{"/a"}, NodeID: 1})
	if err := s.Close(CleanStop{BrokerEpoch: 17}); err != nil {
		t.Fatal(err)
	}
	other := openStore(t, Options{FS: mem, Dirs: []string{"/b"}, NodeID: 2})
	if err := other.Close(CleanStop{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{FS: mem, Dirs: []string{"/a", "/b"}, NodeID: 1}); err == nil {
		t.Fatal("opened")
	}
	again := openStore(t, Options{FS: mem, Dirs: []string{"/a"}, NodeID: 1})
	if d := again.Dirs()[0]; !d.Clean || d.BrokerEpoch != 17 {
		t.Errorf("%+v", d)
	}
}

func TestPartitionsSpreadOverDirectories(t *testing.T) {
	mem := vfs.NewMem()
	s := openStore(t, Options{FS: mem, Dirs: []string{"/a", "/b"}, NodeID: 1})
	for p := range int32(6) {
		if _, err := s.Create(TopicPartition{"t", p}, NewUUID(), nil, s.o.Default); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Create(TopicPartition{"t", 3}, NewUUID(), nil, s.o.Default); err == nil {
		t.Error("created twice")
	}
	count := map[string]int{}
	for _, l := range s.Logs() {
		count[filepath.Dir(l.Dir())]++
		if s.LogDir(l.TopicPartition()).Path != filepath.Dir(l.Dir()) {
			t.Errorf("%s is in %s", l, s.LogDir(l.TopicPartition()).Path)
		}
	}
	if count["/a"] != 3 || count["/b"] != 3 {
		t.Errorf("%v", count)
	}
	// The same partition in two directories is refused.
	if err := s.Close(CleanStop{}); err != nil {
		t.Fatal(err)
	}
	other := "/b"
	if s.LogDir(TopicPartition{"t", 0}).Path == "/b" {
		other = "/a"
	}
	if err := mem.MkdirAll(other+"/t-0", 0o755); err != nil {
		t.Fatal(err)
	}
	twice, err := Open(Options{FS: mem, Dirs: []string{"/a", "/b"}, NodeID: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer twice.Abort()
	if err := twice.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "t-0") {
		t.Errorf("partition in two directories: %v", err)
	}
}

func TestDeletePartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewMem()
		s := openStore(t, Options{FS: mem, Dirs: []string{"/a"}, NodeID: 1, DeleteDelayMs: 60_000})
		long := TopicPartition{Topic: strings.Repeat("long-name.", 24) + "12345678"}
		for _, tp := range []TopicPartition{long, {Topic: "stays"}} {
			cfg := DefaultConfig()
			cfg.TimestampAfterMaxMs = math.MaxInt64 // the bubble's clock stands in 2000
			l, err := s.Create(tp, NewUUID(), nil, cfg)
			if err != nil {
				t.Fatal(err)
			}
			fill(t, l, 10)
		}
		l := s.Log(long)
		info, err := l.Read(0, 1<<20, ReadOptions{UpperBound: 10})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(long); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(long); !errors.Is(err, ErrUnknownLog) {
			t.Errorf("deleted twice: %v", err)
		}
		name := regexp.MustCompile(`^/a/(long-name\.)+.*-0\.[0-9a-f]{32}-delete$`)
		if dir := l.Dir(); !name.MatchString(dir) || len(filepath.Base(dir)) != 255 {
			t.Errorf("renamed to %s", dir)
		}
		if got := string(mustRead(t, mem, "/a/recovery-point-offset-checkpoint")); got != "0\n1\nstays 0 0\n" {
			t.Errorf("recovery points %q", got)
		}
		if got := string(mustRead(t, mem, "/a/cleaner-offset-checkpoint")); got != "0\n0\n" {
			t.Errorf("cleaner checkpoint %q", got)
		}
		if index, err := mem.Stat(filepath.Join(l.Dir(), seg(0, indexSuffix))); err != nil || index.Size() != 10<<20 {
			t.Errorf("index of the deleted log: %v", err)
		}
		if _, err := info.Records.ReadAt(make([]byte, info.Records.Len()), 0); err != nil {
			t.Errorf("range of a deleted log: %v", err)
		}
		info.Records.Release()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.RunDeletions(ctx) }()
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if _, err := mem.Stat(l.Dir()); err != nil {
			t.Errorf("gone before its time: %v", err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if _, err := mem.Stat(l.Dir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after the delay: %v", err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		// A new partition of the same name starts afresh.
		if l, err = s.Create(long, NewUUID(), nil, s.o.Default); err != nil || l.EndOffset() != 0 {
			t.Fatalf("created again: %v", err)
		}
	})
}

// TestHighWatermarksSurvive: they are read back, and written only when changed.
func TestHighWatermarksSurvive(t *testing.T) {
	mem := vfs.NewMem()
	s := openStore(t, Options{FS: mem, Dirs: []string{"/a"}, NodeID: 1})
	tp := TopicPartition{Topic: "t", Partition: 4}
	if _, err := s.Create(tp, NewUUID(), nil, s.o.Default); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckpointHighWatermarks(marks(map[TopicPartition]int64{tp: 33, {Topic: "unknown"}: 1})); err != nil {
		t.Fatal(err)
	}
	before := mem.Ops()
	if err := s.CheckpointHighWatermarks(marks(map[TopicPartition]int64{tp: 33})); err != nil || mem.Ops() != before {
		t.Errorf("the same again: %d operations, %v", mem.Ops()-before, err)
	}
	if err := s.Abort(); err != nil {
		t.Fatal(err)
	}
	again := openStore(t, Options{FS: mem, Dirs: []string{"/a"}, NodeID: 1})
	if got := again.HighWatermarks(); len(got) != 1 || got[tp] != 33 {
		t.Errorf("%v", got)
	}
	if again.Dirs()[0].Clean {
		t.Error("an aborted store counts as cleanly stopped")
	}
}

func TestVerifyFindsDamage(t *testing.T) {
	build := func(t *testing.T) string {
		dir := t.TempDir()
		cfg := DefaultConfig()
		cfg.SegmentBytes, cfg.IndexIntervalBytes = 3000, 300
		s := openStore(t, Options{Dirs: []string{dir}, NodeID: 1, Default: cfg})
		l, err := s.Create(TopicPartition{Topic: "t"}, NewUUID(), nil, cfg)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, l, 60)
		if got, err := readFrom(l, 0, 1000, math.MaxInt64); err != nil || !slices.Equal(got, counting(0, 60)) {
			t.Fatal(got, err)
		}
		if err := s.CheckpointHighWatermarks(marks(map[TopicPartition]int64{{Topic: "t"}: 60})); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(CleanStop{}); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for name, c := range map[string]struct {
		spoil func(d damaged)
		want  string
	}{
		"nothing":  {func(damaged) {}, ``},
		"record":   {func(d damaged) { d.flip(seg(0, logSuffix), 300) }, `checksum`},
		"tail":     {func(d damaged) { d.cut(seg(0, logSuffix), 5) }, `no whole batch`},
		"index":    {func(d damaged) { d.flip(seg(0, indexSuffix), 7) }, `no batch at`},
		"times":    {func(d damaged) { d.flip(seg(0, timeIndexSuffix), 11) }, `no batch with last offset`},
		"snapshot": {func(d damaged) { d.flip(seg(60, snapshotSuffix), 3) }, `checksum`},
		"epochs":   {func(d damaged) { d.write(leaderEpochCheckpointName, []byte("0\n1\n0 61\n")) }, `epoch 0 starts at 61`},
		"point":    {func(d damaged) { d.topFile(recoveryPointCheckpoint, "0\n1\nt 0 61\n") }, `the log ends at 60`},
		"ghost":    {func(d damaged) { d.topFile(logStartCheckpoint, "0\n1\nu 0 1\n") }, `no directory`},
		"unknown":  {func(d damaged) { d.write("notes.txt", nil) }, `unknown file`},
		"swap":     {func(d damaged) { d.write(seg(0, logSuffix+swapSuffix), nil) }, `left over`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := build(t)
			c.spoil(damaged{t: t, top: dir, dir: filepath.Join(dir, "t-0")})
			found, err := Verify(vfs.OS(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if len(found) > 0 {
					t.Errorf("%v", found)
				}
				return
			}
			if !slices.ContainsFunc(found, func(f Finding) bool { return strings.Contains(f.String(), c.want) }) {
				t.Errorf("findings %v, want one with %q", found, c.want)
			}
		})
	}
}

// TestDeleteSyncsOnceForAll: a topic of many partitions is taken away with as many syncs as one of few.
func TestDeleteSyncsOnceForAll(t *testing.T) {
	var syncs atomic.Int64
	fsys := vfs.NewFaulty(vfs.NewMem(), func(op vfs.Op) error {
		if op.Kind == vfs.OpSync || op.Kind == vfs.OpSyncDir {
			syncs.Add(1)
		}
		return nil
	})
	s := openStore(t, Options{FS: fsys, Dirs: []string{"/a", "/b"}, NodeID: 1, DeleteDelayMs: 60_000})
	count := func(topic string, partitions int32) int64 {
		var tps []TopicPartition
		id := NewUUID()
		for p := range partitions {
			tp := TopicPartition{Topic: topic, Partition: p}
			if _, err := s.Create(tp, id, nil, DefaultConfig()); err != nil {
				t.Fatal(err)
			}
			tps = append(tps, tp)
		}
		before := syncs.Load()
		if err := s.Delete(tps...); err != nil {
			t.Fatal(err)
		}
		for _, tp := range tps {
			if s.Log(tp) != nil {
				t.Errorf("%s is still there", tp)
			}
		}
		return syncs.Load() - before
	}
	if few, many := count("few", 2), count("many", 60); few == 0 || many == 0 || many > few { // a checkpoint that did not change is not written
		t.Errorf("2 partitions in two log dirs take %d syncs, 60 take %d", few, many)
	}
	unknown := TopicPartition{Topic: "never"}
	if _, err := s.Create(TopicPartition{Topic: "last"}, NewUUID(), nil, DefaultConfig()); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(unknown, TopicPartition{Topic: "last"}); !errors.Is(err, ErrUnknownLog) || s.Log(TopicPartition{Topic: "last"}) != nil {
		t.Errorf("one of two is unknown: %v, the other is there: %v", err, s.Log(TopicPartition{Topic: "last"}) != nil)
	}
}
