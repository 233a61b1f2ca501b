package metadata

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// TestNothingAnsweredIsLostInACrash stops the machine, or the process, before
// each file operation of a node's life, and starts it again from what is left.
func TestNothingAnsweredIsLostInACrash(t *testing.T) {
	fsys := vfs.NewMem()
	if err := errors.Join(fsys.MkdirAll("/d", 0o755), fsys.SyncDir("/")); err != nil {
		t.Fatal(err)
	}
	type crash struct {
		op       string
		left     *vfs.Mem
		answered []string
	}
	var crashes []crash
	var answered []string
	fsys.SetHook(func(op vfs.Op) error {
		for _, model := range []vfs.CrashModel{vfs.KeepSynced, vfs.KeepAll} {
			crashes = append(crashes, crash{fmt.Sprint(op, " ", model), fsys.CrashClone(model), slices.Clone(answered)})
		}
		return nil
	})
	n := newNode(t, fsys, "/d/"+DirName).start()
	for _, name := range []string{"a", "b"} {
		n.create(name, 2)
		answered = append(answered, name)
	}
	if err := n.snapshot(n.Image()); err != nil {
		t.Fatal(err)
	}
	n.stop()
	n.start()
	n.create("c", 1)
	answered = append(answered, "c")
	n.kill()
	fsys.SetHook(nil)
	if len(crashes) < 50 {
		t.Fatalf("only %d crashes", len(crashes))
	}
	for _, c := range crashes {
		again := newNode(t, c.left, "/d/"+DirName)
		s, err := Open(again.options())
		if err != nil {
			t.Errorf("crash before %s: %v", c.op, err)
			continue
		}
		for _, name := range c.answered {
			if topic, ok := s.Image().Topic(name); !ok || topic.Partitions[0].Leader != 1 {
				t.Errorf("crash before %s: topic %s: %+v", c.op, name, topic)
			}
		}
		if s.Image().level() != levelMax || s.Image().Config(ResourceBroker, "")[minISRKey] != "1" {
			t.Errorf("crash before %s: features %v", c.op, s.Image().Features)
		}
		if err := s.Close(); err != nil {
			t.Errorf("crash before %s: close: %v", c.op, err)
		}
	}
}

