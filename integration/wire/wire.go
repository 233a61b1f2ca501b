// Package wire asks a broker a fixed set of questions over raw connections,
// writes down the normalised answers, one JSON line a request, and compares two
// such recordings. What a script looks like is told by script.go; what is left
// out of an answer because it differs from run to run, by answer.go.
package wire

import (
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
)

// Script is a list of requests under one name, "api/what-it-tests".
type Script struct{ s script }

// Name is the script's name.
func (s Script) Name() string { return s.s.name }

// Scripts reads the scripts of files that match patterns.
func Scripts(files fs.FS, patterns ...string) ([]Script, error) {
	all, err := loadScripts(files, patterns)
	if err != nil {
		return nil, err
	}
	list := make([]Script, len(all))
	for i, s := range all {
		list[i] = Script{s}
	}
	return list, nil
}

// Record runs scripts against the broker at addr, one after another, and writes
// the answers to out. The broker must not have seen these scripts before.
func Record(addr string, scripts []Script, out io.Writer) error {
	r, err := newRunner(addr, out)
	if err != nil {
		return fmt.Errorf("ask %s: %w", addr, err)
	}
	for _, s := range scripts {
		r.run(s.s)
	}
	return nil
}

// Allowed is a difference that has a reason.
type Allowed struct {
	Pattern *regexp.Regexp // matched against "script#step path: text"
	Reason  string         // the row of README's table of differences
}

// Result is what a comparison found.
type Result struct {
	Same, Explained int      // requests whose answers are equal, and those that differ only as allowed
	Unexplained     []string // what differs otherwise, one text for each request
}

// Compare holds a recording of scripts against one of these and others.
func Compare(want, got io.Reader, scripts []Script, allowed []Allowed) (Result, error) {
	var r Result
	a, err := loadAnswers(want)
	if err != nil {
		return r, err
	}
	b, err := loadAnswers(got)
	if err != nil {
		return r, err
	}
	asked := make(map[string]bool)
	for _, s := range scripts {
		asked[s.Name()] = true
	}
	for _, id := range a.order {
		if script, _, _ := strings.Cut(id, "#"); !asked[script] {
			continue
		}
		have, ok := b.lines[id]
		if !ok {
			r.Unexplained = append(r.Unexplained, id+": not answered")
			continue
		}
		explained, open := compareLine(id, a.lines[id], have, allowed)
		switch {
		case open != "":
			r.Unexplained = append(r.Unexplained, open)
		case explained:
			r.Explained++
		default:
			r.Same++
		}
	}
	for _, id := range b.order {
		if a.lines[id] == nil {
			r.Unexplained = append(r.Unexplained, fmt.Sprintf("%s: answered, but not recorded: %v", id, b.lines[id]))
		}
	}
	return r, nil
}

// compareLine compares two answers to one request.
func compareLine(id string, want, have map[string]any, allowed []Allowed) (explained bool, open string) {
	var found []string
	compare("", want, have, func(path, text string) {
		where := id + " " + path + ": " + text
		for _, x := range allowed {
			if x.Pattern.MatchString(where) {
				explained = true
				return
			}
		}
		found = append(found, "    "+path+": "+text)
	})
	if found == nil {
		return explained, ""
	}
	return explained, fmt.Sprintf("%s %v v%v %s\n%s", id, want["api"], want["version"], shorten(fmt.Sprint(want["req"])), strings.Join(found, "\n"))
}
