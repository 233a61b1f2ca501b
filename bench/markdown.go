package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// publish puts text between the marks of a document; nothing is done without a document.
func publish(path, mark, text string) error {
	if path == "" {
		return nil
	}
	before, after, err := around(path, mark)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(before+"\n"+strings.TrimSpace(text)+"\n\n"+after), 0o644)
}

// publishable tells whether the marks are there.
func publishable(path, mark string) error {
	if path == "" {
		return nil
	}
	_, _, err := around(path, mark)
	return err
}

// around gives what stands before the place between two marks, and behind it, with the marks.
func around(path, mark string) (before, after string, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", "", err
	}
	begin, end := "<!-- begin "+mark+" -->\n", "<!-- end "+mark+" -->\n"
	before, rest, found := strings.Cut(string(raw), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", "", fmt.Errorf("%s: no lines %q and %q, between which the text would go", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return before + begin, end + after, nil
}

// table writes rows, the first of which are the titles.
func table(b *strings.Builder, rows [][]string) {
	for n, row := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
		if n == 0 {
			fmt.Fprintf(b, "|%s\n", strings.Repeat(" --- |", len(row)))
		}
	}
	b.WriteString("\n")
}

// report is all that the rounds gave.
func (r *results) report() string {
	var b strings.Builder
	for _, line := range r.About {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	if len(r.Others) > 0 {
		fmt.Fprintf(&b, "- Of the machine's processor time, %.1f %% went to neither side (median of the cases; most %.1f %%).\n", 100*median(r.Others), 100*slices.Max(r.Others))
	}
	b.WriteString("\n")
	r.aims(&b)
	r.behind(&b)
	r.memory(&b)
	r.cases(&b)
	if len(r.Outcomes) > 0 {
		b.WriteString("### Not measured\n\n")
		for _, o := range r.Outcomes {
			verb := ""
			if o.Failed {
				verb = "**failed**: "
			}
			fmt.Fprintf(&b, "- %s, %s: %s%s\n", o.Case, o.Peer, verb, strings.ReplaceAll(o.Reason, "\n", "; "))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// cases are all figures: the median of the rounds, and how far they lie apart; the best is bold.
func (r *results) cases(b *strings.Builder) {
	b.WriteString("### All figures\n\nMedians of the rounds, with the least and the most; the best of each line is bold. ↑ more is better, ↓ less is.\n\n")
	columns := slices.Clone(r.Peers)
	rows := [][]string{append([]string{"case", "figure"}, columns...)}
	last := ""
	for _, f := range r.Figures {
		if f.Case == limitCase {
			continue
		}
		name := f.Case
		if name == last {
			name = ""
		}
		last = f.Case
		row := []string{name, strings.TrimSpace(f.Name + map[string]string{more: " ↑", less: " ↓"}[f.Good] + " " + f.Unit)}
		best := r.best(f)
		for _, p := range columns {
			row = append(row, r.cell(f, p, best))
		}
		rows = append(rows, row)
	}
	table(b, rows)
	rows = [][]string{{"what the machine can do", ""}}
	for _, f := range r.Figures {
		if f.Case == limitCase {
			rows = append(rows, []string{f.Name, r.cell(f, limitPeer, "") + " " + f.Unit})
		}
	}
	if len(rows) > 1 {
		table(b, rows)
	}
}

func (r *results) cell(f *figure, peer, best string) string {
	switch v := f.Values[peer]; {
	case r.failed(f.Case, peer):
		return "failed"
	case len(v) == 0:
		return "–"
	default:
		text := show(median(v))
		if peer == best {
			text = "**" + text + "**"
		}
		if len(v) > 1 {
			text += fmt.Sprintf(" (%s–%s)", show(slices.Min(v)), show(slices.Max(v)))
		}
		return text
	}
}

// best names the broker whose median is the best, "" where that means nothing.
func (r *results) best(f *figure) (name string) {
	var value float64
	for _, p := range r.Peers {
		v, ok := r.of(f.Case, f.Name, p)
		if ok && f.Good != data && (name == "" || better(f.Good, v, value)) {
			name, value = p, v
		}
	}
	return name
}

func better(good string, a, b float64) bool {
	if good == more {
		return a > b
	}
	return a < b
}

// behind lists what another broker does better.
func (r *results) behind(b *strings.Builder) {
	rows := [][]string{{"case", "figure", "minibroker", "best", "minibroker / best"}}
	lines := 0
	for _, f := range r.Figures {
		own, ok := r.of(f.Case, f.Name, "minibroker")
		if !ok || f.Good == data || f.Case == limitCase || len(r.Peers) < 2 {
			continue
		}
		lines++
		if best := r.best(f); best != "minibroker" && best != "" {
			v, _ := r.of(f.Case, f.Name, best)
			if better(f.Good, v, own) {
				ratio := "–"
				if v > 0 {
					ratio = show(own / v)
				}
				rows = append(rows, []string{f.Case, f.Name, strings.TrimSpace(r.cell(f, "minibroker", "") + " " + f.Unit), best + " " + r.cell(f, best, ""), ratio})
			}
		}
	}
	if lines == 0 {
		return
	}
	fmt.Fprintf(b, "### Where another broker is ahead\n\n%d of %d lines.\n\n", len(rows)-1, lines)
	if len(rows) > 1 {
		table(b, rows)
	}
}
