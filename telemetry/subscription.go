package telemetry

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// DefaultInterval is how often clients send metrics whom nobody subscribed to,
// in ms.
const DefaultInterval = 300_000

// allMetrics subscribes to everything that a client has.
const allMetrics = "*"

// Client is what is known of a client; subscriptions select by it.
type Client struct {
	InstanceID      [16]byte
	ID              string // client.id
	SoftwareName    string
	SoftwareVersion string
	Address, Port   string // where it connects from
}

// Subscription asks matching clients for metrics.
type Subscription struct {
	name     string
	metrics  []string
	interval int32 // ms
	match    map[string]*regexp.Regexp
}

// ParseSubscription reads the settings of a client metrics resource, which have
// passed their checks. A pattern that cannot be read matches nothing.
func ParseSubscription(name string, settings map[string]string) Subscription {
	s := Subscription{name: name, metrics: words(settings["metrics"]), interval: DefaultInterval, match: map[string]*regexp.Regexp{}}
	if ms, err := strconv.ParseInt(strings.TrimSpace(settings["interval.ms"]), 10, 32); err == nil {
		s.interval = int32(ms)
	}
	for _, pattern := range words(settings["match"]) {
		property, expression, _ := strings.Cut(pattern, "=")
		whole, err := regexp.Compile(`^(?:` + strings.TrimSpace(expression) + `)$`)
		if err != nil {
			whole = nil
		}
		s.match[strings.TrimSpace(property)] = whole
	}
	return s
}

// words splits a list setting.
func words(list string) []string {
	var out []string
	for _, w := range strings.Split(list, ",") {
		if w = strings.TrimSpace(w); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// matches says whether every pattern matches the whole of its property. instance
// is the text of the client's instance id.
func (s *Subscription) matches(c *Client, instance string) bool {
	values := map[string]string{
		"client_instance_id": instance, "client_id": c.ID, "client_software_name": c.SoftwareName,
		"client_software_version": c.SoftwareVersion, "client_source_address": c.Address, "client_source_port": c.Port,
	}
	for property, expression := range s.match {
		if expression == nil || !expression.MatchString(values[property]) {
			return false
		}
	}
	return true
}

// Assignment is what one client is asked for.
type Assignment struct {
	ID       int32 // changes with the rest
	Metrics  []string
	Interval int32 // ms
}

// assign joins the subscriptions that match a client: all their metrics, at the
// shortest interval.
func assign(c *Client, instance string, subscriptions []Subscription) Assignment {
	a := Assignment{Interval: DefaultInterval}
	metrics := make(map[string]bool)
	for i := range subscriptions {
		s := &subscriptions[i]
		if !s.matches(c, instance) {
			continue
		}
		a.Interval = min(a.Interval, s.interval)
		for _, m := range s.metrics {
			metrics[m] = true
		}
	}
	a.Metrics = slices.Sorted(maps.Keys(metrics))
	if metrics[allMetrics] {
		a.Metrics = []string{allMetrics}
	}
	text := fmt.Sprint(a.Metrics, a.Interval, c.InstanceID)
	a.ID = int32(crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
	return a
}

// generation is a sum over subscriptions that changes with them.
func generation(subscriptions []Subscription) uint32 {
	sorted := slices.SortedFunc(slices.Values(subscriptions), func(a, b Subscription) int { return cmp.Compare(a.name, b.name) })
	sum := crc32.NewIEEE()
	for i := range sorted {
		s := &sorted[i]
		fmt.Fprintf(sum, "%q %q %d", s.name, s.metrics, s.interval)
		for _, property := range slices.Sorted(maps.Keys(s.match)) {
			fmt.Fprintf(sum, " %q %v", property, s.match[property])
		}
	}
	return sum.Sum32()
}
