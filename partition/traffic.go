package partition

import (
	"errors"
	"sync/atomic"

	"minibroker/logstore"
	"minibroker/record"
)

// Traffic is what passed through partitions, counted as Kafka's BrokerTopicMetrics count it.
type Traffic struct {
	MessagesIn, BytesIn, BytesOut, BytesRejected int64
	ProduceRequests, FailedProduceRequests       int64 // per partition of a request
	FetchRequests, FailedFetchRequests           int64 // per partition of a request
}

// traffic is the counters of one partition.
type traffic struct {
	messagesIn, bytesIn, bytesOut, bytesRejected atomic.Int64
	produceRequests, failedProduceRequests       atomic.Int64
	fetchRequests, failedFetchRequests           atomic.Int64
}

// Add adds the counts of other.
func (t *Traffic) Add(other Traffic) {
	t.MessagesIn += other.MessagesIn
	t.BytesIn += other.BytesIn
	t.BytesOut += other.BytesOut
	t.BytesRejected += other.BytesRejected
	t.ProduceRequests += other.ProduceRequests
	t.FailedProduceRequests += other.FailedProduceRequests
	t.FetchRequests += other.FetchRequests
	t.FailedFetchRequests += other.FailedFetchRequests
}

// Traffic is what passed through the partition since it is led here.
func (p *Partition) Traffic() Traffic {
	t := &p.traffic
	p.waitMu.Lock()
	defer p.waitMu.Unlock()
	return Traffic{
		MessagesIn: t.messagesIn.Load(), BytesIn: t.bytesIn.Load(), BytesOut: t.bytesOut.Load(), BytesRejected: t.bytesRejected.Load(),
		ProduceRequests: t.produceRequests.Load(), FailedProduceRequests: t.failedProduceRequests.Load(),
		FetchRequests: t.fetchRequests.Load() + p.restedLocked(), FailedFetchRequests: t.failedFetchRequests.Load(),
	}
}

// CountSent counts bytes of records that went to a consumer.
func (p *Partition) CountSent(bytes int64) { p.traffic.bytesOut.Add(bytes) }

// appended counts one call of Append with a set of so many bytes.
func (t *traffic) appended(size int, info *logstore.AppendInfo, err error) {
	t.produceRequests.Add(1)
	switch {
	case err == nil:
		t.bytesIn.Add(int64(size))
		t.messagesIn.Add(info.LastOffset - info.FirstOffset + 1)
	case errors.Is(err, record.ErrMessageTooLarge):
		t.bytesRejected.Add(int64(size))
	case !errors.Is(err, ErrUnknownPartition) && !errors.Is(err, logstore.ErrRecordListTooLarge) && !errors.Is(err, logstore.ErrStorage) &&
		!errors.Is(err, logstore.ErrReadOnly) && !errors.Is(err, record.ErrCorruptMessage):
		// Kafka 4.4.0 counts the others of these as failures of the request alone.
		t.failedProduceRequests.Add(1)
	}
}

// read counts one partition of a fetch.
func (t *traffic) read(err error) {
	t.fetchRequests.Add(1)
	if err == nil {
		return
	}
	for _, expected := range [...]error{ErrUnknownPartition, ErrNotLeader, ErrFencedLeaderEpoch, ErrUnknownLeaderEpoch,
		logstore.ErrOffsetOutOfRange, logstore.ErrStorage} {
		if errors.Is(err, expected) {
			return
		}
	}
	t.failedFetchRequests.Add(1)
}

// Traffic is what passed through each topic's partitions, and through all of them and those that are gone together.
func (m *Manager) Traffic() (topics map[string]Traffic, all Traffic) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	topics = make(map[string]Traffic)
	all = m.gone
	for tp, p := range m.partitions {
		t, passed := topics[tp.Topic], p.Traffic()
		t.Add(passed)
		topics[tp.Topic] = t
		all.Add(passed)
	}
	return topics, all
}
