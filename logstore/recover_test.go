package logstore

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// recovered is what Kafka left of a damaged directory after a start and a
// clean stop.
type recovered struct {
	base       string
	started    bool
	start, end int64
	files      map[string]string // path -> "size sum"
}

func loadRecovered(t *testing.T) map[string]*recovered {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "golden", "recovery.txt"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*recovered{}
	var r *recovered
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if f[0] == "=" {
			r = &recovered{base: f[2], started: f[3] == "started", files: map[string]string{}}
			fmt.Sscan(f[4], &r.start)
			fmt.Sscan(f[5], &r.end)
			all[f[1]] = r
			continue
		}
		r.files[randomName.ReplaceAllString(f[2], ".*-$1")] = f[0] + " " + f[1]
	}
	return all
}

// better says where this store deviates from Kafka 4.4.0, which hides or loses
// records there or does not start: the end offset here, and the files that
// differ because of that.
var better = map[string]struct {
	end     int64
	differ  string // pattern of paths
	because string
}{
	"duplicate-batch": {12000, `/(0+11490\.|0+12000\.|leader-epoch)|^[a-z-]+-checkpoint`,
		"the batch that goes back is cut off; Kafka ends at 11490 and hides the segment"},
	"foreign-batch": {12000, `.`, "the batch that goes back is cut off; Kafka does not start"},
	"clean-torn-tail": {11990, `/(0+11490\.|0+1[12]\d+\.snapshot|leader-epoch)|^[a-z-]+-checkpoint`,
		"the segment is recovered; Kafka ends at 11490 and hides it"},
	"marker-on-torn":  {11990, `/0+11490\.`, "the torn bytes are cut off; Kafka appends behind them"},
	"clean-zero-tail": {12000, `.`, "the tail is cut off; Kafka does not start"},
	"marker-empty": {12000, `/0+11490\.(time)?index`,
		"the marker does not fit a killed log, which is recovered; Kafka keeps indexes of 10 MiB of zeros"},
}

// asNone are the damages after which Kafka 4.4.0 does not start: here the file
// is set aside (or written again), and all is as without the damage.
var asNone = map[string]string{
	"recovery-point-corrupt":     `checkpoint\.malformed`,
	"log-start-wrong-count":      `checkpoint\.malformed`,
	"hw-corrupt":                 `checkpoint\.malformed`,
	"leader-epoch-corrupt":       `checkpoint\.malformed`,
	"partition-metadata-corrupt": `metadata\.malformed`,
	// Kafka starts, but with an empty partition.
	"partition-metadata-missing": `^$`,
}

func TestRecoverDamage(t *testing.T) {
	golden := loadRecovered(t)
	if len(golden) != len(damages) {
		t.Fatalf("%d damages, %d results", len(damages), len(golden))
	}
	captures := map[string]tree{}
	for _, base := range []string{"kill9", "clean"} {
		captures[base] = readCapture(t, filepath.Join(goldenDir, "ex1", base+".tar.zst"))
	}
	equal, agree, total := 0, 0, 0
	for _, name := range slices.Sorted(maps.Keys(golden)) {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			want := *golden[name]
			captures[want.base].unpack(t, top)
			_, repaired := asNone[name]
			if repaired {
				want = *golden["none"]
			}
			a, n := recoverDamage(t, top, name, &want)
			agree, total = agree+a, total+n
			if a == n && !repaired {
				equal++
			}
		})
	}
	t.Logf("%d of %d damages end as in Kafka in every file, %d of %d files agree", equal, len(golden), agree, total)
}

func recoverDamage(t *testing.T, top, name string, want *recovered) (agree, total int) {
	id, err := readPartitionMetadata(newEnv(nil, nil, 0).fsys, filepath.Join(top, "seg-0"))
	if err != nil {
		t.Fatal(err)
	}
	damages[name](damaged{t: t, top: top, dir: filepath.Join(top, "seg-0")})
	s, err := startDamaged(t, top, id.TopicID)
	deviation, deviates := better[name]
	if deviates {
		want.started, want.start, want.end = true, 0, deviation.end
	}
	if !want.started {
		if err == nil {
			t.Fatal("started, Kafka refuses")
		}
		t.Log(err)
		return 1, 1
	}
	if err != nil {
		t.Fatal(err)
	}
	l := s.Log(TopicPartition{Topic: "seg"})
	if l.StartOffset() != want.start || l.EndOffset() != want.end {
		t.Errorf("log is [%d, %d), want [%d, %d)", l.StartOffset(), l.EndOffset(), want.start, want.end)
	}
	if _, err := l.ApplyRetention(l.EndOffset(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckpointHighWatermarks(marks(map[TopicPartition]int64{l.TopicPartition(): l.EndOffset()})); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(CleanStop{BrokerEpoch: 56}); err != nil {
		t.Fatal(err)
	}
	got := sums(t, top)
	maps.DeleteFunc(got, func(path, _ string) bool {
		// The top level and directories set aside were not listed for all.
		_, listed := want.files[path]
		pattern, aside := asNone[name]
		if !listed && aside && regexp.MustCompile(pattern).MatchString(path) {
			return true
		}
		return !listed && (!strings.Contains(path, "/") || strings.Contains(path, "-stray/"))
	})
	paths := maps.Clone(want.files)
	maps.Copy(paths, got)
	for path := range paths {
		if strings.Contains(path, "-delete/") {
			continue // Kafka loads and recovers what it is about to remove
		}
		total++
		if got[path] == want.files[path] {
			agree++
		} else if !deviates || !regexp.MustCompile(deviation.differ).MatchString(path) {
			t.Errorf("%s: Kafka %q, here %q", path, want.files[path], got[path])
		}
	}
	return agree, total
}

// startDamaged opens the store as a broker does: logs of unknown topics are set
// aside, missing ones made, and all get a new leader epoch.
func startDamaged(t *testing.T, top string, id UUID) (*Store, error) {
	cfg := DefaultConfig()
	cfg.SegmentBytes, cfg.RetentionMs = 1<<20, -1
	s, err := Open(Options{Dirs: []string{top}, NodeID: 1, Default: cfg, DeleteDelayMs: 60000})
	if err != nil {
		return nil, err
	}
	if err := s.Load(t.Context()); err != nil {
		if e := s.Abort(); e != nil {
			t.Error(e)
		}
		return nil, err
	}
	for _, l := range s.Logs() {
		if l.TopicID() == (UUID{}) && l.TopicPartition().Topic == "seg" {
			if err := l.AdoptTopicID(id); err != nil {
				t.Fatal(err)
			}
		}
		if l.TopicID() != id {
			if err := s.Stray(l.TopicPartition()); err != nil {
				t.Fatal(err)
			}
			continue
		}
	}
	tp := TopicPartition{Topic: "seg"}
	if s.Log(tp) == nil {
		if _, err := s.Create(tp, id, nil, cfg); err != nil {
			t.Fatal(err)
		}
	}
	return s, errors.Join(s.Log(tp).AssignEpoch(2), s.Log(tp).SettleLoad())
}

func sums(t *testing.T, top string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(top, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(top, path)
		sum := sha256.Sum256(b)
		text := hex.EncodeToString(sum[:8])
		switch filepath.Base(name) {
		case partitionMetadataName, cleanShutdownName:
			text = strings.Repeat("-", 16)
		case metaPropertiesName:
			return err
		}
		got[randomName.ReplaceAllString(name, ".*-$1")] = fmt.Sprintf("%d %s", len(b), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}
