package integration

import (
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

// replay runs the steps of a case against a broker process and hands each capture to compare.
type replay struct {
	t       *testing.T
	c       *Case
	data    string
	addr    string
	broker  *Process
	conn    *Conn
	answers []string
	compare func(capture string, got Tree)
}

func (r *replay) run() {
	r.t.Helper()
	for i, s := range r.c.Steps {
		r.step(i, s)
	}
	if r.conn != nil {
		r.conn.Close()
	}
	want, err := os.ReadFile(filepath.Join(r.c.dir, "responses.txt"))
	if err != nil {
		r.t.Fatal(err)
	}
	compareLines(r.t, "answers", strings.Split(strings.TrimSpace(string(want)), "\n"), r.answers)
}

func compareLines(t *testing.T, what string, want, got []string) {
	t.Helper()
	differ := 0
	for i := range max(len(want), len(got)) {
		var w, g string
		if i < len(want) {
			w = strings.TrimSpace(want[i])
		}
		if i < len(got) {
			g = strings.TrimSpace(got[i])
		}
		if w != g {
			differ++
			if differ <= 10 {
				t.Errorf("%s, line %d:\n Kafka      %s\n minibroker %s", what, i+1, w, g)
			}
		}
	}
	t.Logf("%s: %d of %d lines equal", what, max(len(want), len(got))-differ, max(len(want), len(got)))
}

func (r *replay) say(i int, format string, args ...any) {
	r.answers = append(r.answers, fmt.Sprintf("step %d: ", i)+fmt.Sprintf(format, args...))
}

func (r *replay) step(i int, s Step) {
	r.t.Helper()
	switch s.Op {
	case "start", "stop", "kill", "wipe":
		r.lifecycle(s)
		r.say(i, "%s", s.Op)
	case "wait":
		r.wait(i, s)
		r.say(i, "wait %d ms", s.Ms)
	case "create":
		if err := r.conn.CreateTopic(s.Topic, max(s.Partitions, 1), s.Config); err != nil {
			r.t.Fatalf("step %d: %v", i, err)
		}
		r.say(i, "create %s", s.Topic)
	case "produce":
		r.produce(i, s)
	case "offsets":
		start, err := r.conn.ListOffset(s.Topic, s.Partition, -2)
		end, err2 := r.conn.ListOffset(s.Topic, s.Partition, -1)
		if err != nil || err2 != nil {
			r.t.Fatalf("step %d: %v %v", i, err, err2)
		}
		r.say(i, "offsets %s-%d start %d end %d ", s.Topic, s.Partition, start, end)
	case "deleteRecords":
		low, code, err := r.conn.DeleteRecords(s.Topic, s.Partition, s.Offset)
		if err != nil {
			r.t.Fatalf("step %d: %v", i, err)
		}
		r.say(i, "deleteRecords %s-%d before %d: lowWatermark %d error %d ", s.Topic, s.Partition, s.Offset, low, code)
	case "alter", "deleteTopic":
		r.changeTopic(i, s)
	case "capture":
		r.capture(s.Name)
		r.say(i, "capture %s", s.Name)
	default:
		r.t.Fatalf("step %d: unknown step %q", i, s.Op)
	}
}

func (r *replay) lifecycle(s Step) {
	r.t.Helper()
	if r.conn != nil {
		r.conn.Close()
		r.conn = nil
	}
	switch s.Op {
	case "start":
		r.broker, r.conn = startCase(r.t, r.data, r.addr, r.c.Broker)
	case "stop":
		r.broker.Stop(r.t)
		r.broker = nil
	case "kill":
		r.broker.Kill()
		r.broker = nil
	case "wipe":
		if err := os.RemoveAll(r.data); err != nil {
			r.t.Fatal(err)
		}
	}
}

// wait lets the time pass that Kafka was given, or ends early when the files on disk are those of the coming capture,
// by their names, sizes and checkpoints.
func (r *replay) wait(i int, s Step) {
	r.t.Helper()
	limit := time.Duration(s.Ms) * time.Millisecond
	name := r.c.nextCapture(i)
	if name == "" {
		<-time.After(limit) // the case measures time itself: a segment that rolls by age
		return
	}
	want := readArchive(r.t, r.c.archive(name))
	await(max(limit, patience/2), func() bool { return r.settled(want) && r.sizesEqual(want) })
}

// sizesEqual looks at the names and sizes of all files only, which costs little and tells when something was renamed,
// removed or written.
func (r *replay) sizesEqual(want Tree) bool {
	got, expected := withoutIDs(listDir(r.t, r.data)), withoutIDs(want)
	for path, w := range expected {
		if g, ok := got[path]; !ok || (g.Size != w.Size && neutral(path, w).Size == w.Size) {
			return false
		}
	}
	return len(got) == len(expected)
}

func (r *replay) settled(want Tree) bool {
	for path, w := range want { // leader epochs and snapshots come just after a start
		if strings.HasPrefix(path, "__cluster_metadata-0/") || strings.Contains(path, "-delete/") {
			continue
		}
		if strings.HasSuffix(path, ".snapshot") {
			if _, err := os.Stat(filepath.Join(r.data, path)); err != nil {
				return false
			}
		}
		if !strings.HasSuffix(path, "-checkpoint") {
			continue
		}
		got, err := os.ReadFile(filepath.Join(r.data, path))
		if err != nil || !sameLines(got, w.Data) {
			return false
		}
	}
	return true
}

func (r *replay) capture(name string) {
	r.t.Helper()
	want := readArchive(r.t, r.c.archive(name))
	if r.broker != nil {
		await(patience/10, func() bool { return r.settled(want) })
	}
	got := readDir(r.t, r.data)
	if r.broker != nil { // a checkpoint may be on its way to being replaced
		got = withoutMatching(got, regexp.MustCompile(`^[^/]*\.tmp$`))
	}
	r.compare(name, got)
}

// produce sends the step's batches and words the answers as responses.txt does: runs of equal ones are shortened.
func (r *replay) produce(i int, s Step) {
	r.t.Helper()
	var first, last string
	count, previous := 0, int16(0)
	flush := func() {
		switch {
		case count > 1:
			r.say(i, "produce %s-%d: %s ... %s (%d batches)", s.Topic, s.Partition, first, last, count)
		case count == 1:
			r.say(i, "produce %s-%d: %s", s.Topic, s.Partition, first)
		}
		count = 0
	}
	for n := s.From; n < s.To; n++ {
		p, err := r.conn.Produce(s.Topic, s.Partition, r.c.input[n])
		if err != nil {
			r.t.Fatalf("step %d: produce batch %d: %v\n%s", i, n, err, r.broker.Output())
		}
		last = fmt.Sprintf("batch %d error %d baseOffset %d logStartOffset %d", n, p.ErrorCode, p.BaseOffset, p.LogStartOffset)
		if p.LogAppendTime >= 0 {
			last += " logAppendTime set"
		}
		if p.ErrorMessage != nil {
			last += " " + *p.ErrorMessage
		}
		if p.ErrorCode != previous || p.ErrorCode != 0 || s.To-s.From < 12 {
			flush()
		}
		if count == 0 {
			first = last
		}
		count++
		previous = p.ErrorCode
	}
	flush()
}

// startCase starts the broker of a recorded case with the case's settings and connects to it.
func startCase(t *testing.T, data, addr string, settings map[string]string) (*Process, *Conn) {
	t.Helper()
	var overrides []string
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		overrides = append(overrides, k+"="+settings[k])
	}
	broker := startProcess(t, data, addr, overrides)
	conn, err := dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	return broker, conn
}
