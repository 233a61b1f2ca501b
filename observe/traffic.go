package observe

import (
	"minibroker"
	"minibroker/partition"
)

// trafficSeries are Kafka's BrokerTopicMetrics: of each topic that something happened to, and of all together without a label.
type trafficSeries struct {
	pairs []trafficPair
	zeros []series // what cannot happen here, of all topics together
}

// trafficPair is one count, as Kafka tells it.
type trafficPair struct {
	topic, all series
	of         func(*partition.Traffic) int64
}

func newTrafficSeries() trafficSeries {
	var t trafficSeries
	add := func(name, help string, of func(*partition.Traffic) int64) {
		name = "kafka_server_brokertopicmetrics_" + name + "_total"
		t.pairs = append(t.pairs, trafficPair{topic: counter(name, help, "topic"), all: counter(name, help), of: of})
	}
	add("messagesin", "Records that were stored.", func(t *partition.Traffic) int64 { return t.MessagesIn })
	add("bytesin", "Bytes of batches that were stored.", func(t *partition.Traffic) int64 { return t.BytesIn })
	add("bytesout", "Bytes of batches that consumers got.", func(t *partition.Traffic) int64 { return t.BytesOut })
	add("bytesrejected", "Bytes of batches that were too large.", func(t *partition.Traffic) int64 { return t.BytesRejected })
	add("totalproducerequests", "Partitions in Produce requests.", func(t *partition.Traffic) int64 { return t.ProduceRequests })
	add("failedproducerequests", "Partitions in Produce requests that were refused.", func(t *partition.Traffic) int64 { return t.FailedProduceRequests })
	add("totalfetchrequests", "Partitions in Fetch requests.", func(t *partition.Traffic) int64 { return t.FetchRequests })
	add("failedfetchrequests", "Partitions in Fetch requests that could not be read.", func(t *partition.Traffic) int64 { return t.FailedFetchRequests })
	for _, name := range []string{"fetchmessageconversions", "producemessageconversions", "replicationbytesin", "replicationbytesout",
		"reassignmentbytesin", "reassignmentbytesout"} {
		t.zeros = append(t.zeros, counter("kafka_server_brokertopicmetrics_"+name+"_total", "Does not happen on a single node with one format of records."))
	}
	return t
}

func (t *trafficSeries) collect(out *scrape, s *minibroker.Stats) {
	for i := range t.pairs {
		p := &t.pairs[i]
		out.put(&p.all, float64(p.of(&s.AllTraffic)))
		for topic, passed := range s.Traffic {
			// Kafka makes a topic's metric when it first counts something.
			if n := p.of(&passed); n > 0 {
				out.put(&p.topic, float64(n), topic)
			}
		}
	}
	for i := range t.zeros {
		out.put(&t.zeros[i], 0)
	}
}
