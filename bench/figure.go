package main

import (
	"fmt"
	"slices"
	"time"
)

// Which way a figure is good.
const (
	more = "more"
	less = "less"
	data = "" // neither: for the reader's judgement
)

// figure is one line of a report: what was measured of each broker, a value a round.
type figure struct {
	Case, Name, Unit string
	Good             string // more, less or data
	Values           map[string][]float64
}

// outcome is why a broker has no figure of a case.
type outcome struct {
	Case, Peer, Reason string
	Failed             bool
}

// results are what the rounds gave, in the order in which it came; they are what is saved as JSON.
type results struct {
	About    []string // machine, options, versions
	Peers    []string
	Figures  []*figure
	Outcomes []outcome
	Others   []float64 // in each case, the share of the machine that neither side used
}

// add puts a value down. Figures of one case stay together.
func (r *results) add(f figure, peer string, value float64) {
	at := len(r.Figures)
	for k, old := range r.Figures {
		if old.Case == f.Case && old.Name == f.Name {
			old.Values[peer] = append(old.Values[peer], value)
			return
		}
		if old.Case == f.Case {
			at = k + 1
		}
	}
	f.Values = map[string][]float64{peer: {value}}
	r.Figures = slices.Insert(r.Figures, at, &f)
}

// none puts down, once, why a broker has no figure.
func (r *results) none(o outcome) {
	if !slices.Contains(r.Outcomes, o) {
		r.Outcomes = append(r.Outcomes, o)
	}
}

func (r *results) failed(name, peer string) bool {
	return slices.ContainsFunc(r.Outcomes, func(o outcome) bool { return o.Failed && o.Case == name && o.Peer == peer })
}

// of is the median of a figure; there is none where a round failed, which a median of the others would hide.
func (r *results) of(name, figureName, peer string) (float64, bool) {
	if r.failed(name, peer) {
		return 0, false
	}
	for _, f := range r.Figures {
		if f.Case == name && f.Name == figureName && len(f.Values[peer]) > 0 {
			return median(f.Values[peer]), true
		}
	}
	return 0, false
}

// median of at least one value.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }
func microseconds(d time.Duration) float64 { return d.Seconds() * 1e6 }

// show gives three digits that count.
func show(v float64) string {
	switch a := max(v, -v); {
	case a == 0:
		return "0"
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	case a >= 0.001:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.1e", v)
}
