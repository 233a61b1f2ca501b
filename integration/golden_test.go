package integration

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goldenCase names a case, the files whose bytes are a clock's or a compressor's (compared by their records instead),
// and the captures that are not compared.
type goldenCase struct {
	name    string
	decoded string // logs compared by their records: pattern over paths
	inexact string // files that are not compared byte for byte: pattern over paths
	// timed says that captures lie between two runs of a task that runs every second: on a busy machine a step may come
	// too late for its capture, so the case gets more than one try.
	timed bool
	// racing maps a capture to files that it caught between two runs of a periodic task: pattern over paths.
	racing map[string]string
}

// TestGolden replays what Kafka 4.4.0 was given and compares answers and directories with Kafka's.
func TestGolden(t *testing.T) {
	cases := []goldenCase{
		{name: "ex1"},
		{name: "seg2"},
		{name: "restart"},
		{name: "roll-time"},
		{name: "roll-size"},
		{name: "codecs", decoded: `^c-(gzip|snappy|lz4|zstd)-`, inexact: `^c-(gzip|snappy|lz4|zstd)-0/.*\.log$`},
		{name: "index", decoded: `^lat`, inexact: `^lat.*\.(log|timeindex)$`},
		{name: "records"},
		{name: "reject"},
		{name: "idempotent"},
		// Captured at once after the start; the first checkpoints come a second later.
		{name: "multi", racing: map[string]string{"empty-running": `^(recovery-point|log-start)-offset-checkpoint$`}},
		{name: "preallocate"},
		{name: "delete-records", timed: true},
		{name: "retention", timed: true},
		// The topic is made again and the broker killed at once.
		{name: "delete-topic", timed: true, racing: map[string]string{"deleted-kill9": `^(recovery-point|replication)-offset-checkpoint$`}},
	}
	for _, g := range cases {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			g.run(t)
		})
	}
}

// tries is how often a timed case is replayed at most.
const tries = 4

func (g goldenCase) run(t *testing.T) {
	c := loadCase(t, g.name)
	for try := 1; ; try++ {
		var diffs []string
		r := &replay{t: t, c: c, data: filepath.Join(t.TempDir(), "data"), addr: freeAddr(t)}
		r.compare = func(capture string, got Tree) {
			t.Helper()
			diffs = append(diffs, g.compareCapture(t, c, capture, got)...)
		}
		r.run()
		if len(diffs) == 0 {
			if c.endsStopped() && javaThere() {
				dumpLog(t, r.data)
			}
			return
		}
		if !g.timed || try == tries {
			t.Errorf("%d files differ:\n%s", len(diffs), strings.Join(diffs[:min(len(diffs), 20)], "\n"))
			return
		}
		t.Logf("try %d: %d files differ, the first: %s; once more", try, len(diffs), diffs[0])
	}
}

// compareCapture lists the files of a capture that differ from Kafka's.
func (g goldenCase) compareCapture(t *testing.T, c *Case, capture string, got Tree) []string {
	t.Helper()
	want := readArchive(t, c.archive(capture))
	if g.inexact != "" {
		inexact := regexp.MustCompile(g.inexact)
		dropMatching(want, inexact)
		if decoded, _ := filepath.Glob(filepath.Join(c.dir, capture+".decoded.txt")); len(decoded) == 1 {
			compareDecoded(t, decoded[0], got, regexp.MustCompile(g.decoded))
		}
		got = withoutMatching(got, inexact)
	}
	if pattern, ok := g.racing[capture]; ok {
		dropMatching(want, regexp.MustCompile(pattern))
		got = withoutMatching(got, regexp.MustCompile(pattern))
	}
	diffs, files := compareTrees(want, got)
	t.Logf("%s/%s: %d of %d files equal", g.name, capture, files-len(diffs), files)
	for i := range diffs {
		diffs[i] = capture + ": " + diffs[i]
	}
	return diffs
}

func dropMatching(tree Tree, pattern *regexp.Regexp) {
	for path := range tree {
		if pattern.MatchString(path) {
			delete(tree, path)
		}
	}
}

func withoutMatching(tree Tree, pattern *regexp.Regexp) Tree {
	out := Tree{}
	for path, c := range tree {
		if !pattern.MatchString(path) {
			out[path] = c
		}
	}
	return out
}
