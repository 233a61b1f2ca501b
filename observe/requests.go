package observe

import (
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/meter"
	"minibroker/protocol"
)

// requestSeries are Kafka's RequestMetrics. Times are told as quantiles of the last minutes, in ms.
type requestSeries struct {
	requests series
	times    []timeSeries
}

// timeSeries is one of the times of requests, or their size.
type timeSeries struct {
	quantiles, count, countTotal series
	scale                        float64 // what a value is divided by
	of                           func(*meter.API) *meter.Histogram
}

// quantiles are those that Kafka tells, with their labels.
func quantiles() (parts []float64, labels []string) {
	return []float64{0.5, 0.75, 0.95, 0.98, 0.99, 0.999}, []string{"0.50", "0.75", "0.95", "0.98", "0.99", "0.999"}
}

func newRequestSeries() requestSeries {
	r := requestSeries{requests: counter("kafka_network_requestmetrics_requests_total", "Requests, by version.", "request", "version")}
	add := func(name, help string, scale float64, of func(*meter.API) *meter.Histogram) {
		name = "kafka_network_requestmetrics_" + name
		r.times = append(r.times, timeSeries{
			quantiles: gauge(name, help, "request", "quantile"),
			// The exporter's rules call it _count, newer versions of the exporter add _total.
			count:      counter(name+"_count", "Requests that this was measured of.", "request"),
			countTotal: counter(name+"_count_total", "Requests that this was measured of.", "request"),
			scale:      scale, of: of,
		})
	}
	const ms = 1000
	nothing := func(a *meter.API) *meter.Histogram { return nil }
	add("totaltimems", "Time from the request to the end of its answer, in ms.", ms, func(a *meter.API) *meter.Histogram { return &a.TotalTime })
	add("localtimems", "Time that the broker worked, in ms.", ms, func(a *meter.API) *meter.Histogram { return &a.LocalTime })
	add("remotetimems", "Time that the request waited for records, members or time-outs, in ms.", ms, func(a *meter.API) *meter.Histogram { return &a.RemoteTime })
	add("responsesendtimems", "Time to hand the answer to the network, in ms.", ms, func(a *meter.API) *meter.Histogram { return &a.SendTime })
	add("requestqueuetimems", "0: requests wait in no queue.", ms, nothing)
	add("responsequeuetimems", "0: answers wait in no queue.", ms, nothing)
	add("requestbytes", "Size of requests in bytes.", 1, func(a *meter.API) *meter.Histogram { return &a.Bytes })
	return r
}

// requestStats are those of one API, under the name that Kafka gives it.
type requestStats struct {
	name string
	api  *meter.API
}

func (r *requestSeries) collect(out *scrape, requests *meter.Requests, now time.Time) {
	if requests == nil {
		return
	}
	all := statsOf(requests)
	for i := range all {
		all[i].api.Versions(func(version int16, n int64) {
			out.put(&r.requests, float64(n), all[i].name, strconv.Itoa(int(version)))
		})
	}
	for i := range r.times {
		r.times[i].collect(out, all, now)
	}
}

// statsOf lists what was counted of the APIs.
func statsOf(requests *meter.Requests) []requestStats {
	var all []requestStats
	for key := int16(0); key <= kmsg.MaxKey; key++ {
		api, name := requests.API(key), protocol.KeyName(key)
		if api == nil && (key == int16(kmsg.Fetch) || key == int16(kmsg.Produce)) {
			api = &meter.API{}
		}
		if key == int16(kmsg.Fetch) {
			// Kafka tells fetches twice: all, and by who fetches. On a single node consumers do.
			all = append(all, requestStats{"FetchConsumer", api}, requestStats{"FetchFollower", &meter.API{}})
		}
		if api != nil {
			all = append(all, requestStats{kafkaName(name), api})
		}
	}
	return all
}

// kafkaName is Kafka's spelling of an API's name.
func kafkaName(name string) string {
	switch name {
	case "InitProducerID":
		return "InitProducerId"
	case "SASLHandshake":
		return "SaslHandshake"
	case "SASLAuthenticate":
		return "SaslAuthenticate"
	case "DescribeACLs", "CreateACLs", "DeleteACLs":
		return name[:len(name)-4] + "Acls"
	case "AlterPartitionAssignments":
		return "AlterPartitionReassignments"
	case "DescribeUserSCRAMCredentials":
		return "DescribeUserScramCredentials"
	case "AlterUserSCRAMCredentials":
		return "AlterUserScramCredentials"
	}
	return name
}

func (t *timeSeries) collect(out *scrape, all []requestStats, now time.Time) {
	parts, labels := quantiles()
	for _, r := range all {
		values := make([]float64, len(parts))
		if h := t.of(r.api); h != nil {
			values = h.Quantiles(parts, now)
		}
		for j, label := range labels {
			out.put(&t.quantiles, values[j]/t.scale, r.name, label)
		}
	}
	for _, counts := range []*series{&t.count, &t.countTotal} {
		for _, r := range all {
			out.put(counts, float64(r.api.TotalTime.Count()), r.name)
		}
	}
}
