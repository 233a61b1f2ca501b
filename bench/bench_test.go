package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the process of a limit, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "limit-") {
		if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const marked = "before\n<!-- begin report -->\nwhat was here\n<!-- end report -->\nbetween\n<!-- begin cost -->\n<!-- end cost -->\nafter\n"

// TestReport runs every case on minibroker, small. A case fails where records are lost, doubled or changed.
func TestReport(t *testing.T) {
	dir := t.TempDir()
	docs, values := filepath.Join(dir, "docs.md"), filepath.Join(dir, "values.json")
	if err := os.WriteFile(docs, []byte(marked), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	args := []string{"report", "-quick", "-rounds", "1", "-peers", "minibroker", "-scratch", dir, "-docs", docs, "-json", values}
	if err := run(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(values)
	if err != nil {
		t.Fatal(err)
	}
	var r results
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Outcomes) > 0 {
		t.Errorf("no figures: %+v", r.Outcomes)
	}
	has := map[string]bool{}
	for _, f := range r.Figures {
		has[f.Case] = true
	}
	for _, c := range append(benchCases(), benchCase{name: limitCase}) {
		if !has[c.name] {
			t.Errorf("no figure of %q", c.name)
		}
	}
	var again strings.Builder
	if err := run(t.Context(), []string{"report", "-from", values}, &again); err != nil || again.String() != out.String() {
		t.Errorf("what was saved prints another report, %v:\n%s", err, again.String())
	}
	raw, err = os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(raw); !strings.Contains(s, "### All figures") || strings.Contains(s, "what was here") || !strings.HasPrefix(s, "before\n") || !strings.HasSuffix(s, "after\n") {
		t.Errorf("the document is now\n%s", s)
	}
}

// TestCosts measures the table of costs, small.
func TestCosts(t *testing.T) {
	dir := t.TempDir()
	docs := filepath.Join(dir, "docs.md")
	if err := os.WriteFile(docs, []byte(marked), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(t.Context(), []string{"cost", "-quick", "-rounds", "1", "-scratch", dir, "-docs", docs}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| partitions |", "| connections |", "| segments |", "| last / first |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// TestJudge: what holds and what does not, for each kind of aim.
func TestJudge(t *testing.T) {
	r := &results{Peers: []string{"Kafka", "minibroker"}}
	r.add(figure{Case: "c", Name: "time", Good: less}, "Kafka", 100)
	r.add(figure{Case: "c", Name: "time", Good: less}, "minibroker", 20)
	r.add(figure{Case: "c", Name: "rate", Good: more}, "Kafka", 100)
	r.add(figure{Case: "c", Name: "rate", Good: more}, "minibroker", 350)
	r.add(figure{Case: limitCase, Name: "l", Good: more}, limitPeer, 700)
	for _, test := range []struct {
		a       aim
		own     float64
		reached string
		holds   bool
	}{
		{aim{name: "c", figure: "time", times: 5}, 20, "5.00 times", true},
		{aim{name: "c", figure: "time", times: 6}, 20, "5.00 times", false},
		{aim{name: "c", figure: "rate", times: 3}, 350, "3.50 times", true},
		{aim{name: "c", figure: "rate", times: 4}, 350, "3.50 times", false},
		{aim{name: "c", figure: "rate", limit: "l", part: 0.5}, 350, "50 %", true},
		{aim{name: "c", figure: "rate", limit: "l", part: 0.6}, 350, "50 %", false},
		{aim{name: "c", figure: "time", most: 10}, 20, "20.0", false},
		{aim{name: "c", figure: "time", most: 30}, 20, "20.0", true},
		{aim{name: "c", figure: "rate", limit: "unknown", part: 0.6}, 350, "", false},
	} {
		if _, reached, _, holds := r.judge(test.a, test.own); reached != test.reached || holds != test.holds {
			t.Errorf("%+v: reached %q, holds %v", test.a, reached, holds)
		}
	}
	r.none(outcome{Case: "c", Peer: "Kafka", Reason: "lost a record", Failed: true})
	if _, ok := r.of("c", "time", "Kafka"); ok {
		t.Error("a broker that failed in one round has a figure from the others")
	}
}

// TestGrew: a series may swing, but its last third must not lie above the middle one by more than is allowed.
func TestGrew(t *testing.T) {
	samples := func(at func(k int) float64) (all []sample) {
		for k := range 90 {
			all = append(all, sample{"x": at(k)})
		}
		return all
	}
	v := series{name: "x", part: 0.05, noise: 2}
	for _, test := range []struct {
		what string
		at   func(k int) float64
		grew bool
	}{
		{"level", func(int) float64 { return 100 }, false},
		{"warms up", func(k int) float64 { return min(100, float64(k)*4) }, false},
		{"saw", func(k int) float64 { return 100 + float64(k%10)*5 }, false},
		{"one peak at the end", func(k int) float64 { return 100 + float64(k/89)*500 }, false},
		{"slope", func(k int) float64 { return 100 + float64(k) }, true},
		{"slope under a saw", func(k int) float64 { return 100 + float64(k) + float64(k%7)*5 }, true},
	} {
		if parts := thirds(samples(test.at), "x"); v.grew(parts) != test.grew {
			t.Errorf("%s: thirds %v, grew %v", test.what, parts, !test.grew)
		}
	}
}

// TestSoak runs all loads at once until each has done its thing.
func TestSoak(t *testing.T) {
	bed, err := makeBed(t.TempDir(), "21700-21799")
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSoak(t.Context(), bed, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.i.kill()
	loading, end := context.WithCancel(t.Context())
	defer end()
	if err := s.load.prepare(loading); err != nil {
		t.Fatal(err)
	}
	failed := s.load.begin(loading)
	waiting, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	err = until(waiting, 10*time.Millisecond, func() error {
		for _, j := range s.load.jobs {
			if j.count.Load() == 0 && len(failed) == 0 {
				return fmt.Errorf("no %s", j.what)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	at, err := s.look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range append(soakSeries(), series{name: "peak RSS"}) {
		if at[v.name] <= 0 {
			t.Errorf("%s is not in the sample %v", v.name, at)
		}
	}
	end()
	for err := range failed {
		t.Error(err)
	}
	if err := s.i.stop(); err != nil {
		t.Error(err)
	}
}

// TestCompare: a benchmark that allocates more often is named, one that is slower is not: a machine may be busy.
func TestCompare(t *testing.T) {
	c := &comparison{count: 2, now: map[string]*benchResult{}, then: map[string]*benchResult{}}
	for range 2 {
		c.read(c.then, "log", "goos: linux\nBenchmarkAppend/100-2   \t 100\t 200 ns/op\t 5.5 MB/s\t 16 B/op\t 1 allocs/op\nBenchmarkRead-2 10 7 ns/op\nBenchmarkGone 1 1 ns/op 0 B/op 0 allocs/op\n")
		c.read(c.now, "log", "BenchmarkAppend/100-2 100 100 ns/op 5.5 MB/s 32 B/op 2 allocs/op\nBenchmarkRead-2 10 28 ns/op\nBenchmarkNew 1 1 ns/op 0 B/op 0 allocs/op\nPASS\n")
	}
	text, err := c.report("HEAD^")
	if err == nil || err.Error() != "log Append/100: 2.00 allocations instead of 1.00" {
		t.Errorf("error %v", err)
	}
	for _, want := range []string{"| log Append/100 | 200 | 100 | 0.500 | 16.0 | 32.0 | 1.00 | 2.00 |", "| log Read | 7.00 | 28.0 | 4.00 | – | – | – | – |", "2 benchmarks, 2 runs", "is 1.41 times"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}
