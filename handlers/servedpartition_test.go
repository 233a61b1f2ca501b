package handlers

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
)

// TestPartitionOfAnotherTopic: a request by id never reaches the partition of an older or newer topic of the same name, as there is
// for a moment when the name is used again; one by name goes to what is there, as in Kafka.
func TestPartitionOfAnotherTopic(t *testing.T) {
	a := newDataAPI(t)
	id := a.topic("t", 1)
	a.mustProduce("t", 0, "a")
	a.removePartition("t", 0)
	a.lead("t", 0, logstore.UUID{15: 7}, logstore.DefaultConfig())
	a.mustProduce("t", 0, "b", "c")
	for version := int16(3); version <= 13; version++ {
		answer := answered[*kmsg.ProduceResponse](a, version, produceTo("t", id, -1, 0, records(t, "x")))
		p := answer.Topics[0].Partitions[0]
		if version >= 13 && (p.ErrorCode != codeUnknownTopicID || p.BaseOffset != -1) || version < 13 && p.ErrorCode != codeNone {
			t.Errorf("Produce v%d: %+v", version, p)
		}
	}
	for version := int16(oldestFetch); version <= newestFetch; version++ {
		answer := answered[*kmsg.FetchResponse](a, version, fetchFrom("t", id, 0, 0))
		p := answer.Topics[0].Partitions[0]
		if version >= 13 && (p.ErrorCode != codeInconsistentTopicID || len(p.RecordBatches) > 0) || version < 13 && (p.ErrorCode != codeNone || len(p.RecordBatches) == 0) {
			t.Errorf("Fetch v%d: %+v", version, p)
		}
	}
}
