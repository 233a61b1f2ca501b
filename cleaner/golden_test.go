package cleaner

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"minibroker/internal/vfs"
	"minibroker/logstore"
	"minibroker/record"
)

// TestGolden does to logs what was done to Kafka's and compares the directory
// after each pass, and what a reader gets at each offset.
func TestGolden(t *testing.T) {
	archives, err := filepath.Glob(filepath.Join("testdata", "kafka", "*.tar.zst"))
	must(t, err)
	total := goldenCount{}
	for _, path := range archives {
		name := strings.TrimSuffix(filepath.Base(path), ".tar.zst")
		if name == "crash" {
			continue // see TestLeftovers
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &goldenRun{t: t, c: loadGolden(t, name)}
				r.run()
				t.Logf("%v", r.goldenCount)
				total.add(r.goldenCount)
			})
		})
	}
	t.Logf("all cases: %v", total)
}

// goldenCount counts what was compared.
type goldenCount struct{ files, equal, records, lines, equalLines int }

func (g *goldenCount) add(o goldenCount) {
	g.files += o.files
	g.equal += o.equal
	g.records += o.records
	g.lines += o.lines
	g.equalLines += o.equalLines
}

func (g goldenCount) String() string {
	return fmt.Sprintf("%d of %d files equal byte for byte, %d record for record; %d of %d fetches equal",
		g.equal, g.files, g.records, g.equalLines, g.lines)
}

// goldenRun is one case being done again.
type goldenRun struct {
	goldenCount
	t       *testing.T
	c       *goldenCase
	n       *node
	configs map[string]logstore.Config
	lenient map[string]bool // files that the loading of a capture wrote or changed
	epoch   int32
	stopped bool
}

