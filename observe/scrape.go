package observe

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/VictoriaMetrics/metrics"
)

// scrape takes the metrics of one answer, in any order, and writes them as Prometheus' text format wants them
// (https://prometheus.io/docs/instrumenting/exposition_formats/): all of one name together, behind what is said of it.
//
//	# HELP kafka_topic_partitions Partitions of the topic.
//	# TYPE kafka_topic_partitions gauge
//	kafka_topic_partitions{topic="orders"} 3
type scrape struct {
	families map[string]*family
	escape   *strings.Replacer // of labels' values
	line     []byte            // the line in hand
}

// family is all that has one name.
type family struct {
	head  string
	lines bytes.Buffer
}

func newScrape() *scrape {
	return &scrape{families: make(map[string]*family), escape: strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)}
}

// put adds a metric with its labels' values. Bytes of a value that are no UTF-8, which the format does not know, are replaced.
func (s *scrape) put(to *series, value float64, labels ...string) {
	f := s.families[to.name]
	if f == nil {
		f = &family{head: "# HELP " + to.name + " " + to.help + "\n# TYPE " + to.name + " " + string(to.kind) + "\n"}
		s.families[to.name] = f
	}
	s.line = append(s.line[:0], to.name...)
	for n, i := range to.sorted {
		s.line = append(s.line, "{,"[min(n, 1)])
		s.line = append(append(s.line, to.labels[i]...), `="`...)
		s.line = append(append(s.line, s.escape.Replace(strings.ToValidUTF8(labels[i], "\uFFFD"))...), '"')
	}
	if len(to.sorted) > 0 {
		s.line = append(s.line, '}')
	}
	s.line = append(strconv.AppendFloat(append(s.line, ' '), value, 'g', -1, 64), '\n')
	f.lines.Write(s.line)
}

// appendTo writes the families by name.
func (s *scrape) appendTo(text *bytes.Buffer) {
	for _, name := range slices.Sorted(maps.Keys(s.families)) {
		f := s.families[name]
		text.WriteString(f.head)
		text.Write(f.lines.Bytes())
	}
}

// writeProcess writes what the library tells of the process and of Go's runtime, without types: it tells those only where a
// setting of the whole program asks it to.
func writeProcess(w io.Writer) {
	metrics.WriteGoMetrics(w)
	metrics.WriteProcMetrics(w)
	metrics.WriteFDMetrics(w)
}
