package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// result is results/NAME.json: the newest outcome on each broker.
type result struct {
	Suite   string
	Package string
	Version string
	Brokers map[string]outcome // minibroker, kafka
	Fast    int                `json:",omitempty"` // tests of the fast part
}

func resultFile(name string) string { return filepath.Join("suites", "results", name+".json") }

// keep writes an outcome beside that of the other broker; of another version of the suite nothing stays.
func keep(s suite, kind string, o outcome) error {
	r, err := readResult(s.Name)
	if err != nil {
		return err
	}
	if r.Version != s.Version || r.Brokers == nil {
		r = result{Suite: s.Name, Package: s.Package, Version: s.Version, Brokers: map[string]outcome{}}
	}
	r.Brokers[kind] = o
	return write(r)
}

// write keeps a result in its file.
func write(r result) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(resultFile(r.Suite), append(text, '\n'), 0o644)
}

func readResult(name string) (result, error) {
	var r result
	text, err := os.ReadFile(resultFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

// writeReport makes COMPATIBILITY.md of the results, of reasons.txt and of faults.txt.
func writeReport() error {
	given, err := readReasons(filepath.Join("suites", "reasons.txt"))
	if err != nil {
		return err
	}
	var table, details strings.Builder
	for _, s := range suites() {
		if s.Client != "" {
			continue // in the client matrix
		}
		r, err := readResult(s.Name)
		if err != nil {
			return err
		}
		if r.Brokers == nil {
			fmt.Fprintf(&table, "| %s | `%s` %s | %s | not run yet | |\n", s.Name, s.Package, s.Version, s.What)
			continue
		}
		mini, kafka := r.Brokers["minibroker"], r.Brokers["kafka"]
		fmt.Fprintf(&table, "| %s | `%s` %s | %s | %s | %s |\n", s.Name, s.Package, r.Version, s.What, figures(r, "minibroker"), figures(r, "kafka"))
		details.WriteString(notPassing(s.Name, mini, kafka, given))
	}
	matrix, err := clientMatrix()
	if err != nil {
		return err
	}
	found, err := foundFaults(filepath.Join("suites", "faults.txt"))
	if err != nil {
		return err
	}
	text := "<!-- written by make suites -->\n# Test suites of others\n\n" +
		"Tests that the authors of Kafka's clients wrote against Apache Kafka, run against a fresh minibroker and, as the yardstick, against\n" +
		"Apache Kafka 4.4.0 on the same machine; unchanged, but for what their scripts in suites/scripts say. `make suite-NAME` runs one, `make suites` all; with `KAFKA_HOME` also against Apache Kafka.\n" +
		"Only tests that hold no others are counted. Figures are passed / failed / skipped. Below, “not run” says that a run did not come to a test.\n\n" +
		"| suite | package | what | minibroker | Apache Kafka 4.4.0 |\n| --- | --- | --- | --- | --- |\n" + table.String() + matrix + found + details.String()
	return os.WriteFile("COMPATIBILITY.md", []byte(text), 0o644)
}

func figures(r result, kind string) string {
	o, ran := r.Brokers[kind]
	if !ran {
		return "not run yet"
	}
	return fmt.Sprintf("%d / %d / %d", o.Passed, len(o.Failed), len(o.Skipped))
}

// unreachedThere begins the reason of a test that Apache Kafka's run did not come to: no word of it is not a pass.
const unreachedThere = "unreached there: "

// notPassing lists the tests that do not pass on minibroker, those with one reason in one row.
func notPassing(name string, mini, kafka outcome, given []reason) string {
	rows := map[string][]string{} // everything but the test's name → names
	add := func(test, how, words string) {
		on, there := "passes", ""
		if w, bad := kafka.Failed[test]; bad {
			on, there = "fails", w
		} else if w, bad := kafka.Skipped[test]; bad {
			on, there = "skipped", w
		} else if kafka.total() == 0 {
			on = "not run yet"
		}
		why, unreached := strings.CutPrefix(reasonFor(given, name, test), unreachedThere)
		if unreached && on == "passes" {
			on = "not run"
		}
		switch {
		case why != "":
		case how == "skipped" && strings.HasPrefix(words, "kfake's own"): // asks nothing of a broker, and may have ended before on Kafka
			why = words
			if on == "passes" {
				on = "skipped"
			}
		case on == "passes":
			why = "**open**: " + words
		case there == words && how == "fails":
			why = "the same from Apache Kafka: " + words
		default: // not minibroker's doing, as far as is known
			why = words
		}
		key := how + " | " + on + " | " + strings.ReplaceAll(why, "|", "\\|")
		rows[key] = append(rows[key], "`"+strings.ReplaceAll(test, "|", "\\|")+"`")
	}
	for test, words := range mini.Failed {
		add(test, "fails", words)
	}
	for test, words := range mini.Skipped {
		add(test, "skipped", words)
	}
	if len(rows) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s: what does not pass\n\n| tests | minibroker | Apache Kafka | reason |\n| --- | --- | --- | --- |\n", name)
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		names := rows[key]
		slices.Sort(names)
		shown := strings.Join(names[:min(len(names), 12)], ", ")
		if more := len(names) - 12; more > 0 {
			shown += fmt.Sprintf(" and %d more", more)
		}
		fmt.Fprintf(&b, "| %s | %s |\n", shown, key)
	}
	return b.String()
}

// reason is a line of reasons.txt: suite, how the test's name begins, and why it does not pass, with tabs between.
type reason struct{ suite, test, why string }

func readReasons(file string) ([]reason, error) {
	rows, err := readRows(file, 3)
	all := make([]reason, len(rows))
	for i, f := range rows {
		all[i] = reason{f[0], f[1], f[2]}
	}
	return all, err
}

// foundFaults is the table of what the suites have found to be wrong here: suite, kind, mend and test of each line of a file.
func foundFaults(file string) (string, error) {
	rows, err := readRows(file, 4)
	var b strings.Builder
	b.WriteString("\n## Faults that these suites found\n\n| suite | fault | mend | test |\n| --- | --- | --- | --- |\n")
	for _, f := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(f, " | "))
	}
	return b.String(), err
}

// readRows reads lines of so many fields with tabs between; those that begin with # are left out.
func readRows(file string, fields int) ([][]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all [][]string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != fields {
			return nil, fmt.Errorf("%s: %q has not %d fields with tabs between", file, line, fields)
		}
		all = append(all, f)
	}
	return all, nil
}

// reasonFor gives the first reason that fits; a star stands for every suite.
func reasonFor(given []reason, suite, test string) string {
	for _, r := range given {
		if (r.suite == "*" || r.suite == suite) && strings.HasPrefix(test, r.test) {
			return r.why
		}
	}
	return ""
}
