package main

import (
	"fmt"
	"io"
	"strings"
)

// severity grades a finding.
type severity int8

const (
	fine    severity = iota
	notable          // good to know
	warning          // works, but perhaps not as meant
	failure          // does not work
)

// finding is something that was looked at: what it is about, what is the case, and what to do about it.
type finding struct {
	severity severity
	about    string // "listener PLAINTEXT", "log.dirs /data", the place of a setting
	cause    string
	remedy   string // "" where nothing is to be done
}

// print writes the finding in one or two lines.
func (f finding) print(w io.Writer) {
	names := [...]string{"ok", "note", "WARN", "ERROR"}
	text := f.cause
	if f.about != "" {
		text = f.about + ": " + f.cause
	}
	fmt.Fprintf(w, "%-5s  %s\n", names[f.severity], escape(text))
	if f.remedy != "" {
		fmt.Fprintf(w, "       try: %s\n", escape(f.remedy))
	}
}

// printAll writes findings and one line that sums them up, and returns how many are failures.
func printAll(w io.Writer, findings []finding) (failures int) {
	warnings := 0
	for _, f := range findings {
		f.print(w)
		switch f.severity {
		case failure:
			failures++
		case warning:
			warnings++
		}
	}
	fmt.Fprintf(w, "%d errors, %d warnings\n", failures, warnings)
	return failures
}

// reason is the text of an error without what Go puts in front of it.
func reason(err error) string {
	text := err.Error()
	for _, prefix := range []string{"dial tcp ", "listen tcp ", "listen tcp4 "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}
