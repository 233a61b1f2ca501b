package observe

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/VictoriaMetrics/metrics"
)

// scrape writes the metrics of one answer as they come, in Prometheus' text format
// (https://prometheus.io/docs/instrumenting/exposition_formats/): all of one name have to come together, and what is said of the
// name goes before them. So a scrape of very many partitions takes no more memory than one of few.
//
//	# HELP kafka_topic_partitions Partitions of the topic.
//	# TYPE kafka_topic_partitions gauge
//	kafka_topic_partitions{topic="orders"} 3
type scrape struct {
	out     *bufio.Writer
	current string            // name that was put last
	escape  *strings.Replacer // of labels' values
	line    []byte            // the line in hand
}

func newScrape(out *bufio.Writer) *scrape {
	return &scrape{out: out, escape: strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)}
}

// put writes a metric with its labels' values. Bytes of a value that are no UTF-8, which the format does not know, are replaced.
// A write that fails makes those after it, and the Flush of out, fail.
func (s *scrape) put(to *series, value float64, labels ...string) {
	s.line = s.line[:0]
	if s.current != to.name {
		s.current = to.name
		s.line = append(append(append(append(s.line, "# HELP "...), to.name...), ' '), to.help...)
		s.line = append(append(append(append(s.line, "\n# TYPE "...), to.name...), ' '), to.kind...)
		s.line = append(s.line, '\n')
	}
	s.line = append(s.line, to.name...)
	for n, i := range to.sorted {
		s.line = append(s.line, "{,"[min(n, 1)])
		s.line = append(append(s.line, to.labels[i]...), `="`...)
		s.line = append(append(s.line, s.escape.Replace(strings.ToValidUTF8(labels[i], "\uFFFD"))...), '"')
	}
	if len(to.sorted) > 0 {
		s.line = append(s.line, '}')
	}
	s.line = append(strconv.AppendFloat(append(s.line, ' '), value, 'g', -1, 64), '\n')
	_, _ = s.out.Write(s.line)
}

// writeProcess writes what the library tells of the process and of Go's runtime, without types: it tells those only where a
// setting of the whole program asks it to.
func writeProcess(w io.Writer) {
	metrics.WriteGoMetrics(w)
	metrics.WriteProcMetrics(w)
	metrics.WriteFDMetrics(w)
}
