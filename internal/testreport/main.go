// Command testreport reads the output of go test -json, prints a line for each package and the output of each test that
// failed or was skipped, and ends with the counts: "N passed, N failed, N skipped". It exits with 1 when anything failed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// event is one line of go test -json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
	Elapsed float64
}

// report counts results and keeps the output of tests that are not done yet.
type report struct {
	out                     io.Writer
	passed, failed, skipped int
	broken                  int // packages that failed without a test of theirs failing
	output                  map[string]*strings.Builder
	failures                map[string]int // by package
}

func main() {
	os.Exit(run(os.Stdin, os.Stdout))
}

func run(in io.Reader, out io.Writer) int {
	r := &report{out: out, output: map[string]*strings.Builder{}, failures: map[string]int{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &e) == nil:
			r.event(e)
		default:
			out.Write(line) // a build's own words
		}
		if err != nil {
			break
		}
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", r.passed, r.failed+r.broken, r.skipped)
	if r.failed+r.broken > 0 || r.passed == 0 {
		return 1
	}
	return 0
}

func (r *report) event(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		if r.output[key] == nil {
			r.output[key] = &strings.Builder{}
		}
		r.output[key].WriteString(e.Output)
		return
	case "pass", "fail", "skip":
	default:
		return
	}
	if e.Test == "" {
		r.packageDone(e, key)
		return
	}
	switch e.Action {
	case "pass":
		r.passed++
	case "skip":
		r.skipped++
		r.print(key)
	case "fail":
		r.failed++
		r.failures[e.Package]++
		r.print(key)
	}
	delete(r.output, key)
}

func (r *report) packageDone(e event, key string) {
	if e.Action == "fail" && r.failures[e.Package] == 0 {
		r.broken++
		r.print(key)
	}
	fmt.Fprintf(r.out, "%-5s %s %.1fs\n", e.Action, e.Package, e.Elapsed)
	delete(r.output, key)
}

func (r *report) print(key string) {
	if b := r.output[key]; b != nil {
		io.WriteString(r.out, b.String())
	}
}
