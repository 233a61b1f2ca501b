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
