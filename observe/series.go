package observe

import (
	"cmp"
	"slices"
)

// series are the metrics of one name.
type series struct {
	name, help string
	kind       kind
	labels     []string // in the order of put
	sorted     []int    // indexes of labels by name, as they are written
}

// kind is a type of Prometheus' text format.
type kind string

const (
	gaugeKind   kind = "gauge"
	counterKind kind = "counter"
	untypedKind kind = "untyped"
)

func newSeries(name, help string, of kind, labels []string) series {
	s := series{name: name, help: help, kind: of, labels: labels, sorted: make([]int, len(labels))}
	for i := range labels {
		s.sorted[i] = i
	}
	slices.SortFunc(s.sorted, func(a, b int) int { return cmp.Compare(labels[a], labels[b]) })
	return s
}

func gauge(name, help string, labels ...string) series {
	return newSeries(name, help, gaugeKind, labels)
}

func counter(name, help string, labels ...string) series {
	return newSeries(name, help, counterKind, labels)
}

func untyped(name, help string, labels ...string) series {
	return newSeries(name, help, untypedKind, labels)
}
