package logstore

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"minibroker/record"
)

// goldenDir holds what Apache Kafka 4.4.0 made of given batches; see the
// ORIGIN.md there.
var goldenDir = filepath.Join("..", "integration", "testdata", "golden")

// goldenStep is one step of a golden case.
type goldenStep struct {
	Op         string
	Name       string
	Topic      string
	Partition  int32
	Partitions int32
	Config     map[string]string
	From, To   int
	Offset     int64
	Ms         int64
}

// goldenCase is what was done to Kafka.
type goldenCase struct {
	Broker map[string]string
	Steps  []goldenStep

	dir   string
	input [][]byte
}

func loadGolden(t testing.TB, name string) *goldenCase {
	t.Helper()
	return loadGoldenFrom(t, filepath.Join(goldenDir, name))
}

func loadGoldenFrom(t testing.TB, dir string) *goldenCase {
	t.Helper()
	c := &goldenCase{dir: dir}
	text, err := os.ReadFile(filepath.Join(c.dir, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, c); err != nil {
		t.Fatal(err)
	}
	for all := unzstd(t, filepath.Join(c.dir, "input.bin.zst")); len(all) > 0; {
		n := binary.BigEndian.Uint32(all)
		c.input = append(c.input, all[4:4+n])
		all = all[4+n:]
	}
	return c
}

func unzstd(t testing.TB, path string) []byte {
	t.Helper()
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	all, err := z.DecodeAll(packed, nil)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// content is a file's size and its bytes without trailing zeros.
type content struct {
	size int64
	data []byte
}

func newContent(b []byte) content {
	return content{size: int64(len(b)), data: bytes.Clone(bytes.TrimRight(b, "\x00"))}
}

// tree maps paths below a data directory to contents.
type tree map[string]content

func readCapture(t testing.TB, path string) tree {
	t.Helper()
	files := tree{}
	for r := tar.NewReader(bytes.NewReader(unzstd(t, path))); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = newContent(b)
	}
}

// unpack writes a capture as a data directory.
func (files tree) unpack(t testing.TB, dir string) {
	t.Helper()
	for name, c := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, c.data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, c.size); err != nil {
			t.Fatal(err)
		}
	}
}

func readTree(t testing.TB, root string) tree {
	t.Helper()
	files := tree{}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		files[name] = newContent(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var (
	randomText = map[string]*regexp.Regexp{
		"partition.metadata":   regexp.MustCompile(`topic_id: \S+`),
		"meta.properties":      regexp.MustCompile(`cluster\.id=\S+|directory\.id=\S+|#\w{3} \w{3} .*`),
		".kafka_cleanshutdown": regexp.MustCompile(`"brokerEpoch":-?\d+`),
	}
	randomName = regexp.MustCompile(`\.[0-9a-f]{32}-(delete|stray)`)
)

// plain blanks ids and clocks.
func (files tree) plain() tree {
	out := tree{}
	for name, c := range files {
		if p := randomText[filepath.Base(name)]; p != nil {
			c = newContent(p.ReplaceAll(c.data, []byte("*")))
		}
		if strings.HasSuffix(name, "-offset-checkpoint") {
			// Lines that meet in one slot of Kafka's hash table come in the
			// order of a history that is not known here.
			lines := strings.Split(string(c.data), "\n")
			slices.Sort(lines)
			c = newContent([]byte(strings.Join(lines, "\n")))
		}
		out[randomName.ReplaceAllString(name, ".*-$1")] = c
	}
	return out
}

// diff lists how got differs and how many files were compared.
func (files tree) diff(got tree) (diffs []string, compared int) {
	want, got := files.plain(), got.plain()
	all := maps.Clone(want)
	maps.Copy(all, got)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		w, inWant := want[name]
		g, inGot := got[name]
		switch {
		case !inGot:
			diffs = append(diffs, fmt.Sprintf("%s: only Kafka has it (%d bytes)", name, w.size))
		case !inWant:
			diffs = append(diffs, fmt.Sprintf("%s: Kafka does not have it (%d bytes)", name, g.size))
		case w.size != g.size || !bytes.Equal(w.data, g.data):
			diffs = append(diffs, fmt.Sprintf("%s: Kafka %d bytes %.60q, here %d bytes %.60q", name, w.size, clip(w.data), g.size, clip(g.data)))
		}
	}
	return diffs, len(all)
}

func clip(b []byte) []byte { return b[:min(len(b), 60)] }

// replay does the steps of a case to a store.
type replay struct {
	t      *testing.T
	c      *goldenCase
	dir    string
	store  *Store
	epoch  int32
	config map[string]Config
	sleep  func(time.Duration) // not nil: waits take their time, in a synctest bubble
}

func newReplay(t *testing.T, c *goldenCase) *replay {
	return &replay{t: t, c: c, dir: t.TempDir(), config: map[string]Config{}}
}

// run calls capture for every capture step.
func (r *replay) run(capture func(name string)) {
	r.epoch = -2
	for _, step := range r.c.Steps {
		switch step.Op {
		case "start":
			r.epoch += 2
			r.start()
		case "create":
			r.create(step)
		case "produce":
			r.produce(step)
		case "alter":
			cfg := r.configure(r.config[step.Topic], step.Config)
			r.config[step.Topic] = cfg
			r.store.Log(TopicPartition{Topic: step.Topic}).SetConfig(cfg)
		case "wait":
			if r.sleep != nil {
				r.sleep(time.Duration(step.Ms) * time.Millisecond)
			}
			r.wait(step.Ms)
		case "deleteTopic":
			for _, l := range r.store.Logs() {
				if l.TopicPartition().Topic == step.Topic {
					r.check(r.store.Delete(l.TopicPartition()))
				}
			}
		case "deleteRecords":
			l := r.store.Log(TopicPartition{Topic: step.Topic, Partition: step.Partition})
			_, err := l.DeleteRecords(step.Offset, l.EndOffset())
			if err != nil && !errors.Is(err, ErrOffsetOutOfRange) {
				r.t.Fatal(err)
			}
		case "kill":
			r.check(r.store.Abort())
		case "stop":
			r.check(r.store.CheckpointHighWatermarks(marks(r.ends())))
			r.check(r.store.Close(CleanStop{BrokerEpoch: 5}))
		case "wipe":
			r.dir, r.epoch = r.t.TempDir(), -2
		case "capture":
			capture(step.Name)
		case "offsets":
		default:
			r.t.Fatalf("unknown step %q", step.Op)
		}
	}
	if r.store != nil {
		r.check(r.store.Abort())
	}
}

func (r *replay) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *replay) start() {
	var err error
	r.store, err = Open(Options{Dirs: []string{r.dir}, NodeID: 1, DeleteDelayMs: 60000,
		Configs: func() func(string) Config { return func(topic string) Config { return r.config[topic] } }})
	r.check(err)
	r.check(r.store.Load(r.t.Context()))
	for _, l := range r.store.Logs() {
		r.check(l.AssignEpoch(r.epoch))
		r.check(l.SettleLoad())
	}
}

