package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// txnStep is one step of a transaction case, with what Kafka answered.
type txnStep struct {
	Do         string            `json:"do"`
	Note       string            `json:"note"`
	Name       string            `json:"name"`
	Topic      string            `json:"topic"`
	Partition  int32             `json:"partition"`
	Partitions int32             `json:"partitions"`
	Configs    map[string]string `json:"configs"`
	File       string            `json:"file"`
	Producer   string            `json:"producer"`
	TxnID      string            `json:"transactional_id"`
	TimeoutMs  int32             `json:"timeout_ms"`
	Group      string            `json:"group"`
	Version    int16             `json:"version"`
	Commit     bool              `json:"commit"`
	Kill       bool              `json:"kill"`
	Offset     int64             `json:"offset"`
	Isolation  int8              `json:"isolation"`
	MaxBytes   int32             `json:"max_bytes"`
	Ms         int               `json:"ms"`
	Dirs       []string          `json:"dirs"`
	Files      map[string]string `json:"files"`
	Want       string            `json:"want"`
}

type txnCase struct {
	Name   string            `json:"name"`
	Broker map[string]string `json:"broker"`
	Steps  []txnStep         `json:"steps"`

	files Tree // the inputs and Kafka's captures
}

func loadTxnCase(t *testing.T, name string) *txnCase {
	t.Helper()
	dir := filepath.Join("testdata", "golden", "txn", name)
	js, err := os.ReadFile(filepath.Join(dir, "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	c := &txnCase{files: readArchive(t, filepath.Join(dir, "files.tar.zst"))}
	if err := json.Unmarshal(js, c); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

// TestGoldenTransactions takes the steps that Kafka was taken through and expects its answers and its directories.
// The four cases of "shared" ran on one broker, in this order, and so share producer ids and __transaction_state.
func TestGoldenTransactions(t *testing.T) {
	for _, group := range [][]string{
		{"committed-v4"}, {"committed-v5"}, {"aborted-v4"}, {"aborted-v5"}, {"interleaved"}, {"spanning"},
		{"two-producers"}, {"open-clean-stop"}, {"open-kill"}, {"offsets-v4"}, {"offsets-v5"}, {"lifecycle"},
		{"lifecycle-v5", "timeout", "errors", "snapshots"},
	} {
		name := group[0]
		if len(group) > 1 {
			name = "shared"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &txnReplay{data: filepath.Join(t.TempDir(), "data"), addr: freeAddr(t)}
			for _, name := range group {
				r.run(t, loadTxnCase(t, name))
			}
		})
	}
}

// txnReplay is a broker under test.
type txnReplay struct {
	data   string
	addr   string
	broker *Process
	conn   *Conn

	t         *testing.T
	c         *txnCase
	producers map[string]*txnProducer
}

type txnProducer struct {
	id    int64
	epoch int16
}

func (r *txnReplay) run(t *testing.T, c *txnCase) {
	t.Helper()
	r.t, r.c, r.producers = t, c, map[string]*txnProducer{}
	if r.broker == nil {
		r.start()
	}
	equal := 0
	for i, s := range c.Steps {
		got := r.step(s)
		switch {
		case got == s.Want || deviates(c.Name, i):
			equal++
		default:
			t.Errorf("%s, step %d, %s %s:\n Kafka      %s\n minibroker %s", c.Name, i, s.Do, s.Note, s.Want, got)
		}
	}
	t.Logf("%s: %d of %d answers equal", c.Name, equal, len(c.Steps))
}

// deviates says where minibroker knows better: a producer's last five batches are recognised after a restart, of which
// Kafka then knows the last one only.
func deviates(name string, step int) bool { return name == "snapshots" && step == 25 }

func (r *txnReplay) start() {
	r.broker, r.conn = startCase(r.t, r.data, r.addr, r.c.Broker)
}

func (r *txnReplay) stop(kill bool) {
	r.conn.Close()
	if kill {
		r.broker.Kill()
	} else {
		r.broker.Stop(r.t)
	}
}

// tamper empties ("=TEXT" overwrites) or removes ("") files of a broker that is down.
func (r *txnReplay) tamper(files map[string]string) {
	for pattern, content := range files {
		found, err := filepath.Glob(filepath.Join(r.data, pattern))
		if err != nil {
			r.t.Fatal(err)
		}
		for _, name := range found {
			if text, ok := strings.CutPrefix(content, "="); ok {
				text = strings.ReplaceAll(text, `\n`, "\n")
				err = os.WriteFile(name, []byte(text), 0o644)
			} else {
				err = os.Remove(name)
			}
			if err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// capture compares the directories of a capture. What a clock writes, checkpoints of a running or killed broker, is left
// out; checkpoints of a clean stop are compared.
func (r *txnReplay) capture(s txnStep) {
	var diffs []string
	var files int
	await(patience/10, func() bool { // leader epochs are written just after a start
		want, got := r.captured(s)
		diffs, files = compareTrees(want, got)
		return len(diffs) == 0
	})
	r.t.Logf("%s/%s: %d of %d files equal", r.c.Name, s.Name, files-len(diffs), files)
	for _, d := range diffs {
		r.t.Errorf("%s/%s: %s", r.c.Name, s.Name, d)
	}
}

// captured gives the files of a capture to be compared.
func (r *txnReplay) captured(s txnStep) (want, got Tree) {
	want, got = Tree{}, Tree{}
	for path, c := range r.c.files {
		if rel, ok := strings.CutPrefix(path, s.Name+"/"); ok {
			want[rel] = c
		}
	}
	for _, pattern := range s.Dirs {
		for _, sub := range []string{pattern, pattern + "/*"} {
			found, err := filepath.Glob(filepath.Join(r.data, sub))
			if err != nil {
				r.t.Fatal(err)
			}
			for _, name := range found {
				if b, err := os.ReadFile(name); err == nil {
					rel, _ := filepath.Rel(r.data, name)
					got[rel] = newContent(b)
				}
			}
		}
	}
	checkpoints := regexp.MustCompile(`^[^/]*-checkpoint$`)
	if !strings.HasPrefix(s.Name, "clean") {
		dropMatching(want, checkpoints)
		dropMatching(got, checkpoints)
	}
	for _, tree := range []Tree{want, got} {
		for path, c := range tree {
			tree[path] = withoutClocks(r.t, path, c, s.Dirs)
		}
	}
	return want, got
}

func inDirs(path string, dirs []string) bool {
	first, _, _ := strings.Cut(path, "/")
	return slices.ContainsFunc(dirs, func(pattern string) bool {
		ok, _ := filepath.Match(pattern, first)
		return ok
	})
}
