package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// comparison runs the Go benchmarks of two trees in turns.
type comparison struct {
	root, base string // directories
	bin        string
	bench      string
	benchTime  string
	count      int
	now, then  map[string]*benchResult // by package and name
	order      []string
}

// benchResult is what the runs of one benchmark gave.
type benchResult struct{ nanoseconds, bytes, allocations []float64 }

// compareCommand compares this tree with another commit. It fails where something allocates more often than there.
func compareCommand(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	commit := f.String("base", "", "the commit to compare with (the parent of HEAD, or HEAD where the tree has changes)")
	bench := f.String("bench", ".", "the benchmarks, as for go test -bench")
	packages := f.String("packages", "./...", "the packages, with spaces between them")
	benchTime := f.String("time", "200ms", "how long each run of a benchmark takes")
	count := f.Int("count", 5, "how many runs, in turns; medians count")
	scratch := f.String("scratch", os.TempDir(), "where the other commit's tree goes")
	if err := f.Parse(args); err != nil {
		return err
	}
	bed, err := makeBed(*scratch, "21700-21799")
	if err != nil {
		return err
	}
	defer bed.remove()
	c := &comparison{root: bed.finder.root, base: filepath.Join(bed.place.scratch, "base"), bin: bed.finder.bin, bench: *bench, benchTime: *benchTime,
		count: *count, now: map[string]*benchResult{}, then: map[string]*benchResult{}}
	if *commit == "" {
		*commit = "HEAD"
		if changes, err := c.git(ctx, "status", "--porcelain", "--untracked-files=no"); err != nil {
			return err
		} else if changes == "" {
			*commit = "HEAD^"
		}
	}
	if _, err := c.git(ctx, "worktree", "add", "--quiet", "--detach", c.base, *commit); err != nil {
		return err
	}
	defer exec.Command("git", "-C", c.root, "worktree", "remove", "--force", c.base).Run()
	dirs, err := c.packages(ctx, strings.Fields(*packages))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := c.one(ctx, dir); err != nil {
			return err
		}
	}
	text, err := c.report(*commit)
	fmt.Fprint(out, text)
	return err
}

func (c *comparison) git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", append([]string{"-C", c.root}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, lastLine(out))
	}
	return strings.TrimSpace(string(out)), nil
}

// packages are the directories, seen from the root, that have benchmarks here.
func (c *comparison) packages(ctx context.Context, patterns []string) (dirs []string, err error) {
	list := exec.CommandContext(ctx, "go", append([]string{"list", "-f", "{{.Dir}}"}, patterns...)...)
	list.Dir = c.root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for _, dir := range strings.Fields(string(out)) {
		tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			return nil, err
		}
		has := slices.ContainsFunc(tests, func(name string) bool {
			b, err := os.ReadFile(name)
			return err == nil && strings.Contains(string(b), "\nfunc Benchmark")
		})
		if relative, err := filepath.Rel(c.root, dir); err == nil && has {
			dirs = append(dirs, relative)
		}
	}
	return dirs, nil
}

// one builds the tests of a package in both trees, and runs them in turns. A package that is new has nothing to be compared
// with.
func (c *comparison) one(ctx context.Context, dir string) error {
	if _, err := os.Stat(filepath.Join(c.base, dir)); err != nil {
		fmt.Fprintf(os.Stderr, "%s is not in the other commit\n", dir)
		return nil
	}
	var programs []string
	for _, tree := range []string{c.base, c.root} {
		program := filepath.Join(c.bin, fmt.Sprintf("%s-%d.test", strings.ReplaceAll(dir, "/", "-"), len(programs)))
		build := exec.CommandContext(ctx, "go", "test", "-c", "-trimpath", "-o", program, "./"+dir) // so that what is the same in both is built once
		build.Dir = tree
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the tests of %s in %s: %w: %s", dir, tree, err, lastLine(out))
		}
		programs = append(programs, program)
	}
	for range c.count {
		for k, into := range []map[string]*benchResult{c.then, c.now} {
			begun := time.Now()
			cmd := exec.CommandContext(ctx, programs[k], "-test.run", "^$", "-test.bench", c.bench, "-test.benchmem", "-test.benchtime", c.benchTime, "-test.timeout", "20m")
			cmd.Dir = filepath.Join([]string{c.base, c.root}[k], dir)
			out, err := cmd.CombinedOutput()
			if err != nil {
				return fmt.Errorf("benchmarks of %s in %s: %w: %s", dir, cmd.Dir, err, lastLine(out))
			}
			c.read(into, dir, string(out))
			fmt.Fprintf(os.Stderr, "%s  %s %.1f s\n", []string{"then", "now "}[k], dir, time.Since(begun).Seconds())
		}
	}
	return nil
}

// read takes the lines of benchmarks out of what go test prints.
func (c *comparison) read(into map[string]*benchResult, dir, printed string) {
	line := regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)
	for _, found := range line.FindAllStringSubmatch(printed, -1) {
		name := dir + " " + found[1]
		if into[name] == nil {
			into[name] = &benchResult{}
			if !slices.Contains(c.order, name) {
				c.order = append(c.order, name)
			}
		}
		r, fields := into[name], strings.Fields(found[2])
		for k := 0; k+1 < len(fields); k += 2 {
			v, err := strconv.ParseFloat(fields[k], 64)
			if err != nil {
				continue
			}
			switch fields[k+1] {
			case "ns/op":
				r.nanoseconds = append(r.nanoseconds, v)
			case "B/op":
				r.bytes = append(r.bytes, v)
			case "allocs/op":
				r.allocations = append(r.allocations, v)
			}
		}
	}
}

// report is a table, and an error that names what allocates more often than before. Pools that the collector empties make
// single allocations come and go in what otherwise has many: a fiftieth more is none.
func (c *comparison) report(commit string) (string, error) {
	var b strings.Builder
	rows := [][]string{{"benchmark", "ns, " + commit, "now", "ratio", "bytes, " + commit, "now", "allocations, " + commit, "now"}}
	var worse []error
	logs := 0.0
	for _, name := range c.order {
		then, now := c.then[name], c.now[name]
		if then == nil || now == nil || len(then.nanoseconds) == 0 || len(now.nanoseconds) == 0 {
			continue
		}
		before, after := median(then.nanoseconds), median(now.nanoseconds)
		row := []string{name, show(before), show(after), show(after / before)}
		logs += math.Log(after / before)
		for _, pair := range [][2][]float64{{then.bytes, now.bytes}, {then.allocations, now.allocations}} {
			if len(pair[0]) == 0 || len(pair[1]) == 0 {
				row = append(row, "–", "–")
				continue
			}
			row = append(row, show(median(pair[0])), show(median(pair[1])))
		}
		rows = append(rows, row)
		if len(then.allocations) > 0 && len(now.allocations) > 0 {
			if old, now := median(then.allocations), median(now.allocations); now > old+max(0.5, old/50) {
				worse = append(worse, fmt.Errorf("%s: %s allocations instead of %s", name, show(now), show(old)))
			}
		}
	}
	if len(rows) == 1 {
		return "", errors.New("no benchmark is in both trees")
	}
	table(&b, rows)
	fmt.Fprintf(&b, "%d benchmarks, %d runs each in turns; the time is %s times that of %s on (geometric) average.\n", len(rows)-1, c.count, show(math.Exp(logs/float64(len(rows)-1))), commit)
	return b.String(), errors.Join(worse...)
}
