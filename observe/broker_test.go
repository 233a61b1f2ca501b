package observe

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"minibroker"
	"minibroker/config"
	"minibroker/fault"
	"minibroker/logstore"
	"minibroker/meter"
)

// observed is a broker with its ports.
type observed struct {
	broker    *minibroker.Broker
	collector *collector
	addr      string // of the broker
	monitor   string // http://host:port
	control   string
}

// open starts a broker with both ports. The test's end stops it and verifies its files.
func open(t *testing.T, settings ...string) *observed {
	t.Helper()
	dir := t.TempDir()
	props := []config.Property{{Key: "log.dirs", Value: dir}, {Key: "listeners", Value: "PLAINTEXT://127.0.0.1:0"}, {Key: "group.initial.rebalance.delay.ms", Value: "0"}}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		props = append(props, config.Property{Key: key, Value: value})
	}
	c, _, err := config.Parse(props)
	if err != nil {
		t.Fatal(err)
	}
	requests, faults := &meter.Requests{}, fault.NewSet()
	monitor := NewMonitor(requests)
	o := &observed{collector: monitor.collector, monitor: "http://" + listen(t, monitor)}
	if status, body := get(t, o.monitor+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "starting") {
		t.Errorf("before the start: %d %s", status, body)
	}
	o.broker, err = minibroker.Open(t.Context(), minibroker.Options{Config: c, Requests: requests, Faults: faults})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.broker.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if status, body := get(t, o.monitor+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, "stopping") {
			t.Errorf("after the stop: %d %s", status, body)
		}
		findings, err := logstore.VerifyDir(dir, nil)
		if err != nil || len(findings) > 0 {
			t.Errorf("verify: %v, %v", findings, err)
		}
	})
	monitor.Watch(o.broker)
	o.control = "http://" + listen(t, NewControl(o.broker, faults))
	o.addr = o.broker.Addr("").String()
	return o
}

// listen serves a handler until the broker is closed.
func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	s, err := Listen("127.0.0.1:0", h, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s.Addr().String()
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// shown is one scrape: values by name{label="value",...}, labels sorted, and types by name.
type shown struct {
	values map[string]float64
	types  map[string]string
}

func (o *observed) scrape(t *testing.T) shown {
	t.Helper()
	status, body := get(t, o.monitor+"/metrics")
	if status != http.StatusOK {
		t.Fatalf("scrape: %d %s", status, body)
	}
	return parse(t, body)
}

// counted is the first scrape whose series key has come to the value want. A request is counted once its answer is sent, so a
// client may scrape before the last one is.
func (o *observed) counted(t *testing.T, want float64, key string) shown {
	t.Helper()
	for end := time.Now().Add(patience); ; runtime.Gosched() {
		s := o.scrape(t)
		if s.values[key] >= want {
			return s
		}
		if time.Now().After(end) {
			t.Fatalf("%s is %v after %v, want %v", key, s.values[key], patience, want)
		}
	}
}

// parse reads a scrape, and fails where a line comes twice, or the lines of a name are not together.
func parse(t *testing.T, text string) shown {
	t.Helper()
	s := shown{map[string]float64{}, map[string]string{}}
	current, done := "", map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			s.types[name] = kind
			continue
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndex(line, " ")
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		key := line[:at]
		if _, twice := s.values[key]; twice {
			t.Errorf("%s is there twice", key)
		}
		s.values[key] = value
		if n := name(key); n != current {
			if done[n] {
				t.Errorf("%s is in two places", n)
			}
			done[current], current = true, n
		}
	}
	return s
}

// is checks a value.
func (s *shown) is(t *testing.T, want float64, format string, args ...any) {
	t.Helper()
	key := fmt.Sprintf(format, args...)
	if got, ok := s.values[key]; !ok || got != want {
		t.Errorf("%s is %v (%t), want %v", key, got, ok, want)
	}
}

// name cuts the labels off; shape leaves their names, sorted.
func name(key string) string { n, _, _ := strings.Cut(key, "{"); return n }

func shape(key string) string {
	var labels []string
	for _, m := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(key, -1) {
		labels = append(labels, m[1])
	}
	return name(key) + "{" + strings.Join(labels, ",") + "}"
}

func lines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(all) < 10 {
		t.Fatalf("%s has %d lines", file, len(all))
	}
	return all
}

// patience bounds what a client waits for.
const patience = 30 * time.Second

func client(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(10 * time.Millisecond)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func isLinux() bool { return runtime.GOOS == "linux" }
