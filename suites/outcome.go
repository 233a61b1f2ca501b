package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
)

// outcome is what one run of a suite came to. Tests that hold others are not counted, only what they hold.
type outcome struct {
	Passed  int
	Failed  map[string]string // test → the last of what it printed
	Skipped map[string]string // test → why, in the suite's words
}

func newOutcome() outcome {
	return outcome{Failed: map[string]string{}, Skipped: map[string]string{}}
}

func (o outcome) total() int { return o.Passed + len(o.Failed) + len(o.Skipped) }

// longest bounds what is kept of a test's words.
const longest = 240

// lastWords shortens a test's output to its last lines that say something.
func lastWords(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "at ") { // at: a frame of JavaScript's
			continue
		}
		lines = append(lines, line)
	}
	out := strings.Join(lines[max(0, len(lines)-2):], " / ")
	out = regexp.MustCompile(`(?:/[\w@.+%-]+){2,}/`).ReplaceAllString(out, "") // folders of the machine
	if len(out) > longest {
		out = out[:longest] + "…"
	}
	return strings.ToValidUTF8(out, "?")
}

// goOutcome reads the lines of go tool test2json.
func goOutcome(text []byte) (outcome, error) { return goOutcomeOf(text, "") }

// markedOutcome is goOutcome without the tests that never spoke of their broker, themselves or a test that holds them.
func markedOutcome(text []byte) (outcome, error) {
	o, err := goOutcomeOf(text, "broker at 127.0.0.1:")
	for name, words := range o.Skipped {
		if i := strings.Index(words, "kfake's own: "); i >= 0 {
			o.Skipped[name] = words[i:] // without the file and line of the helper
		}
	}
	return o, err
}

func goOutcomeOf(text []byte, mark string) (outcome, error) {
	type event struct{ Action, Test, Output string }
	o, output, ended := newOutcome(), map[string]*strings.Builder{}, map[string]string{}
	lines := bufio.NewReader(bytes.NewReader(text))
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil && e.Test != "" {
			switch e.Action {
			case "output":
				if output[e.Test] == nil {
					output[e.Test] = new(strings.Builder)
				}
				output[e.Test].WriteString(e.Output)
			case "run", "pass", "fail", "skip":
				ended[e.Test] = e.Action
			}
		}
		if err == io.EOF {
			break
		}
	}
	holders := map[string]bool{}
	for name := range ended {
		for i, c := range name {
			if c == '/' {
				holders[name[:i]] = true
			}
		}
	}
	for name, action := range ended {
		// a name with a slash of its own looks like one that holds others; what fails by itself counts all the same
		if holders[name] && (action != "fail" || holdsFailure(ended, name)) {
			continue
		}
		var words string
		if b := output[name]; b != nil {
			words = lastWords(b.String())
		}
		if mark != "" && action != "skip" && !spoke(output, name, mark) {
			continue
		}
		o.add(name, action, words)
	}
	return o, nil
}

// holdsFailure is true when a test below name did not pass.
func holdsFailure(ended map[string]string, name string) bool {
	for other, action := range ended {
		if (action == "fail" || action == "run") && strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}

// spoke is true when a test or one that holds it has printed mark.
func spoke(output map[string]*strings.Builder, name, mark string) bool {
	for name != "" {
		if b := output[name]; b != nil && strings.Contains(b.String(), mark) {
			return true
		}
		name = name[:max(0, strings.LastIndexByte(name, '/'))]
	}
	return false
}

func (o *outcome) add(name, action, words string) {
	switch action {
	case "pass":
		o.Passed++
	case "skip":
		o.Skipped[name] = words
	case "run":
		o.Failed[name] = strings.TrimSpace("did not end; " + words)
	default:
		o.Failed[name] = words
	}
}

// junitCase is a test in JUnit's XML.
type junitCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	File    string      `xml:"file,attr"`
	Failure *junitWords `xml:"failure"`
	Error   *junitWords `xml:"error"`
	Skipped *junitWords `xml:"skipped"`
}

// junitWords say why a test did not pass.
type junitWords struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// last gives the message, where there is one, else the end of the text, which with some holds the message and with some the frames.
func (w *junitWords) last() string {
	if words := lastWords(w.Message); words != "" {
		return words
	}
	return lastWords(w.Text)
}

// junitSuite is a list of cases, of other lists, or both.
type junitSuite struct {
	Name   string       `xml:"name,attr"`
	Cases  []junitCase  `xml:"testcase"`
	Suites []junitSuite `xml:"testsuite"`
}

// junitOutcome reads JUnit's XML, as pytest, mocha, jest and node write it: cases in suites in a list of suites, or in one suite, or
// in suites of suites.
func junitOutcome(text []byte) (outcome, error) {
	var doc junitSuite
	o := newOutcome()
	if err := xml.Unmarshal(text, &doc); err != nil {
		return o, fmt.Errorf("junit: %w", err)
	}
	o.addSuite("", doc)
	return o, nil
}

// addSuite adds the cases of s; within are the names of s and of the suites that hold it.
func (o *outcome) addSuite(within string, s junitSuite) {
	for _, c := range s.Cases {
		o.addCase(within, c)
	}
	for _, inner := range s.Suites {
		o.addSuite(within+inner.Name+" ", inner)
	}
}

func (o *outcome) addCase(within string, c junitCase) {
	name := c.Class + "." + c.Name
	if c.Class == "test" && c.File != "" { // node's, which do not repeat what holds them
		name = filepath.Base(c.File) + ": " + within + c.Name
	}
	action, words := "pass", ""
	switch {
	case c.Failure != nil:
		action, words = "fail", c.Failure.last()
	case c.Error != nil:
		action, words = "fail", c.Error.last()
	case c.Skipped != nil:
		action, words = "skip", c.Skipped.last()
	}
	o.add(name, action, words)
}

// librdkafkaOutcome reads the summary of librdkafka's test-runner: a table with a line for each test.
func librdkafkaOutcome(text []byte) (outcome, error) {
	text = regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAll(text, nil)
	row := regexp.MustCompile(`(?m)^\|\s*(\d\S+)\s*\|\s*(PASSED|FAILED|SKIPPED|RUNNING)\s*\|[^|\n]*\|(.*)$`)
	o := newOutcome()
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		switch m[2] {
		case "PASSED":
			o.Passed++
		case "SKIPPED":
			// skipped without a word: of another scenario, which is a suite of its own here
			if strings.TrimSpace(m[3]) == "" || strings.Contains(m[3], "Filtered due to negative test flags") {
				continue // needs no broker, or is known to fail anywhere
			}
			o.Skipped[m[1]] = lastWords(m[3])
		default:
			o.Failed[m[1]] = m[2] + ": " + lastWords(m[3])
		}
	}
	return o, nil
}

// cargoOutcome reads what cargo test prints: "test NAME ... ok".
func cargoOutcome(text []byte) (outcome, error) {
	row := regexp.MustCompile(`(?m)^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED|ignored)(.*)$`)
	o := newOutcome()
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		o.add(m[1], map[string]string{"ok": "pass", "ignored": "skip", "FAILED": "fail"}[m[2]], strings.TrimPrefix(m[3], ", "))
	}
	return o, nil
}

// linesOutcome reads lines "ok NAME", "fail NAME: words" and "skip NAME: words".
func linesOutcome(text []byte) (outcome, error) {
	row := regexp.MustCompile(`(?m)^(ok|fail|skip) (\S+?)(?:: (.*))?$`)
	o := newOutcome()
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		o.add(m[2], map[string]string{"ok": "pass", "skip": "skip", "fail": "fail"}[m[1]], lastWords(m[3]))
	}
	return o, nil
}
