package logstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"minibroker/internal/vfs"
	"minibroker/record"
)

// openDamaged unpacks a capture of case ex1, spoils it, and opens the log. The
// log lines go to the buffer.
func openDamaged(t *testing.T, base string, damage func(damaged)) (damaged, *Store, *bytes.Buffer) {
	t.Helper()
	top := t.TempDir()
	readCapture(t, filepath.Join(goldenDir, "ex1", base+".tar.zst")).unpack(t, top)
	d := damaged{t: t, top: top, dir: filepath.Join(top, "seg-0")}
	damage(d)
	cfg := DefaultConfig()
	cfg.SegmentBytes, cfg.RetentionMs = 1<<20, -1
	lines := new(bytes.Buffer)
	s, err := Open(Options{Dirs: []string{top}, NodeID: 1, Default: cfg, Logger: slog.New(slog.NewTextHandler(lines, nil))})
	d.check(err)
	t.Cleanup(func() { d.check(s.Abort()) })
	d.check(s.Load(t.Context()))
	return d, s, lines
}

// TestIndexesRepairedAtFirstUse: Kafka 4.4.0 uses damaged indexes of sealed
// segments as they are. Here a read, a look-up by time, or retention notices and
// rebuilds them, byte for byte as they were.
func TestIndexesRepairedAtFirstUse(t *testing.T) {
	uses := map[string]func(l *Log) error{
		"read": func(l *Log) error {
			for at := range int64(3830) {
				if err := readOne(l, at); err != nil {
					return err
				}
			}
			return nil
		},
		"time": func(l *Log) error {
			at, _, _, found, err := l.OffsetForTimestamp(goldenT0+2000, math.MaxInt64)
			if err != nil || !found || at < 1000 || at > 3830 {
				return fmt.Errorf("look-up gives %d, %v, %w", at, found, err)
			}
			return nil
		},
		"retention": func(l *Log) error {
			cfg := l.Config()
			cfg.RetentionMs = time.Now().UnixMilli() - goldenT0 + 3600_000 // nothing is that old
			l.SetConfig(cfg)
			n, err := l.ApplyRetention(l.EndOffset(), time.Now())
			if n > 0 {
				return fmt.Errorf("retention removed %d segments", n)
			}
			return err
		},
	}
	cases := map[string]string{
		"index-short-sealed": "read time retention", "index-wrong-sealed": "read time retention", "index-zero-sealed": "read time retention",
		"index-empty-sealed": "read time retention", "timeindex-missing-sealed": "read", "timeindex-short-sealed": "read time retention",
		"timeindex-wrong-sealed": "read time retention", "middle": "read", "astray": "read",
	}
	for name, by := range cases {
		for _, use := range strings.Fields(by) {
			t.Run(name+" "+use, func(t *testing.T) {
				damage := damages[name]
				if by, ok := map[string]uint32{"middle": damagedBatch, "astray": 7}[name]; ok {
					damage = func(d damaged) { d.shiftEntry(by) }
				}
				d, s, lines := openDamaged(t, "kill9", damage)
				l := s.Log(TopicPartition{Topic: "seg"})
				d.check(uses[use](l))
				if name == "timeindex-missing-sealed" {
					d.check(readOne(l, 4000))
				}
				if !strings.Contains(lines.String(), "do not fit it") {
					t.Errorf("no warning in:\n%s", lines)
				}
				want := readCapture(t, filepath.Join(goldenDir, "ex1", "kill9.tar.zst"))
				for _, file := range []string{seg(0, ".index"), seg(0, ".timeindex"), seg(3830, ".timeindex"), seg(0, ".log")} {
					if got, was := newContent(d.read(file)), want["seg-0/"+file]; got.size != was.size || !bytes.Equal(got.data, was.data) {
						t.Errorf("%s has %d bytes, was %d", file, got.size, was.size)
					}
				}
			})
		}
	}
}

// shiftEntry makes entry 100 of segment 0's offset index point elsewhere: by a whole batch, or into one.
func (d damaged) shiftEntry(by uint32) {
	b := d.read(seg(0, ".index"))
	binary.BigEndian.PutUint32(b[804:], binary.BigEndian.Uint32(b[804:])+by)
	d.write(seg(0, ".index"), b)
}

// goldenT0 is the timestamp of the first record of case ex1, in ms.
const goldenT0 = 1_700_000_000_000

