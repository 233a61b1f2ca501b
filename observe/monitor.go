package observe

import (
	"bufio"
	"fmt"
	"net/http"
	"sync/atomic"

	"minibroker"
	"minibroker/meter"
)

// metricsType is Prometheus' text format.
const metricsType = "text/plain; version=0.0.4; charset=utf-8"

// scrapeBuffer is what is sent of a scrape at a time, in bytes.
const scrapeBuffer = 32 << 10

// Monitor answers
//
//	/metrics       Prometheus' text format
//	/healthz       200 while the process answers
//	/readyz        200 while the broker serves all it should, else 503 and what is wrong
//	/debug/pprof/  Go's profiles
//
// It may be served before the broker is open.
type Monitor struct {
	mux       *http.ServeMux
	collector *collector
	requests  *meter.Requests
	broker    atomic.Pointer[minibroker.Broker] // nil until Watch
}

// NewMonitor makes a monitor. Requests are the counters that the broker was given.
func NewMonitor(requests *meter.Requests) *Monitor {
	m := &Monitor{mux: http.NewServeMux(), requests: requests}
	m.collector = newCollector(m)
	m.mux.HandleFunc("GET /metrics", m.metrics)
	m.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	m.mux.HandleFunc("GET /readyz", m.ready)
	m.mux.HandleFunc("GET /debug/pprof/{$}", listProfiles)
	m.mux.HandleFunc("GET /debug/pprof/{name}", namedProfile)
	m.mux.HandleFunc("GET /debug/pprof/profile", cpuProfile)
	m.mux.HandleFunc("GET /debug/pprof/trace", executionTrace)
	return m
}

// Watch makes the monitor show a broker that is open.
func (m *Monitor) Watch(b *minibroker.Broker) { m.broker.Store(b) }

// ServeHTTP answers one request.
func (m *Monitor) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.mux.ServeHTTP(w, r) }

// metrics answers a scrape.
func (m *Monitor) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", metricsType)
	out := bufio.NewWriterSize(w, scrapeBuffer)
	writeProcess(out)
	m.collector.collect(newScrape(out))
	_ = out.Flush() // a scraper that went away needs no answer
}

func (m *Monitor) ready(w http.ResponseWriter, _ *http.Request) {
	b := m.broker.Load()
	if b == nil {
		http.Error(w, "the broker is starting", http.StatusServiceUnavailable)
		return
	}
	if err := b.Ready(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}