func (r *goldenRun) run() {
	time.Sleep(time.Until(time.Date(2026, 11, 30, 4, 0, 0, 0, time.UTC)))
	r.configs, r.lenient = map[string]logstore.Config{}, map[string]bool{}
	if r.c.needsCapture() {
		r.n = nil
	} else {
		r.fresh()
		r.n.open()
	}
	for i, s := range r.c.Steps {
		if r.t.Failed() {
			break
		}
		r.step(i, s)
	}
	if r.n != nil {
		must(r.t, r.n.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
	}
}

// fresh makes an empty node.
func (r *goldenRun) fresh() {
	if r.n != nil {
		must(r.t, r.n.store.Abort())
	}
	settings := testSettings()
	if v, err := strconv.ParseInt(r.c.Configs["log.cleaner.dedupe.buffer.size"], 10, 64); err == nil {
		settings.DedupeBufferBytes = v
	}
	if v, err := strconv.ParseFloat(r.c.Configs["log.cleaner.io.buffer.load.factor"], 64); err == nil {
		settings.LoadFactor = v
	}
	r.n = &node{t: r.t, fs: vfs.NewMem(), dir: "/data", settings: settings,
		config: func(topic string) logstore.Config { return r.configs[topic] }}
}

func (r *goldenRun) step(i int, s goldenStep) {
	tp := logstore.TopicPartition{Topic: s.Topic}
	switch s.Do {
	case "create_topic":
		cfg := goldenConfig(logstore.DefaultConfig(), s.Configs)
		r.configs[s.Topic] = cfg
		if r.n != nil {
			log, err := r.n.store.Create(tp, logstore.NewUUID(), nil, cfg)
			must(r.t, err)
			must(r.t, log.AssignEpoch(r.epoch))
		}
	case "alter_topic":
		r.configs[s.Topic] = goldenConfig(r.configs[s.Topic], s.Configs)
		if r.n != nil {
			r.n.log(s.Topic).SetConfig(r.configs[s.Topic])
		}
	case "produce":
		r.produce(s)
	case "sleep":
		r.sleep(time.Duration(s.Ms) * time.Millisecond)
	case "delete_records":
		_, err := r.n.log(s.Topic).DeleteRecords(s.Offset, r.n.log(s.Topic).EndOffset())
		must(r.t, err)
	case "wait_cleaned":
		r.waitCleaned(i, s)
	case "capture":
		r.capture(s)
	case "fetch_each":
		r.fetchEach(s)
	case "stop", "start":
		r.restart(s)
	}
}

// sleep lets the cleaner work when its back-off has passed.
func (r *goldenRun) sleep(d time.Duration) {
	if r.n == nil || r.stopped {
		time.Sleep(d)
		return
	}
	time.Sleep(min(d, r.n.settings.Backoff))
	for r.n.cleaner.Round(context.Background()) {
	}
	time.Sleep(max(0, d-r.n.settings.Backoff))
	r.removeDue()
}

func (r *goldenRun) removeDue() {
	_, err := r.n.store.RemoveDue(time.Now())
	must(r.t, err)
}

func (r *goldenRun) produce(s goldenStep) {
	if r.n == nil {
		return
	}
	for data := r.c.files[s.File]; len(data) > 0; {
		b, rest, err := record.Next(data)
		must(r.t, err)
		data = rest
		if b.IsTransactional() {
			return // comes with the next capture
		}
		_, err = r.n.log(s.Topic).Append(slices.Clone(b), logstore.AppendOptions{LeaderEpoch: r.epoch})
		if ok := strings.Contains(s.Want, "ok base="); ok != (err == nil) {
			r.t.Fatalf("produce %s: %v, Kafka %s", s.File, err, s.Want)
		}
	}
}

// waitCleaned lets passes run at the moment Kafka's ran.
func (r *goldenRun) waitCleaned(i int, s goldenStep) {
	cfg := r.configs[s.Topic]
	if at := r.c.passTime(r.c.nextCapture(i), cfg.DeleteRetentionMs); at > time.Now().UnixMilli() {
		time.Sleep(time.Until(time.UnixMilli(at)))
	}
	for r.n.cleaner.Round(context.Background()) {
	}
	if !s.Kill {
		time.Sleep(time.Duration(cfg.FileDeleteDelayMs) * time.Millisecond)
	}
	r.removeDue()
	_, text, _ := strings.Cut(s.Want, "checkpoint ")
	want, err := strconv.ParseInt(text, 10, 64)
	must(r.t, err)
	if got := r.n.checkpoint(s.Topic); got != want {
		r.t.Errorf("step %d: checkpoint %d, Kafka %d", i, got, want)
	}
}

// capture compares the directory with Kafka's. Where the log had to come from
// Kafka, captures taken before a pass are where it comes from.
func (r *goldenRun) capture(s goldenStep) {
	want := r.c.capture(s.Name)
	if r.c.needsCapture() && strings.HasPrefix(s.Name, "before") {
		r.adopt(want)
		return
	}
	got := map[string][]byte{}
	for _, dir := range dirsOf(want) {
		maps.Copy(got, r.n.files(dir))
	}
	for path := range r.lenient {
		delete(want, path)
	}
	for path := range got {
		if r.lenient[path] || filepath.Base(path) == "partition.metadata" {
			delete(got, path)
		}
	}
	checkpoint := want["cleaner-offset-checkpoint"]
	delete(want, "cleaner-offset-checkpoint")
	for _, path := range slices.Sorted(maps.Keys(want)) {
		have, ok := got[path]
		delete(got, path)
		r.files++
		if !ok {
			r.t.Errorf("%s: only Kafka has %s, %d bytes", s.Name, path, len(want[path]))
			continue
		}
		note, diff := sameFile(path, want[path], have)
		switch {
		case diff != "":
			r.t.Errorf("%s: %s: %s", s.Name, path, diff)
		case note != "":
			r.records++
		default:
			r.equal++
		}
	}
	for path, b := range got {
		r.t.Errorf("%s: only here is %s, %d bytes", s.Name, path, len(b))
	}
	r.compareCheckpoint(s.Name, checkpoint)
}

func dirsOf(files map[string][]byte) []string {
	var all []string
	for path := range files {
		if dir := filepath.Dir(path); dir != "." && !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	return all
}

// compareCheckpoint compares the lines of the case's topics.
func (r *goldenRun) compareCheckpoint(name string, want []byte) {
	for _, line := range strings.Split(strings.TrimSpace(string(want)), "\n") {
		fields := strings.Fields(line)
		if len(fields) != 3 || r.configs[fields[0]] == (logstore.Config{}) {
			continue
		}
		if got := fmt.Sprint(r.n.checkpoint(fields[0])); got != fields[2] {
			r.t.Errorf("%s: checkpoint of %s is %s, Kafka %s", name, fields[0], got, fields[2])
		}
	}
}

// adopt loads a directory of Kafka's, stopped at that moment.
func (r *goldenRun) adopt(files map[string][]byte) {
	r.fresh()
	points := "0\n" + strconv.Itoa(len(dirsOf(files))) + "\n"
	for path, data := range files {
		writeFile(r.t, r.n.fs, filepath.Join(r.n.dir, path), data)
	}
	for _, dir := range dirsOf(files) {
		active := int64(-1)
		for path := range files {
			if base, ok := strings.CutSuffix(filepath.Base(path), ".log"); ok && filepath.Dir(path) == dir {
				n, _ := strconv.ParseInt(base, 10, 64)
				active = max(active, n)
			}
		}
		points += fmt.Sprintf("%s 0 %d\n", strings.TrimSuffix(dir, "-0"), active)
	}
	writeFile(r.t, r.n.fs, filepath.Join(r.n.dir, "recovery-point-offset-checkpoint"), []byte(points))
	r.n.open()
	r.lenient = map[string]bool{}
	for _, dir := range dirsOf(files) {
		for path, have := range r.n.files(dir) {
			before, ok := files[path]
			if !ok && strings.HasSuffix(path, ".snapshot") || ok && !bytes.Equal(before, have) {
				r.lenient[path] = true
			}
		}
	}
}

func (r *goldenRun) restart(s goldenStep) {
	if r.n == nil {
		return
	}
	if s.Do == "stop" {
		must(r.t, r.n.store.Close(logstore.CleanStop{BrokerEpoch: -1}))
		r.stopped = true
		return
	}
	if r.stopped { // else the capture of a stopped broker was adopted
		r.n.open()
		r.stopped = false
	}
	r.epoch += 2
	for _, log := range r.n.store.Logs() {
		must(r.t, log.AssignEpoch(r.epoch))
	}
}

func (r *goldenRun) fetchEach(s goldenStep) {
	text, ok := r.c.files[s.Name]
	if !ok {
		r.t.Fatalf("no file %s", s.Name)
	}
	for _, want := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		at, rest, _ := strings.Cut(want, ":")
		offset, err := strconv.ParseInt(at, 10, 64)
		must(r.t, err)
		r.lines++
		got := r.n.fetchLine(s.Topic, offset)
		if !strings.HasPrefix(rest, " ok") { // an error, whatever its name
			got, want = fmt.Sprint(strings.Contains(got, "out of range")), "true"
		}
		got, want = withoutCompressedSize(got, want)
		if got == want {
			r.equalLines++
			continue
		}
		r.t.Errorf("%s:\n here  %s\n Kafka %s", s.Name, got, want)
	}
}

// withoutCompressedSize drops the size of an answer that is a compressed batch;
// how well it was compressed is not compared.
func withoutCompressedSize(got, want string) (string, string) {
	got, compressed := strings.CutSuffix(got, " compressed")
	if !compressed {
		return got, want
	}
	size := regexp.MustCompile(`bytes=\d+`)
	return size.ReplaceAllString(got, ""), size.ReplaceAllString(want, "")
}