// readOne reads the batch that holds an offset.
func readOne(l *Log, at int64) error {
	info, err := l.Read(at, 1, ReadOptions{UpperBound: math.MaxInt64, MinOneMessage: true})
	if err != nil || info.Records == nil {
		return fmt.Errorf("read at %d: nothing, %w", at, err)
	}
	defer info.Records.Release()
	head := make(record.Batch, record.HeaderSize)
	if _, err := info.Records.ReadAt(head, 0); err != nil {
		return err
	}
	if head.BaseOffset() > at || head.LastOffset() < at {
		return fmt.Errorf("read at %d gives offsets %d to %d", at, head.BaseOffset(), head.LastOffset())
	}
	return nil
}

// TestGoodIndexesStay: what Kafka wrote is never taken for damaged.
func TestGoodIndexesStay(t *testing.T) {
	for _, path := range []string{"ex1/clean", "seg2/clean", "index/kill9-restart-stop", "restart/third-stop", "records/clean", "roll-size/clean",
		"roll-time/clean", "codecs/clean", "idempotent/second-stop"} {
		top := t.TempDir()
		readCapture(t, filepath.Join(goldenDir, path+".tar.zst")).unpack(t, top)
		before, lines := sums(t, top), new(bytes.Buffer)
		cfg := DefaultConfig()
		cfg.RetentionMs = -1
		s, err := Open(Options{Dirs: []string{top}, NodeID: 1, Default: cfg, Logger: slog.New(slog.NewTextHandler(lines, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		segments := 0
		for _, l := range s.Logs() {
			list := *l.segments.Load()
			for _, sealed := range list[:len(list)-1] {
				segments++
				if why, err := sealed.examineIndexes(); why != "" || err != nil {
					t.Errorf("%s %s: %s, %v", path, sealed, why, err)
				}
			}
		}
		if err := s.Close(CleanStop{BrokerEpoch: 5}); err != nil {
			t.Error(err)
		}
		for name, sum := range sums(t, top) {
			if before[name] != sum && filepath.Ext(name) != "" && name != cleanShutdownName {
				t.Errorf("%s: %s changed from %q to %q", path, name, before[name], sum)
			}
		}
		t.Logf("%s: %d sealed segments", path, segments)
		if strings.Contains(lines.String(), "level=WARN") || strings.Contains(lines.String(), "level=ERROR") {
			t.Errorf("%s: %s", path, lines)
		}
	}
}

// TestEmptySwap: a .swap file of no bytes never takes the place of a good
// segment; with the segment gone it does, as in Kafka.
func TestEmptySwap(t *testing.T) {
	damage := func(d damaged) {
		for _, suffix := range []string{".log.swap", ".index.swap", ".timeindex.swap"} {
			d.write(seg(0, suffix), nil)
		}
	}
	d, s, lines := openDamaged(t, "kill9", damage)
	l := s.Log(TopicPartition{Topic: "seg"})
	d.check(readOne(l, 17))
	if got := len(d.read(seg(0, ".log"))); got != 1045973 || l.StartOffset() != 0 || !strings.Contains(lines.String(), "Deleting empty") {
		t.Errorf("segment 0 has %d bytes, log starts at %d:\n%s", got, l.StartOffset(), lines)
	}
	if left, _ := filepath.Glob(d.path("*.swap")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestLostMiddleSegment: Kafka does not notice; here a line says which offsets
// are gone, and readers go on behind them.
func TestLostMiddleSegment(t *testing.T) {
	d, s, lines := openDamaged(t, "kill9", damages["lost-middle"])
	if want := "Offsets 3830 to 7659 are missing"; !strings.Contains(lines.String(), want) {
		t.Errorf("no %q in:\n%s", want, lines)
	}
	info, err := s.Log(TopicPartition{Topic: "seg"}).Read(5000, 1, ReadOptions{UpperBound: math.MaxInt64, MinOneMessage: true})
	d.check(err)
	head := make(record.Batch, record.HeaderSize)
	_, err = info.Records.ReadAt(head, 0)
	info.Records.Release()
	if err != nil || head.BaseOffset() != 7660 {
		t.Errorf("read at 5000 gives %d, %v", head.BaseOffset(), err)
	}
}

// TestEpochsDerived: a malformed epoch file is set aside, and the epochs are
// those that the batches carry.
func TestEpochsDerived(t *testing.T) {
	mem := vfs.NewMem()
	l := memLog(t, mem, nil)
	for epoch := range int32(4) {
		if err := l.AssignEpoch(2 * epoch); err != nil {
			t.Fatal(err)
		}
		for range 30 {
			if _, err := l.Append(numbered(t, int(l.EndOffset()), 2), AppendOptions{LeaderEpoch: 2 * epoch}); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := l.epochs.load()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	path := "/data/t-0/" + leaderEpochCheckpointName
	if err := vfs.WriteFileAtomic(mem, path, []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	l = memLog(t, mem, nil)
	if got := l.epochs.load(); len(want) != 4 || !slices.Equal(got, want) {
		t.Errorf("epochs %v, were %v", got, want)
	}
	if b, err := vfs.ReadFile(mem, path+malformedSuffix); err != nil || string(b) != "hello\n" {
		t.Errorf("set aside: %q, %v", b, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestResendAfterRestart: all of a producer's last five batches are recognised
// after a clean stop, whose snapshot holds only the last; Kafka refuses them.
func TestResendAfterRestart(t *testing.T) {
	mem := vfs.NewMem()
	long := func(c *Config) { c.ProducerIDExpirationMs, c.SegmentBytes = math.MaxInt64/2, 9000 }
	batch := func(i int) record.Batch {
		return numberedBy(t, 10*i, 10, record.BuilderOptions{Producer: &record.Producer{ID: 7, BaseSequence: int32(10 * i)}})
	}
	l := memLog(t, mem, long)
	const batches = 12 // in two segments
	for i := range batches {
		if _, err := l.Append(batch(i), AppendOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = memLog(t, mem, long)
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	for i := batches - 5; i < batches; i++ {
		info, err := l.Append(batch(i), AppendOptions{})
		if err != nil || !info.Duplicate || info.FirstOffset != int64(10*i) {
			t.Errorf("batch %d again: %+v, %v", i, info, err)
		}
	}
	if _, err := l.Append(batch(batches-6), AppendOptions{}); !errors.Is(err, ErrOutOfOrderSequence) {
		t.Errorf("the sixth last: %v", err)
	}
	if info, err := l.Append(batch(batches), AppendOptions{}); err != nil || info.Duplicate || info.FirstOffset != 10*batches {
		t.Errorf("the next: %+v, %v", info, err)
	}
}

// TestMarkerRemovedBeforeLoad: a crash while logs load does not pass as the
// clean stop before it.
func TestMarkerRemovedBeforeLoad(t *testing.T) {
	top := t.TempDir()
	readCapture(t, filepath.Join(goldenDir, "ex1", "clean.tar.zst")).unpack(t, top)
	s, err := Open(Options{Dirs: []string{top}, NodeID: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(top, cleanShutdownName)); !errors.Is(err, os.ErrNotExist) || !s.dirs[0].Clean {
		t.Errorf("marker: %v, clean %v", err, s.dirs[0].Clean)
	}
	if err := s.Abort(); err != nil {
		t.Fatal(err)
	}
	d := damaged{t: t, top: top, dir: filepath.Join(top, "seg-0")}
	d.grow(seg(11490, ".log"), make([]byte, 4096))
	s, err = Open(Options{Dirs: []string{top}, NodeID: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { d.check(s.Abort()) }()
	d.check(s.Load(t.Context()))
	if l := s.Log(TopicPartition{Topic: "seg"}); s.dirs[0].Clean || l.EndOffset() != 12000 || len(d.read(seg(11490, ".log"))) != 139281 {
		t.Errorf("clean %v, ends at %d", s.dirs[0].Clean, l.EndOffset())
	}
}

// TestFilesGoneBelowStart: with all segments gone the log goes on at its saved
// start, never at 0.
func TestFilesGoneBelowStart(t *testing.T) {
	d, s, _ := openDamaged(t, "clean", func(d damaged) {
		damages["log-start-inside"](d)
		damages["lost-all"](d)
		d.remove(seg(12000, ".snapshot"))
	})
	l := s.Log(TopicPartition{Topic: "seg"})
	if l.StartOffset() != 5000 || l.EndOffset() != 5000 {
		t.Fatalf("log is [%d, %d)", l.StartOffset(), l.EndOffset())
	}
	info, err := l.Append(numbered(t, 0, 1), AppendOptions{LeaderEpoch: 2})
	d.check(err)
	if info.FirstOffset != 5000 {
		t.Errorf("appended at %d", info.FirstOffset)
	}
}
