package observe

import (
	"strconv"
	"sync"
	"time"

	"minibroker"
)

// collector makes the metrics of a scrape. The names, labels and types are those that Prometheus' JMX exporter gives Kafka's own
// metrics by Strimzi's rules, as measured on Apache Kafka 4.4.0; for topics and groups those of kafka-exporter, too. Only what has
// a meaning here is told.
type collector struct {
	monitor *Monitor
	traffic trafficSeries
	topics  topicSeries
	groups  groupSeries
	node    nodeSeries
	calls   requestSeries

	mu   sync.Mutex
	last moment // of a scrape: rates are taken from one to the next
}

// moment is what rates are taken from.
type moment struct {
	at            time.Time
	busy, sending time.Duration
	accepted      map[string]int64 // connections by listener
	metadataEnd   int64
}

func newCollector(m *Monitor) *collector {
	return &collector{
		monitor: m, traffic: newTrafficSeries(), topics: newTopicSeries(), groups: newGroupSeries(), node: newNodeSeries(), calls: newRequestSeries(),
		last: moment{at: time.Now()},
	}
}

// collect writes the metrics of this moment; none before there is a broker.
func (c *collector) collect(out *scrape) {
	b := c.monitor.broker.Load()
	if b == nil {
		return
	}
	s := b.Stats()
	last, now := c.next(&s)
	c.traffic.collect(out, &s)
	c.topics.collect(out, &s)
	c.groups.collect(out, &s)
	c.calls.collect(out, c.monitor.requests, now.at)
	c.node.collect(out, &s, &last, &now)
}

// next is the moment of the scrape before and that of this one.
func (c *collector) next(s *minibroker.Stats) (last, now moment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, c.last = c.last, c.now(s)
	return last, c.last
}

// now is the moment of a scrape.
func (c *collector) now(s *minibroker.Stats) moment {
	m := moment{at: time.Now(), accepted: make(map[string]int64, len(s.Connections)), metadataEnd: s.MetadataEnd}
	if r := c.monitor.requests; r != nil {
		m.busy, m.sending = r.Busy(), r.Sending()
	}
	for _, l := range s.Connections {
		m.accepted[l.Listener] = l.Accepted
	}
	return m
}

func itoa(n int32) string { return strconv.Itoa(int(n)) }
