package observe

import "github.com/prometheus/client_golang/prometheus"

// series are the metrics of one name.
type series struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func gauge(name, help string, labels ...string) series {
	return series{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue}
}

func counter(name, help string, labels ...string) series {
	return series{prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue}
}

func untyped(name, help string, labels ...string) series {
	return series{prometheus.NewDesc(name, help, labels, nil), prometheus.UntypedValue}
}

// sink takes the metrics of one scrape.
type sink chan<- prometheus.Metric

// put adds a metric with its labels' values.
func (s sink) put(to *series, value float64, labels ...string) {
	metric, err := prometheus.NewConstMetric(to.desc, to.kind, value, labels...)
	if err != nil {
		metric = prometheus.NewInvalidMetric(to.desc, err) // the scrape says so
	}
	s <- metric
}

// one is 1 for true.
func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