func (r *replay) ends() map[TopicPartition]int64 {
	ends := map[TopicPartition]int64{}
	for _, l := range r.store.Logs() {
		ends[l.TopicPartition()] = l.EndOffset()
	}
	return ends
}

func (r *replay) create(step goldenStep) {
	base := DefaultConfig()
	if r.sleep != nil {
		base.TimestampAfterMaxMs = math.MaxInt64 // a bubble's clock stands in 2000
	}
	cfg := r.configure(r.configure(base, r.c.Broker), step.Config)
	r.config[step.Topic] = cfg
	id := NewUUID()
	for p := range step.Partitions {
		l, err := r.store.Create(TopicPartition{Topic: step.Topic, Partition: p}, id, nil, cfg)
		r.check(err)
		r.check(l.AssignEpoch(0))
	}
}

// wait lets the background flushes end and does what periodic tasks would do
// in that time.
func (r *replay) wait(ms int64) {
	r.store.env.background.Wait()
	if ms < 1000 {
		return
	}
	now := time.Now()
	for range 2 {
		for _, l := range r.store.Logs() {
			_, err := l.ApplyRetention(l.EndOffset(), now)
			r.check(err)
		}
	}
	r.store.env.background.Wait()
	r.check(r.store.CheckpointRecoveryPoints())
	r.check(r.store.CheckpointLogStartOffsets())
	r.check(r.store.CheckpointHighWatermarks(marks(r.ends())))
	_, err := r.store.RemoveDue(now.Add(time.Duration(ms) * time.Millisecond))
	r.check(err)
}

func (r *replay) produce(step goldenStep) {
	l := r.store.Log(TopicPartition{Topic: step.Topic, Partition: step.Partition})
	for i, batch := range r.c.input[step.From:step.To] {
		if len(batch) > record.HeaderSize && record.Batch(batch).IsTransactional() {
			continue // refused before the log sees it: these requests name no transaction
		}
		_, err := l.Append(bytes.Clone(batch), AppendOptions{LeaderEpoch: r.epoch})
		if err != nil && errors.Is(err, ErrStorage) {
			r.t.Fatalf("batch %d: %v", step.From+i, err)
		}
	}
}

// configure applies topic and broker settings by name.
func (r *replay) configure(cfg Config, settings map[string]string) Config {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		value := settings[name]
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case "internal.segment.bytes", "log.segment.bytes", "segment.bytes":
			cfg.SegmentBytes = int(n)
		case "segment.index.bytes":
			cfg.IndexBytes = int(n)
		case "index.interval.bytes":
			cfg.IndexIntervalBytes = int(n)
		case "message.timestamp.type":
			cfg.TimestampType = record.LogAppendTime
		case "compression.type":
			if value == "uncompressed" {
				cfg.Compression = record.Compression{Codec: record.None}
			}
		case "preallocate":
			cfg.Preallocate = value == "true"
		case "flush.messages":
			cfg.FlushMessages = n
		case "max.message.bytes":
			cfg.MaxMessageBytes = int(n)
		case "cleanup.policy":
			cfg.Compact, cfg.Delete = value == "compact", value == "delete"
		case "log.message.timestamp.after.max.ms":
			cfg.TimestampAfterMaxMs = n
		case "log.retention.ms", "retention.ms":
			cfg.RetentionMs = n
		case "retention.bytes":
			cfg.RetentionBytes = n
		case "log.segment.delete.delay.ms":
			cfg.FileDeleteDelayMs = n
		case "segment.ms":
			cfg.SegmentMs = n
		}
	}
	return cfg
}