// TestAFailedSyncAnswersAnError makes the disk fail: a change must not be
// reported as done, and nothing more is taken.
func TestAFailedSyncAnswersAnError(t *testing.T) {
	broken := errors.New("disk is broken")
	var fail bool
	fsys := vfs.NewFaulty(vfs.NewMem(), func(op vfs.Op) error {
		if fail && op.Kind == vfs.OpSync {
			return broken
		}
		return nil
	})
	n := newNode(t, fsys, "/d/"+DirName)
	var told []error
	n.adjust = func(o *Options) { o.OnFailure = func(err error) { told = append(told, err) } }
	n.start()
	n.create("a", 1)
	fail = true
	if _, err := n.CreateTopics([]NewTopic{{Name: "b", Partitions: 1}}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	fail = false
	if _, ok := n.Image().Topic("b"); ok {
		t.Error("a change that is not safe is visible")
	}
	if _, err := n.CreateTopics([]NewTopic{{Name: "c", Partitions: 1}}); !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := n.Close(); !errors.Is(err, broken) {
		t.Error(err)
	}
	if len(told) != 1 || !errors.Is(told[0], broken) {
		t.Errorf("the owner was told %v", told)
	}
}

// TestAFullDiskPasses makes writes fail: a full disk refuses one change and takes the next, any other error of the device ends it.
func TestAFullDiskPasses(t *testing.T) {
	for cause, ends := range map[error]bool{syscall.ENOSPC: false, syscall.EDQUOT: false, syscall.EIO: true, syscall.EROFS: true} {
		var fail bool
		fsys := vfs.NewFaulty(vfs.NewMem(), func(op vfs.Op) error {
			if fail && op.Kind == vfs.OpWrite {
				return &fs.PathError{Op: "write", Path: op.Name, Err: cause}
			}
			return nil
		})
		n := newNode(t, fsys, "/d/"+DirName)
		told := 0
		n.adjust = func(o *Options) { o.OnFailure = func(error) { told++ } }
		n.start()
		fail = true
		if _, err := n.CreateTopics([]NewTopic{{Name: "b", Partitions: 1}}); !errors.Is(err, cause) {
			t.Fatalf("%v: %v", cause, err)
		}
		fail = false
		_, err := n.CreateTopics([]NewTopic{{Name: "c", Partitions: 1}})
		if _, there := n.Image().Topic("c"); there == ends || (told == 1) != ends || errors.Is(err, cause) != ends {
			t.Errorf("%v: told %d times, then %v", cause, told, err)
		}
		if err := n.Close(); errors.Is(err, cause) != ends {
			t.Errorf("%v: close: %v", cause, err)
		}
	}
}

// slowSync lets several changes meet at one sync.
func slowSync(inner vfs.FS, syncs *int, mu *sync.Mutex) vfs.FS {
	return vfs.NewFaulty(inner, func(op vfs.Op) error {
		if op.Kind == vfs.OpSync && op.Name[len(op.Name)-4:] == ".log" {
			mu.Lock()
			*syncs++
			mu.Unlock()
			<-time.After(time.Millisecond) // the disk's work, not a wait for something
		}
		return nil
	})
}

func TestChangesThatMeetShareASync(t *testing.T) {
	var syncs int
	var mu sync.Mutex
	n := newNode(t, slowSync(vfs.NewMem(), &syncs, &mu), "/d/"+DirName)
	last := int64(-1)
	n.adjust = func(o *Options) {
		o.OnChange = func(old, image *Image) error {
			if old.LastOffset != last && last >= 0 || image.LastOffset <= old.LastOffset {
				t.Errorf("image %d after %d, %d seen before", image.LastOffset, old.LastOffset, last)
			}
			last = image.LastOffset
			return nil
		}
	}
	n.start()
	syncs = 0
	const writers, each = 16, 10
	var work sync.WaitGroup
	for w := range writers {
		work.Go(func() {
			for k := range each {
				name := fmt.Sprintf("t%d-%d", w, k)
				created, err := n.CreateTopics([]NewTopic{{Name: name, Partitions: 1}})
				if err != nil || len(created) != 1 {
					t.Error(created, err)
				}
				if _, ok := n.Image().Topic(name); !ok {
					t.Errorf("%s was answered but is not visible", name)
				}
				if topics := n.Image().Topics(); !slices.IsSortedFunc(topics, func(a, b *Topic) int {
					if a.Name < b.Name {
						return -1
					}
					return 1
				}) {
					t.Error("topics are not sorted")
				}
			}
		})
	}
	work.Wait()
	if syncs >= writers*each {
		t.Errorf("%d syncs for %d changes", syncs, writers*each)
	}
	n.stop()
	n.start()
	if got := len(n.Image().Topics()); got != writers*each {
		t.Errorf("%d topics", got)
	}
}

// appendForeign writes a batch into a stopped node's log.
func appendForeign(t *testing.T, n *node, b record.Batch) {
	t.Helper()
	l, err := openRaftLog(n.fs, n.dir, 1<<30, weekMs, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &Store{log: l, epoch: 7, o: n.options().withDefaults()}
	if err := s.storeLocked(b, l.EndOffset()); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAnOpenTransactionIsAborted(t *testing.T) {
	n := newNode(t, vfs.NewMem(), "/d/"+DirName).start()
	n.stop()
	name := "half"
	b, err := buildBatch([]Record{&BeginTransactionRecord{Name: &name}, &TopicRecord{Name: "half", TopicID: [16]byte{9}}}, levelMax, 1)
	if err != nil {
		t.Fatal(err)
	}
	appendForeign(t, n, b)
	n.start()
	sameLines(t, n.dump(17)[:3], []string{"17 e8 LeaderChange", "18 e8 AbortTransaction", "19 e8 RegisterController"})
	if len(n.Image().Topics()) != 0 {
		t.Error("a topic of a transaction that never ended is there")
	}
	n.stop()
	n.start()
	n.create("half", 1)
}
